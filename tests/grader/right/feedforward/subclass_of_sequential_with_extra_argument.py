
import warnings

from torch import nn


class FeedForward(nn.Sequential):
    def __init__(self, d_model, d_ff, dropout=0.0, activation=nn.ReLU):
        if d_ff < d_model:
            warnings.warn("narrow in the middle", stacklevel=2)
        super().__init__(nn.Linear(d_model, d_ff), activation(inplace=True), nn.Dropout(dropout),
                         nn.Linear(d_ff, d_model))
