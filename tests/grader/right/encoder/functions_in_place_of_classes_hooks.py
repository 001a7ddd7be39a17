"""EncoderLayer and Encoder are functions that assemble modules; norms hang on as forward (pre-)hooks of a residual module."""
import torch
from torch import nn


class _Residual(nn.Module):
    """stream + drop(f(branch)); what branch is, a hook decides."""

    def __init__(self, f, d_model, dropout):
        super().__init__()
        self.f = f
        self.norm = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, stream, branch, mask=None):
        return stream + self.drop(self.f(branch, mask))


def _norm_branch(module, args):
    stream, branch, *rest = args
    return (stream, module.norm(branch), *rest)


def _norm_result(module, args, result):
    return module.norm(result)


class _SelfAttention(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x, mask):
        return self.part(x, x, x, mask)


class _FeedForward(nn.Module):
    def __init__(self, part):
        super().__init__()
        self.part = part

    def forward(self, x, mask):
        return self.part(x)


class _Chain(nn.ModuleList):
    def forward(self, x, src_mask=None):
        for residual in self:
            x = residual(x, x, src_mask)
        return x


class _Stack(nn.ModuleList):
    norm = None

    def forward(self, x, src_mask=None):
        for layer in list(self)[: self.depth]:
            x = layer(x, src_mask)
        return self[self.depth](x) if len(self) > self.depth else x


def EncoderLayer(self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
    residuals = [
        _Residual(_SelfAttention(self_attention), d_model, dropout),
        _Residual(_FeedForward(feed_forward), d_model, dropout),
    ]
    for residual in residuals:
        if norm == "pre":
            residual.register_forward_pre_hook(_norm_branch)
        else:
            residual.register_forward_hook(_norm_result)
    return _Chain(residuals)


def Encoder(make_layer, num_layers, d_model, norm="post"):
    stack = _Stack(make_layer() for _ in range(num_layers))
    stack.depth = num_layers
    if norm == "pre":
        stack.append(nn.LayerNorm(d_model))
    return stack


if __name__ == "__main__":
    torch.manual_seed(0)
