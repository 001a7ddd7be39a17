"""Attention by torch's programmable kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch
from torch import Tensor

from zoo.parts.attention.base import MultiHeadAttention, masked_softmax
from zoo.parts.values import within_func

ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
"""score, item, head, query, key -> score; each an integer tensor but for the scores."""
FORWARD_ONLY = ("cpu", "mps")
"""Devices for which the kernel has no gradients, and cannot be compiled as part of a model (torch 2.13)."""


class FlexAttention(MultiHeadAttention):
    """softmax(score_mod(Q K^T / sqrt(d), b, h, q, k)) V, where a small function says what becomes of a score.

    `torch.nn.attention.flex_attention`; Dong et al. 2024, arXiv:2412.05496. Here the function looks a
    place up in the mask. Only inside `torch.compile` does torch fuse it; otherwise
    it runs step by step, with all scores.

    The kernel has no gradients on the CPU (nor on MPS), cannot be compiled there as part of a model, and has
    dropout on the weights nowhere; nor does it take what is empty, or go through `torch.vmap`. In all these
    cases the same function is applied to all scores at once, and the weights are formed.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Arguments as in `zoo.parts.attention.base.MultiHeadAttention`.

        Raises:
            ValueError: H does not divide D, or torch has no FlexAttention.
        """
        super().__init__(d_model, num_heads, dropout, bias)
        self.kernel: Callable[..., Tensor] = import_kernel()

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, None]:
        """heads [B, H, Tq, d]."""
        score_mod = None if mask is None else looked_up(mask.expand(*q.shape[:-1], k.size(2)))
        needs_more = torch.compiler.is_compiling() or any(
            x is not None and x.requires_grad for x in (q, k, v, mask)
        )
        if (
            (needs_more and q.device.type in FORWARD_ONLY)
            or (self.training and self.dropout.p > 0)
            or 0 in (q.numel(), k.numel())
            or within_func(q)
        ):
            return self.written_out(q, k, v, score_mod), None
        return self.run_kernel(q, k, v, score_mod), None

    def run_kernel(self, q: Tensor, k: Tensor, v: Tensor, score_mod: ScoreMod | None) -> Tensor:
        """The kernel without its advice to compile it: [B, H, Tq, d]."""
        if torch.compiler.is_compiling():  # it gives none then, and filters of warnings cannot be compiled
            return self.kernel(q, k, v, score_mod=score_mod)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="flex_attention called without torch.compile")
            return self.kernel(q, k, v, score_mod=score_mod)

    def written_out(self, q: Tensor, k: Tensor, v: Tensor, score_mod: ScoreMod | None) -> Tensor:
        """The kernel's formula step by step: [B, H, Tq, d]."""
        scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
        keep = None
        if score_mod is not None:
            places = torch.meshgrid(*(torch.arange(n, device=q.device) for n in scores.shape), indexing="ij")
            scores = score_mod(scores, *places)
            keep = scores != float("-inf")
        heads: Tensor = self.dropout(masked_softmax(scores, keep)) @ v
        return heads


def looked_up(mask: Tensor) -> ScoreMod:
    """The function that a mask [B, H, Tq, Tk] stands for: bool, True = may be attended to, or additive."""
    if mask.dtype == torch.bool:
        return lambda score, b, h, q, k: torch.where(mask[b, h, q, k], score, float("-inf"))
    return lambda score, b, h, q, k: score + mask[b, h, q, k]


def import_kernel() -> Callable[..., Tensor]:
    """`flex_attention` of torch. Raises ValueError where torch has none."""
    try:
        from torch.nn.attention.flex_attention import flex_attention
    except ImportError as error:
        raise ValueError(
            f"torch {torch.__version__} has no torch.nn.attention.flex_attention. Take a newer one, or "
            "attention=fused."
        ) from error
    return flex_attention
