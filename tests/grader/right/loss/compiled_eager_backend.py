"""Both functions decorated with torch.compile (backend eager, dynamic shapes); mask by where, negative dimensions throughout."""

import torch


@torch.compile(backend="eager", dynamic=True)
def shift_right(target: torch.Tensor, sos: int = 1) -> torch.Tensor:
    out = target.roll(1, dims=-1)
    out[..., 0] = sos
    return out


@torch.compile(backend="eager", dynamic=True)
def sequence_loss(
    logits: torch.Tensor, target: torch.Tensor, pad: int = 0, smoothing: float = 0.0
) -> torch.Tensor:
    keep = target != pad
    logp = torch.log_softmax(logits, -1, dtype=torch.float64 if logits.dtype == torch.float64 else torch.float32)
    right = torch.take_along_dim(logp, torch.where(keep, target, 0)[..., None], dim=-1)[..., 0]
    each = (1 - smoothing) * right + smoothing * logp.mean(-1)
    return (-torch.where(keep, each, 0.0).sum() / keep.sum()).to(logits.dtype)
