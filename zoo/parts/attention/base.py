"""The base class of all attentions: projections, heads, masks and fully masked rows."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from zoo.parts.attention.cache import KeyValueCache
from zoo.parts.encoding.base import Positions


def check_heads(d_model: int, num_heads: int) -> int:
    """The width of a head, d = D / H. Raises ValueError if H does not divide D."""
    if num_heads < 1 or d_model % num_heads:
        raise ValueError(f"d_model={d_model} is not divisible by num_heads={num_heads}.")
    return d_model // num_heads


def masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over keys, exactly 0 at masked places; a fully masked row is all 0, with zero gradient.

    scores [..., Tq, Tk]; mask broadcasts to them: bool, True = may be attended to, or float, added to them (-inf:
    may not be attended to, other values are a bias).
    """
    if mask is None:
        return scores.softmax(dim=-1)
    if mask.dtype == torch.bool:
        keep = mask
    else:
        keep = mask != float("-inf")
        scores = scores + mask.masked_fill(~keep, 0.0)  # adding -inf would make gradients NaN
    scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(~keep, 0.0)


def in_type(mask: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """An additive mask in the type of the scores; what is below its lowest number is -inf then. A bool one as it is."""
    return mask.to(dtype) if mask is not None and mask.is_floating_point() else mask


def with_bias(mask: Tensor | None, bias: Tensor) -> Tensor:
    """One additive mask out of a mask (bool, True = may be attended to, or additive) and a bias on the scores."""
    if mask is None:
        return bias
    if mask.dtype == torch.bool:
        return torch.where(mask, bias, float("-inf"))
    return mask + bias


class MultiHeadAttention(nn.Module, ABC):
    """Multi-head attention, Vaswani et al. 2017, section 3.2.2; `attend` is what variants differ in.

    head_h = attend(query W_q^h, key W_k^h, value W_v^h);  out = concat(head_1 .. head_H) W_o

    Head h uses the columns h*d .. (h+1)*d of the projections, d = D / H, so that weights are
    interchangeable with `nn.MultiheadAttention` and between all variants.
    """

    head_dim: int | None = None
    """The width d of a head, where a variant sets one; else it is D / H."""

    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True) -> None:
        """
        Args:
            d_model: width D of query, key, value and output.
            num_heads: number of heads H; divides D.
            dropout: probability on the attention weights, in train mode.
            bias: whether the four projections have a bias.

        Raises:
            ValueError: H does not divide D.
        """
        super().__init__()
        self.head_width = self.head_dim or check_heads(d_model, num_heads)
        self.num_heads = num_heads
        self.dropout = nn.Dropout(dropout)
        self.make_projections(d_model, bias)
        self.out_proj = nn.Linear(num_heads * self.head_width, d_model, bias=bias)

    def make_projections(self, d_model: int, bias: bool) -> None:
        """Create the projections of query, key and value."""
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Positions | None = None,
        cache: KeyValueCache | None = None,
    ) -> Tensor:
        """
        Args:
            query: [B, Tq, D].
            key, value: [B, Tk, D].
            mask: broadcasts to [B, H, Tq, Tk]; bool, True = may be attended to, or float of any type, added
                to the scores, -inf = may not.
            positions: how the positional encoding acts on queries and keys, or on the scores; in
                self-attention only.
            cache: keys and values of earlier steps, to which those of `key` and `value` are added.
                One that is `complete` stands in for them. The mask is then one over all of them.

        Returns:
            [B, Tq, D]. A fully masked row attends to nothing: its heads are 0.
        """
        heads, _ = self.attend(*self.prepare(query, key, value, mask, positions=positions, cache=cache))
        return self.out_proj(self.merge(heads))  # type: ignore[no-any-return]

    def prepare(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        *,
        positions: Positions | None = None,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return what `attend` takes, from what `forward` takes."""
        if cache is not None and cache.complete:
            q = self.project_query(query)
            return q, *cache.held(), in_type(mask, q.dtype)
        return self.place(*self.project(query, key, value), mask, positions=positions, cache=cache)

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
        """Projected q [B, H, Tq, d], k and v [B, Hk, Tk, d] with what positions and earlier steps add to them."""
        if positions is not None:
            q, k = positions.rotate(q, k)
        if cache is not None:
            k, v = cache.append(k, v)
        if positions is not None and (bias := positions.bias(q)) is not None:
            mask = with_bias(mask, bias)
        return q, k, v, in_type(mask, q.dtype)

    def project_query(self, query: Tensor) -> Tensor:
        """Project and split the query alone: [B, Tq, D] -> [B, H, Tq, d]."""
        return self.split(self.q_proj(query))

    def project(self, query: Tensor, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Project and split: [B, T, D] each -> q [B, H, Tq, d], k and v [B, H, Tk, d]."""
        return self.split(self.q_proj(query)), self.split(self.k_proj(key)), self.split(self.v_proj(value))

    @abstractmethod
    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """softmax(q k^T / sqrt(d)) v, or what the variant puts in its place.

        Args:
            q: [B, H, Tq, d].
            k, v: [B, H, Tk, d].
            mask: as in `forward`.

        Returns:
            heads [B, H, Tq, d], and weights [B, H, Tq, Tk], or None where they are never formed.
        """

    def split(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [B, H, T, d]."""
        batch, length, _ = x.shape
        heads = x.size(-1) // self.head_width  # not -1: a batch may be empty
        return x.view(batch, length, heads, self.head_width).transpose(1, 2)  # [B, T, H*d] -> [B, H, T, d]

    def merge(self, heads: Tensor) -> Tensor:
        """[B, H, T, d] -> [B, T, D]."""
        return heads.transpose(1, 2).flatten(-2)  # [B, H, T, d] -> [B, T, D]


class WeightedAttention(MultiHeadAttention):
    """An attention that forms its weights and can show them."""

    def forward_with_weights(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        positions: Positions | None = None,
    ) -> tuple[Tensor, Tensor]:
        """`forward`, and the weights [B, H, Tq, Tk] it used (before dropout in train mode)."""
        heads, weights = self.attend(*self.prepare(query, key, value, mask, positions=positions))
        assert weights is not None  # declared by deriving from this class
        return self.out_proj(self.merge(heads)), weights
