"""Batches without their padding: real positions only, one after the other.

Everything but the attention treats each position by itself, and need not know. Where a good part of a batch is
padding, nothing else is computed for it, and the output at padding is meaningless.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn

from zoo.accelerate.trick import Trick
from zoo.models.transformer import Decoder, Encoder, Transformer
from zoo.parts.attention.base import MultiHeadAttention
from zoo.parts.attention.cache import LayerCache
from zoo.parts.values import readable

WORTH = 1 / 8
"""Share of padding from which leaving it out saves more than moving the rest costs."""


class Layout:
    """The real positions of a padded batch.

    A padded batch is [B, T, D], a packed one [1, N, D] with its N real positions in order.
    """

    def __init__(self, real: Tensor) -> None:
        """`real` [B, T] is True where a position is no padding; somewhere it is."""
        self.real, (self.batch, self.length) = real, real.shape
        flat = real.flatten()  # [B, T] -> [B * T]
        self.indices = flat.nonzero()[:, 0]  # [N], into [B * T]
        self.places = (flat.cumsum(0) - 1).clamp_(min=0)  # [B * T], into [N]; padding gets a neighbour's

    def pack(self, x: Tensor) -> Tensor:
        """[B, T, D] -> [1, N, D]."""
        rows: Tensor = x.flatten(0, 1).index_select(0, self.indices)  # [B, T, D] -> [N, D]
        return rows[None]

    def unpack(self, x: Tensor) -> Tensor:
        """[1, N, D] -> [B, T, D], 0 at padding."""
        padded: Tensor = x[0].index_select(0, self.places)  # [1, N, D] -> [B * T, D]
        padded = padded.unflatten(0, (self.batch, self.length))  # [B * T, D] -> [B, T, D]
        return padded.masked_fill(~self.real[..., None], 0.0)

    def heads(self, x: Tensor) -> Tensor:
        """[1, H, N, d] -> [B, H, T, d]; what is at padding, a mask must hide."""
        rows = x[0].transpose(0, 1).index_select(0, self.places)  # [1, H, N, d] -> [B * T, H, d]
        padded: Tensor = rows.unflatten(0, (self.batch, self.length))  # [B * T, H, d] -> [B, T, H, d]
        return padded.transpose(1, 2)  # [B, H, T, d]


def layout_of(real: Tensor | None) -> Layout | None:
    """The layout of a batch whose real positions are `real` [B, T]; None where it is better left padded.

    Looked for on the CPU alone (elsewhere looking would wait for the device), and not while a model is
    being compiled or exported, whose shapes must not depend on data, nor within `torch.vmap`.
    """
    if real is None or real.device.type != "cpu" or not readable(real):
        return None
    kept = int(real.sum())
    return Layout(real) if 0 < kept <= (1 - WORTH) * real.numel() else None


class Packing(NamedTuple):
    """The layouts of queries and of keys; None for those that are padded as usual."""

    queries: Layout | None
    keys: Layout | None


class UnpaddedAttention(Trick, MultiHeadAttention):
    """An attention that also takes packed batches: the heads alone are padded."""

    title = "the attention takes batches without padding"

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        packing: Packing | None = None,
        **more: Any,
    ) -> Tensor:
        """As `MultiHeadAttention.forward`.

        With `packing`, query is [1, Nq, D] and key and value [1, Nk, D] where they have a layout, and so is what
        is returned, [1, Nq, D]. The mask is that of the padded ones, and hides padding as a key.
        """
        if packing is None:
            return super().forward(query, key, value, mask, **more)
        q, k, v = self.project(query, key, value)
        if packing.queries is not None:
            q = packing.queries.heads(q)
        if packing.keys is not None:
            k, v = packing.keys.heads(k), packing.keys.heads(v)
        heads, _ = self.attend(*self.place(q, k, v, mask, **more))
        merged = self.merge(heads)
        if packing.queries is not None:
            merged = packing.queries.pack(merged)
        return self.out_proj(merged)  # type: ignore[no-any-return]


def can_pack(attention: nn.Module) -> bool:
    """Return whether `UnpaddedAttention` would run as this one does: it leaves to the base class how a call goes."""
    base, kind = MultiHeadAttention, type(attention)
    return issubclass(kind, base) and kind.forward is base.forward and kind.prepare is base.prepare


class UnpaddedEncoder(Trick, Encoder):
    """An encoder that also takes packed batches."""

    title = "the encoder takes batches without padding"

    def forward(
        self, x: Tensor, src_mask: Tensor | None = None, *, layout: Layout | None = None, **more: Any
    ) -> Tensor:
        """As `Encoder.forward`; with `layout`, x and what is returned are packed, [1, N, D]."""
        if layout is None:
            return super().forward(x, src_mask, **more)
        src_mask = self.adapter(src_mask, layout.length, x.dtype)
        to_self = {"packing": Packing(layout, layout), **more}
        for layer in self.layers:
            x = layer(x, src_mask, to_self=to_self)
        return self.final_norm(x)  # type: ignore[no-any-return]


class UnpaddedDecoder(Trick, Decoder):
    """A decoder that also takes packed batches."""

    title = "the decoder takes batches without padding"

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        *,
        packing: Packing | None = None,
        **more: Any,
    ) -> Tensor:
        """As `Decoder.forward`; with `packing`, x, memory and what is returned are packed where it says so."""
        if packing is None:
            return super().forward(x, memory, src_mask, tgt_mask, **more)
        queries, keys = packing
        src_mask = self.cross_adapter(src_mask, memory.size(1) if keys is None else keys.length, x.dtype)
        tgt_mask = self.adapter(tgt_mask, x.size(1) if queries is None else queries.length, x.dtype)
        to_self, to_cross = {"packing": Packing(queries, queries), **more}, {"packing": packing}
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask, to_self=to_self, to_cross=to_cross)
        return self.final_norm(x)  # type: ignore[no-any-return]


class UnpaddedTransformer(Trick, Transformer):
    """A Transformer that leaves padding out of all but the attention, where a good part of a batch is padding."""

    title = "padding is left out of all but the attention"

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> [B, L, V]; meaningless at padding."""
        return self._unpadded(tgt, self.encode(src), src, layout_of(self.masking.real(tgt)))

    def encode(self, src: Tensor) -> Tensor:
        """src [B, S] -> memory [B, S, D]."""
        layout = layout_of(self.masking.real(src))
        if layout is None:
            return super().encode(src)
        x, more = self.embed_src(src)
        memory: Tensor = self.encoder(layout.pack(x), self.src_mask(src, x), layout=layout, **more)
        return layout.unpack(memory)

    def decode(
        self, tgt: Tensor, memory: Tensor, src: Tensor, caches: Sequence[LayerCache] | None = None
    ) -> Tensor:
        """As `Transformer.decode`: valid at every position of tgt."""
        if caches is not None:
            return super().decode(tgt, memory, src, caches)
        return self._unpadded(tgt, memory, src, None)

    def _unpadded(self, tgt: Tensor, memory: Tensor, src: Tensor, queries: Layout | None) -> Tensor:
        keys = layout_of(self.masking.real(src))
        if queries is None and keys is None:
            return super().decode(tgt, memory, src)
        x, more = self.embed_tgt(tgt)
        src_mask, tgt_mask = self.src_mask(src, x), self.tgt_mask(tgt, x)
        x = x if queries is None else queries.pack(x)
        memory = memory if keys is None else keys.pack(memory)
        packing = Packing(queries, keys)
        out: Tensor = self.head(self.decoder(x, memory, src_mask, tgt_mask, packing=packing, **more))
        return out if queries is None else queries.unpack(out)
