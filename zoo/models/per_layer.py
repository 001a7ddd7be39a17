"""Stacks whose layers differ in their positional encoding: each layer is handed its own."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from zoo.models.decoder_only import CausalDecoder
from zoo.models.transformer import Decoder, Encoder, given
from zoo.parts.attention.cache import LayerCache
from zoo.parts.encoding.base import Positions

EachLayer = Sequence[Positions | None]
"""How an encoding acts inside the attention of each layer; None for not at all."""


class PerLayerEncoder(Encoder):
    """An encoder, with positions for each layer."""

    def forward(self, x: Tensor, src_mask: Tensor | None = None, *, positions: EachLayer) -> Tensor:  # type: ignore[override]
        """As `Encoder.forward`: [B, S, D] -> [B, S, D]."""
        src_mask = self.adapter(src_mask, x.size(1), x.dtype)
        for layer, at in zip(self.layers, positions, strict=True):
            x = layer(x, src_mask, to_self=given(positions=at))
        return self.final_norm(x)  # type: ignore[no-any-return]


class PerLayerDecoder(Decoder):
    """A decoder with cross-attention, with positions for each layer."""

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        *,
        positions: EachLayer,
        caches: Sequence[LayerCache] | None = None,
    ) -> Tensor:
        """As `Decoder.forward`: x [B, L, D], memory [B, S, D] -> [B, L, D]."""
        so_far = caches[0].self_attention.length if caches else 0
        src_mask = self.cross_adapter(src_mask, memory.size(1), x.dtype)
        tgt_mask = self.adapter(tgt_mask, so_far + x.size(1), x.dtype)
        for number, (layer, at) in enumerate(zip(self.layers, positions, strict=True)):
            cache = caches[number].self_attention if caches else None
            cross_cache = caches[number].cross_attention if caches else None
            to_self, to_cross = given(positions=at, cache=cache), given(cache=cross_cache)
            x = layer(x, memory, src_mask, tgt_mask, to_self=to_self, to_cross=to_cross)
        return self.final_norm(x)  # type: ignore[no-any-return]


class PerLayerCausalDecoder(CausalDecoder):
    """A decoder without cross-attention, with positions for each layer."""

    def forward(  # type: ignore[override]
        self,
        x: Tensor,
        tgt_mask: Tensor | None = None,
        *,
        positions: EachLayer,
        caches: Sequence[LayerCache] | None = None,
    ) -> Tensor:
        """As `CausalDecoder.forward`: [B, L, D] -> [B, L, D]."""
        so_far = caches[0].self_attention.length if caches else 0
        tgt_mask = self.adapter(tgt_mask, so_far + x.size(1), x.dtype)
        for number, (layer, at) in enumerate(zip(self.layers, positions, strict=True)):
            cache = caches[number].self_attention if caches else None
            x = layer(x, tgt_mask, to_self=given(positions=at, cache=cache))
        return self.final_norm(x)  # type: ignore[no-any-return]
