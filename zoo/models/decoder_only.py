"""A decoder by itself: a language model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from torch import Tensor, nn

from zoo.models.transformer import EncoderLayer, Model, given
from zoo.parts.attention.cache import LayerCache
from zoo.parts.encoding.base import Positions
from zoo.parts.mask.adapter import MaskAdapter

if TYPE_CHECKING:
    from zoo.models.builder import Parts


class CausalDecoder(nn.Module):
    """A stack of layers without cross-attention, and a last norm where the placement asks for one."""

    def __init__(self, layers: Iterable[EncoderLayer], final_norm: nn.Module, adapter: MaskAdapter) -> None:
        super().__init__()
        self.layers, self.final_norm, self.adapter = nn.ModuleList(layers), final_norm, adapter

    def forward(
        self,
        x: Tensor,
        tgt_mask: Tensor | None = None,
        *,
        positions: Positions | None = None,
        caches: Sequence[LayerCache] | None = None,
    ) -> Tensor:
        """x [B, L, D], tgt_mask (broadcasts to [B, H, L, L]) in the form in which masks travel -> [B, L, D].

        With caches, one a layer, x holds the new positions alone, and tgt_mask is [.., L, all so far].
        """
        so_far = caches[0].self_attention.length if caches else 0
        tgt_mask = self.adapter(tgt_mask, so_far + x.size(1), x.dtype)
        for number, layer in enumerate(self.layers):
            cache = caches[number].self_attention if caches else None
            x = layer(x, tgt_mask, to_self=given(positions=positions, cache=cache))
        return self.final_norm(x)  # type: ignore[no-any-return]


class DecoderOnly(Model):
    """From token ids to scores of the next token, as in GPT (Radford et al. 2018). It makes its own masks.

    A decoder without cross-attention: self-attention under a causal mask, then feed-forward. It has one vocabulary,
    `tgt_vocab`.
    """

    stacks = ("decoder",)

    def __init__(self, parts: Parts) -> None:
        """`parts` makes what is asked of it, in the order in which it is asked."""
        super().__init__(parts)
        self.embeddings = parts.embeddings("tgt")
        self.tgt_positions = parts.positions(causal=True)
        self.decoder = parts.causal_decoder()
        self.head = parts.head(self.embeddings)

    def forward(self, tokens: Tensor) -> Tensor:
        """tokens [B, L] -> [B, L, V]: at each position, what comes after it."""
        return self.decode(tokens)

    def decode(self, tokens: Tensor, caches: Sequence[LayerCache] | None = None) -> Tensor:
        """tokens [B, L] -> [B, L, V].

        With caches (see `new_caches`), only positions that they do not hold yet are computed, and returned:
        [B, new, V].
        """
        x, more = self.embed_tgt(tokens, caches[0].self_attention.length if caches else 0)
        mask = self.tgt_mask(tokens, x, x.size(1), caches is not None)
        return self.head(self.decoder(x, mask, caches=caches, **more))  # type: ignore[no-any-return]

    def new_caches(self) -> list[LayerCache]:
        """Empty caches for `decode`, one a layer. The model must be `cacheable`."""
        return [LayerCache() for _ in self.decoder.layers]
