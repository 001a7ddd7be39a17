"""torch's fused kernel, with fully masked rows made safe."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.parts.attention.base import masked_softmax
from zoo.parts.values import readable


def fused_heads(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: nn.Dropout, grouped: bool = False
) -> Tensor:
    """softmax(q k^T / sqrt(d)) v by `F.scaled_dot_product_attention`, which never forms the weights.

    Args:
        q: [B, H, Tq, d].
        k, v: [B, Hk, Tk, d]; Hk divides H, and each key head serves H / Hk query heads that stand together.
        mask: broadcasts to [B, H, Tq, Tk]; bool, True = may be attended to, or float, added to the scores,
            -inf = may not.
        dropout: of the weights, in train mode.
        grouped: whether Hk may be less than H.

    Returns:
        [B, H, Tq, d]; a fully masked row is exactly 0.
    """
    p = dropout.p if dropout.training else 0.0
    if p and type(dropout) is not nn.Dropout:  # of your own: applied to weights that are computed for it
        return written_out(q, k, v, mask, dropout)[0]
    if (
        grouped and mask is not None and q.device.type != "cpu"
    ):  # kernels with masks take equal numbers of heads
        k, v = repeat_heads(k, q.size(1)), repeat_heads(v, q.size(1))
    groups: dict[str, Any] = {"enable_gqa": True} if grouped and k.size(1) != q.size(1) else {}
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v, dropout_p=p, **groups)
    # What the kernels give for a fully masked row depends on kernel and version: let it attend to
    # everything, and blank it afterwards.
    open_ = (mask if mask.dtype == torch.bool else mask != float("-inf")).any(dim=-1, keepdim=True)
    if q.device.type == "cpu" and readable(open_) and bool(open_.all()):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p, **groups)
    safe = mask | ~open_ if mask.dtype == torch.bool else mask.masked_fill(~open_, 0.0)
    heads = F.scaled_dot_product_attention(q, k, v, attn_mask=safe, dropout_p=p, **groups)
    return heads.masked_fill(~open_, 0.0)


def written_out(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, dropout: nn.Dropout
) -> tuple[Tensor, Tensor]:
    """Return what `fused_heads` computes, step by step: heads [B, H, Tq, d], and weights [B, H, Tq, Tk]."""
    k, v = repeat_heads(k, q.size(1)), repeat_heads(v, q.size(1))
    weights = masked_softmax(q @ k.transpose(-2, -1) * q.size(-1) ** -0.5, mask)  # [B, H, Tq, Tk]
    return dropout(weights) @ v, weights


def repeat_heads(x: Tensor, num_heads: int) -> Tensor:
    """Each head as often as it takes to have H of them: [B, Hk, T, d] -> [B, H, T, d]."""
    return x if x.size(1) == num_heads else x.repeat_interleave(num_heads // x.size(1), dim=1)
