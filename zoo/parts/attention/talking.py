"""Heads that exchange scores and weights."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.attention.base import WeightedAttention, masked_softmax
from zoo.parts.values import require

HEADS_DIFFER = (
    "Talking heads cannot keep from each other what a mask hides from some heads only; use attention=eager for "
    "this mask."
)


class TalkingHeadsAttention(WeightedAttention):
    """W = softmax(sum_h P_l[h, g] Q_h K_h^T / sqrt(d));  head_g = (sum_h P_w[h, g] W_h) V_g

    Two learned [H, H] matrices mix the heads' scores before the softmax and their weights after it; both
    start as the identity, with which this is multi-head attention. A mask or a bias is added to the mixed
    scores. Mixed weights need not sum to 1, nor be positive; dropout is applied to them. Shazeer et al. 2020,
    section 3, arXiv:2003.02436.

    Heads must hide the same places: with a place hidden from one head only, the others would carry it over.
    """

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """Arguments and errors as in `zoo.parts.attention.base.MultiHeadAttention`."""
        super().__init__(d_model, num_heads, dropout, bias)
        self.mix_scores = nn.Parameter(torch.eye(num_heads))  # P_l [H, H]: from, to
        self.mix_weights = nn.Parameter(torch.eye(num_heads))  # P_w [H, H]: from, to

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and mixed weights [B, H, Tq, Tk].

        Raises:
            ValueError: the mask hides a place from some heads only. What torch.compile or torch.export made
                of it raises RuntimeError.
        """
        scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
        if mask is not None:
            keep = mask if mask.dtype == torch.bool else mask != float("-inf")
            if keep.dim() > 2 and keep.size(-3) > 1:
                check_alike(keep)
            scores = scores.masked_fill(~keep, 0.0)  # what is hidden may overflow, which 0 * inf would spread
        weights = masked_softmax(mixed(scores, self.mix_scores), mask)
        weights = mixed(weights, self.mix_weights)  # 0 in all heads stays 0
        return self.dropout(weights) @ v, weights


def check_alike(keep: Tensor) -> None:
    """Raises ValueError (RuntimeError where compiled or exported) unless keep [.., H, Tq, Tk] is one for all heads."""
    require((keep == keep[..., :1, :, :]).all(), HEADS_DIFFER)


def mixed(x: Tensor, matrix: Tensor) -> Tensor:
    """Each head the sum over all, weighted: [B, H, Tq, Tk], [H, H] -> [B, H, Tq, Tk]."""
    return torch.einsum("bhqk,hg->bgqk", x, matrix)
