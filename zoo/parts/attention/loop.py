"""Scaled dot-product attention, one head after the other."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.attention.base import WeightedAttention, masked_softmax


class LoopAttention(WeightedAttention):
    """head_h = softmax(Q_h K_h^T / sqrt(d)) V_h for h = 1 .. H, in a Python loop: slow, and easy to read.

    Vaswani et al. 2017, section 3.2.2.
    """

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk]."""
        if mask is not None:
            mask = mask[(None,) * (4 - mask.dim())]  # [Tq, Tk] -> [1, 1, Tq, Tk]
        heads, weights = [], []
        for h in range(self.num_heads):
            q_h, k_h, v_h = q[:, h : h + 1], k[:, h : h + 1], v[:, h : h + 1]  # [B, H, T, d] -> [B, 1, T, d]
            mask_h = mask if mask is None or mask.size(1) == 1 else mask[:, h : h + 1]
            scores = q_h @ k_h.transpose(-2, -1) * self.head_width**-0.5  # [B, 1, Tq, Tk]
            weights.append(masked_softmax(scores, mask_h))
            heads.append(self.dropout(weights[-1]) @ v_h)  # [B, 1, Tq, d]
        return torch.cat(heads, dim=1), torch.cat(weights, dim=1)  # [B, H, Tq, d], [B, H, Tq, Tk]
