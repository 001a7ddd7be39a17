"""A beginner: a loop over time steps, a print in the constructor, a seed and a self-test at import."""
import torch
import torch.nn as nn

torch.manual_seed(42)


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super(FeedForward, self).__init__()
        self.layer1 = nn.Linear(d_model, d_ff)
        self.activation = nn.ReLU()
        self.dropout = nn.Dropout(dropout)
        self.layer2 = nn.Linear(d_ff, d_model)
        print("made a FeedForward:", d_model, "->", d_ff, "->", d_model)

    def one_step(self, x_t):
        h = self.layer1(x_t)
        h = self.activation(h)
        h = self.dropout(h)
        return self.layer2(h)

    def forward(self, x):
        outputs = []
        for t in range(x.size(1)):
            outputs.append(self.one_step(x[:, t, :]))
        return torch.stack(outputs, dim=1)


# quick test
_test = FeedForward(6, 10)
_out = _test(torch.zeros(2, 3, 6))
assert _out.shape == (2, 3, 6)
print("shape ok:", _out.shape)
