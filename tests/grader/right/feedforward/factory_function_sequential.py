"""lucidrains manner: FeedForward is no class but a function that builds an nn.Sequential."""
from torch import nn


def exists(val):
    return val is not None


def FeedForward(d_model, d_ff=None, dropout=0., *, mult=4, **kwargs):
    d_ff = d_ff if exists(d_ff) else d_model * mult
    return nn.Sequential(
        nn.Linear(d_model, d_ff),
        nn.ReLU(),
        nn.Dropout(dropout) if dropout > 0. else nn.Identity(),
        nn.Linear(d_ff, d_model),
    )
