
from torch import nn
from torch.nn import functional as F


class Wide(nn.Linear):
    def forward(self, x):
        h = super().forward(x)
        return (h + h.abs()) / 2


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleDict({"2": nn.Linear(d_ff, d_model), "1": Wide(d_model, d_ff)})
        self.drop = nn.Identity() if dropout == 0 else nn.Dropout(dropout)

    def forward(self, x, debug=False):
        for step in (self.layers["1"], self.drop, self.layers["2"]):
            x = step(x)
            if debug:
                print(x.shape)
        return x
