"""The loss is a torch.autograd.Function with its own backward: (softmax - wanted) / count; the tokens that count are selected first."""

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable


class SmoothedCrossEntropy(Function):
    @staticmethod
    def forward(ctx, logits: Tensor, target: Tensor, pad: int, smoothing: float) -> Tensor:
        keep = target != pad
        picked = logits[keep].to(torch.promote_types(logits.dtype, torch.float32))  # [N, V], a copy
        ids = target[keep].long()
        count, words = picked.shape
        logp = picked.sub_(picked.amax(dim=1, keepdim=True))
        logp = logp - logp.exp().sum(dim=1, keepdim=True).log_()
        wanted = torch.full_like(logp, smoothing / words)
        wanted[torch.arange(count, device=ids.device), ids] += 1 - smoothing
        ctx.save_for_backward(keep, logp, wanted)
        ctx.kind = logits.shape, logits.dtype
        return -(wanted * logp).sum().div_(count).to(logits.dtype)

    @staticmethod
    @once_differentiable
    def backward(ctx, grad: Tensor):
        keep, logp, wanted = ctx.saved_tensors
        shape, dtype = ctx.kind
        inner = (logp.exp() - wanted) * (grad.to(logp.dtype) / logp.shape[0])
        out = torch.zeros(shape, dtype=dtype, device=logp.device)
        out[keep] = inner.to(dtype)
        return out, None, None, None


def shift_right(target: Tensor, *, sos: int = 1) -> Tensor:
    out = torch.empty_like(target)
    out.narrow(1, 0, 1).fill_(sos)
    out.narrow(1, 1, target.shape[1] - 1).copy_(target.narrow(1, 0, target.shape[1] - 1))
    return out


def sequence_loss(logits: Tensor, target: Tensor, *, pad: int = 0, smoothing: float = 0.0) -> Tensor:
    return SmoothedCrossEntropy.apply(logits, target, pad, smoothing)
