"""Attention whose cost is linear in the number of keys."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.attention.cache import KeyValueCache
from zoo.parts.attention.shown import ShownAttention
from zoo.parts.encoding.base import Positions


class LinearAttention(ShownAttention):
    """f(Q) (f(K)^T V) / (f(Q) sum_k f(K)), with f(x) = elu(x) + 1 in place of the softmax's exponential.

    Katharopoulos et al. 2020, section 3.2, arXiv:2006.16236. With no mask, or one that is the same for all
    queries (size 1 in its dimension, as for padding), the sums over keys are taken once, and no weights
    formed: time and memory grow with Tq + Tk. With another, such as a causal one, the same formula is
    computed in its quadratic form: weights f(q) . f(k), masked, and divided by their sum.

    Turning queries and keys by their positions acts on f(Q) and f(K) in the numerator alone, where a
    distance then comes in as an angle; the denominator stays a sum of positive numbers. So Su et al. 2021
    (RoFormer), arXiv:2104.09864, combine the two. Turned before f, the angle would be lost. There are no
    scores that a bias could be added to. Dropout is applied to the heads, since weights may not be computed.
    """

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """f(q) [B, H, Tq, d], f(k) and v [B, H, Tk, d]; a cache keeps f(k)."""
        q, k, v = super().project(query, key, value)
        return feature_map(q), feature_map(k), v

    def project_query(self, query: Tensor) -> Tensor:
        """f(q) alone."""
        return feature_map(super().project_query(query))

    def place(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        *,
        positions: Positions | None = None,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """As elsewhere; with positions, q and k are [B, H, T, 2d], as `AlsoRotated` says."""
        rotated = None if positions is None else AlsoRotated(positions)
        return super().place(q, k, v, mask, positions=rotated, cache=cache)

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """heads [B, H, Tq, d] of f(q) and f(k)."""
        if mask is not None:
            mask = mask[(None,) * (4 - mask.dim())]  # [.., Tq, Tk] -> [B, H, Tq, Tk], each 1 or whole
            if mask.size(-2) != 1:
                return self.attend_shown(q, k, v, mask)[0], None
            k = k.masked_fill(~mask.transpose(-2, -1), 0.0)  # [B, H, Tk, d], [.., Tk, 1]
        (q_plain, q_rotated), (k_plain, k_rotated) = self.parts(q), self.parts(k)
        sums = k_rotated.transpose(-2, -1) @ v  # [B, H, d, d]
        total = q_plain @ k_plain.sum(dim=-2).unsqueeze(-1)  # [B, H, Tq, d] @ [B, H, d, 1] -> [B, H, Tq, 1]
        return self.dropout(divided(q_rotated @ sums, total)), None

    def attend_shown(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """The quadratic form: heads, and weights [B, H, Tq, Tk], signed where queries and keys are rotated."""
        (q_plain, q_rotated), (k_plain, k_rotated) = self.parts(q), self.parts(k)
        weights, total = q_rotated @ k_rotated.transpose(-2, -1), q_plain @ k_plain.transpose(-2, -1)
        if mask is not None:
            weights, total = weights.masked_fill(~mask, 0.0), total.masked_fill(~mask, 0.0)
        weights = divided(weights, total.sum(dim=-1, keepdim=True))  # [B, H, Tq, Tk]
        return self.dropout(weights @ v), weights

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Queries or keys as they are and as rotated: [B, H, T, d] twice; the same where nothing is rotated."""
        d = self.head_width
        return (x, x) if x.size(-1) == d else (x[..., :d], x[..., d:])


class AlsoRotated(Positions):
    """Keeps queries and keys as they are, and puts what another turns them into beside them."""

    def __init__(self, inner: Positions) -> None:
        self.inner = inner

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """[B, H, Tq, d] each -> [B, H, Tq, 2d]: plain, then rotated."""
        both = zip((q, k), self.inner.rotate(q, k), strict=True)
        q, k = (torch.cat(pair, dim=-1) for pair in both)
        return q, k


def feature_map(x: Tensor) -> Tensor:
    """elu(x) + 1 without the rounding of its negative side: x + 1 above 0, e^x below."""
    return torch.where(x > 0, x + 1, x.clamp(max=0.0).exp())


def divided(x: Tensor, total: Tensor) -> Tensor:
    """x / total, and x where total is 0: there x is 0 too."""
    return x / total.masked_fill(total == 0, 1.0)
