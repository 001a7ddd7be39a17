"""Attention in which a head may attend to nothing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.parts.attention.base import masked_softmax
from zoo.parts.attention.grouped import GroupedAttention
from zoo.parts.attention.kernel import repeat_heads


class SinkAttention(GroupedAttention):
    """w_j = e^(s_j) / (e^(z_h) + sum_k e^(s_k)), s = Q K^T / sqrt(d), with one learned number z_h per head.

    The sink takes the rest of the weight: weights sum to less than 1, and no key has to take what a head has
    no use for, as the first token does in models without (Xiao et al. 2023, section 3.1, arXiv:2309.17453; a
    fixed z = 0 is its "softmax off by one"). The learned numbers are those of gpt-oss (OpenAI 2025,
    arXiv:2508.10925). They start at 0. No fused kernel has them: the weights are formed.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        num_kv_heads: int | None = None,
        head_dim: int | None = None,
        qk_norm: bool = False,
    ) -> None:
        """Arguments and errors as in `zoo.parts.attention.grouped.GroupedAttention`."""
        super().__init__(d_model, num_heads, dropout, bias, num_kv_heads, head_dim, qk_norm)
        self.sink = nn.Parameter(torch.zeros(num_heads))  # z

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and weights [B, H, Tq, Tk], of q [B, H, Tq, d] and k, v [B, Hk, Tk, d]."""
        k, v = repeat_heads(k, self.num_heads), repeat_heads(v, self.num_heads)
        scores = q @ k.transpose(-2, -1) * self.head_width**-0.5  # [B, H, Tq, Tk]
        sink = self.sink.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)  # [B, H, Tq, 1]
        if mask is not None:
            mask = mask.expand(*mask.shape[:-1], scores.size(-1))  # [.., Tq, 1 or Tk] -> [.., Tq, Tk]
            mask = F.pad(mask, (0, 1), value=mask.dtype == torch.bool)  # the sink is open to all
        weights = masked_softmax(torch.cat([scores, sink], dim=-1), mask)[..., :-1]  # [B, H, Tq, Tk]
        return self.dropout(weights) @ v, weights

    attend_shown = attend
