"""Forward and backward of the norm written by hand (autograd.Function with setup_context), sums in float32 or wider."""
import torch
from torch import nn


class _NormFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, gain, bias, eps):
        wide = torch.promote_types(x.dtype, torch.float32)
        z = x.to(wide)
        centred = z - z.mean(-1, keepdim=True)
        inv = 1 / (centred.pow(2).mean(-1, keepdim=True) + eps).sqrt()
        x_hat = centred * inv
        out = (x_hat * gain.to(wide) + bias.to(wide)).to(x.dtype)
        return out, x_hat, inv

    @staticmethod
    def setup_context(ctx, inputs, output):
        _, gain, _, _ = inputs
        _, x_hat, inv = output
        ctx.mark_non_differentiable(x_hat, inv)
        ctx.save_for_backward(x_hat, inv, gain)
        ctx.dtype = inputs[0].dtype

    @staticmethod
    def backward(ctx, dout, _dxhat, _dinv):
        x_hat, inv, gain = ctx.saved_tensors
        dout = dout.to(x_hat.dtype)
        leading = list(range(dout.dim() - 1))
        dgain = (dout * x_hat).sum(leading) if leading else dout * x_hat
        dbias = dout.sum(leading) if leading else dout
        g = dout * gain.to(x_hat.dtype)
        dx = inv * (g - g.mean(-1, keepdim=True) - x_hat * (g * x_hat).mean(-1, keepdim=True))
        return dx.to(ctx.dtype), dgain.to(gain.dtype), dbias.to(gain.dtype), None


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(d_model))
        self.gain = nn.Parameter(torch.ones(d_model))
        self.eps = eps

    def forward(self, x):
        return _NormFunction.apply(x, self.gain, self.bias, self.eps)[0]


class PreNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.sublayer, self.drop = norm, sublayer, nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        return x + self.drop(self.sublayer(self.norm(x), *args, **kwargs))


class PostNorm(nn.Module):
    def __init__(self, norm, sublayer, dropout=0.0):
        super().__init__()
        self.norm, self.sublayer, self.drop = norm, sublayer, nn.Dropout(dropout)

    def forward(self, x, *args, **kwargs):
        return self.norm(x + self.drop(self.sublayer(x, *args, **kwargs)))
