"""One torch.autograd.Function does all of it, forward and backward written by hand (CS231n manner)."""
import torch
from torch import nn
from torch.autograd import Function


class _AffineReluDropAffine(Function):
    @staticmethod
    def forward(ctx, x, w1, b1, w2, b2, keep):
        flat = x.reshape(-1, x.shape[-1])
        pre = torch.addmm(b1, flat, w1.t())
        positive = pre > 0
        hidden = pre * positive
        if keep is not None:
            hidden = hidden * keep
        out = torch.addmm(b2, hidden, w2.t())
        ctx.save_for_backward(flat, w1, w2, positive, hidden, keep)
        ctx.shape = x.shape
        return out.reshape(*x.shape[:-1], w2.shape[0])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        flat, w1, w2, positive, hidden, keep = ctx.saved_tensors
        dout = dout.reshape(-1, dout.shape[-1])
        dx = dw1 = db1 = dw2 = db2 = None
        if ctx.needs_input_grad[4]:
            db2 = dout.sum(0)
        if ctx.needs_input_grad[3]:
            dw2 = dout.t() @ hidden
        dpre = (dout @ w2) * positive
        if keep is not None:
            dpre = dpre * keep
        if ctx.needs_input_grad[2]:
            db1 = dpre.sum(0)
        if ctx.needs_input_grad[1]:
            dw1 = dpre.t() @ flat
        if ctx.needs_input_grad[0]:
            dx = (dpre @ w1).reshape(ctx.shape)
        return dx, dw1, db1, dw2, db2, None


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        if not 0 <= dropout <= 1:
            raise ValueError("dropout is a probability")
        self.dropout = float(dropout)
        # second layer first, on purpose: the order is free
        self.W2 = nn.Parameter(torch.randn(d_model, d_ff) * d_ff**-0.5)
        self.b2 = nn.Parameter(torch.zeros(d_model))
        self.W1 = nn.Parameter(torch.randn(d_ff, d_model) * (2 / d_model) ** 0.5)
        self.b1 = nn.Parameter(torch.zeros(d_ff))

    def forward(self, x):
        keep = None
        if self.training and self.dropout > 0:
            rows = x.shape[:-1].numel()
            coin = torch.rand(rows, self.W1.shape[0], device=x.device)  # float32 always: bf16 coins are coarse
            scale = 0.0 if self.dropout == 1 else 1 / (1 - self.dropout)
            keep = (coin >= self.dropout).to(x.dtype) * scale
        return _AffineReluDropAffine.apply(x, self.W1, self.b1, self.W2, self.b2, keep)
