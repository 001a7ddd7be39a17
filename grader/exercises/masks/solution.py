"""A solution of `masks.py`: short, plain, and correct in edge cases."""

import torch
from torch import Tensor


def padding_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    """Which keys are tokens and not padding: ids [B, T] -> bool [B, 1, 1, T], True = may be attended to."""
    return (tokens != pad)[:, None, None, :]  # [B, T] -> [B, 1, 1, T]


def causal_mask(size: int, device: torch.device | str | None = None) -> Tensor:
    """Position i may look at 0 .. i: bool [1, 1, T, T], True = may be attended to."""
    return torch.ones(1, 1, size, size, dtype=torch.bool, device=device).tril()


def decoder_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    """No future and no padding: ids [B, T] -> bool [B, 1, T, T], True = may be attended to.

    A padded query keeps its row; where PAD comes first, a row may have nothing that is allowed.
    """
    return causal_mask(tokens.size(1), tokens.device) & padding_mask(tokens, pad)  # [B, 1, T, T]


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """0 where `mask` (bool, True = may be attended to) is True and -inf where it is False, same shape."""
    # Filled, not multiplied: 0 * -inf is NaN.
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, -torch.inf)
