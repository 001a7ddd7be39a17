"""Classes made by a factory (one for pre, one for post), DecoderLayer a dictionary lookup in a function, dropout as an autograd.Function."""
import torch
from torch import nn


class _DropoutFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, p):
        keep = (torch.rand(x.shape, device=x.device) >= p).to(x.dtype)
        if p < 1:
            keep = keep.div_(1 - p)
        ctx.save_for_backward(keep)
        return x * keep

    @staticmethod
    def backward(ctx, grad):
        (keep,) = ctx.saved_tensors
        return grad * keep, None


class Dropout(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        return _DropoutFunction.apply(x, self.p) if self.training and self.p > 0 else x

    def extra_repr(self):
        return f"p={self.p}"


def make_layer_class(name, around):
    class Layer(nn.Module):
        def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout):
            super().__init__()
            self.self_attention = self_attention
            self.cross_attention = cross_attention
            self.feed_forward = feed_forward
            self.norms = nn.ModuleList([nn.LayerNorm(d_model, eps=1e-5) for _ in range(3)])
            self.drop = Dropout(dropout)

        def forward(self, x, memory, src_mask=None, tgt_mask=None):
            sublayers = (
                lambda h: self.self_attention(h, h, h, tgt_mask),
                lambda h: self.cross_attention(h, memory, memory, src_mask),
                lambda h: self.feed_forward(h),
            )
            for norm, sublayer in zip(self.norms, sublayers, strict=True):
                x = around(x, norm, lambda h: self.drop(sublayer(h)))  # used up before the loop goes on
            return x

    Layer.__name__ = Layer.__qualname__ = name
    return Layer


_CLASSES = {
    "pre": make_layer_class("PreNormDecoderLayer", lambda x, norm, f: x + f(norm(x))),
    "post": make_layer_class("PostNormDecoderLayer", lambda x, norm, f: norm(x + f(x))),
}


def DecoderLayer(self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
    return _CLASSES[norm](self_attention, cross_attention, feed_forward, d_model, dropout)


class Decoder(nn.ModuleList):
    """The stack is the list of its layers; in pre-norm the last entry is the norm."""

    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__([make_layer() for _ in range(num_layers)])
        self.depth = num_layers
        if norm == "pre":
            self.append(nn.LayerNorm(d_model))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for i, module in enumerate(self):
            x = module(x, memory, src_mask, tgt_mask) if i < self.depth else module(x)
        return x


# self-test at import
class _Echo(nn.Module):
    def forward(self, query, key, value, mask=None):
        return query


_x = torch.ones(1, 2, 4)
assert Decoder(lambda: DecoderLayer(_Echo(), _Echo(), nn.Identity(), 4), 2, 4)(_x, _x).shape == (1, 2, 4)
