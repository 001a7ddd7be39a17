"""The encoder-decoder Transformer and its layers, and what all assemblies have in common.

`zoo.models.builder` makes the parts. Vaswani et al. 2017, section 3, arXiv:1706.03762. Letters in shapes: B batch,
S source length, L target length, D d_model, V target vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

from torch import Tensor, nn

from zoo.parts.attention.cache import LayerCache
from zoo.parts.embedding.base import Embeddings
from zoo.parts.encoding.base import Encoding, Positions
from zoo.parts.mask.adapter import MaskAdapter
from zoo.parts.values import readable

if TYPE_CHECKING:
    from zoo.models.builder import Parts

NOTHING: Mapping[str, Any] = MappingProxyType({})


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward: section 3.1. Under a causal mask, the layer of a decoder-only model."""

    def __init__(self, self_attention: nn.Module, feed_forward: nn.Module, norm: nn.Module) -> None:
        """`norm` is a placement for two sublayers (`zoo.parts.norm.base.NormPlacement`)."""
        super().__init__()
        self.self_attention, self.feed_forward, self.norm = self_attention, feed_forward, norm

    def forward(
        self, x: Tensor, src_mask: Tensor | None = None, *, to_self: Mapping[str, Any] = NOTHING
    ) -> Tensor:
        """x [B, S, D], src_mask in the form that the attention takes -> [B, S, D].

        `to_self` is handed to the attention by keyword: positions, if they act there, and a cache.
        """
        return self.norm(  # type: ignore[no-any-return]
            x,
            lambda h: self.self_attention(h, h, h, src_mask, **to_self),
            self.feed_forward,
        )


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention over the encoder's memory, feed-forward: section 3.1."""

    def __init__(
        self, self_attention: nn.Module, cross_attention: nn.Module, feed_forward: nn.Module, norm: nn.Module
    ) -> None:
        """`norm` is a placement for three sublayers (`zoo.parts.norm.base.NormPlacement`)."""
        super().__init__()
        self.self_attention, self.cross_attention = self_attention, cross_attention
        self.feed_forward, self.norm = feed_forward, norm

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        *,
        to_self: Mapping[str, Any] = NOTHING,
        to_cross: Mapping[str, Any] = NOTHING,
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D], masks in the form that the attention takes -> [B, L, D].

        `to_self` and `to_cross` are handed to the two attentions by keyword: positions to the first alone, as
        a distance between a source position and a target position means nothing, and a cache to each. With
        caches, x holds the new positions alone.
        """
        return self.norm(  # type: ignore[no-any-return]
            x,
            lambda h: self.self_attention(h, h, h, tgt_mask, **to_self),
            lambda h: self.cross_attention(h, memory, memory, src_mask, **to_cross),
            self.feed_forward,
        )


class Encoder(nn.Module):
    """A stack of encoder layers, and a last norm where the placement asks for one."""

    def __init__(self, layers: Iterable[EncoderLayer], final_norm: nn.Module, adapter: MaskAdapter) -> None:
        super().__init__()
        self.layers, self.final_norm, self.adapter = nn.ModuleList(layers), final_norm, adapter

    def forward(
        self, x: Tensor, src_mask: Tensor | None = None, *, positions: Positions | None = None
    ) -> Tensor:
        """x [B, S, D], src_mask (broadcasts to [B, H, S, S]) in the form in which masks travel -> [B, S, D]."""
        src_mask = self.adapter(src_mask, x.size(1), x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask, to_self=given(positions=positions))
        return self.final_norm(x)  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """A stack of decoder layers, and a last norm where the placement asks for one."""

    def __init__(
        self,
        layers: Iterable[DecoderLayer],
        final_norm: nn.Module,
        adapter: MaskAdapter,
        cross_adapter: MaskAdapter | None = None,
    ) -> None:
        """`cross_adapter` is for the cross-attention's masks, where it takes another form."""
        super().__init__()
        self.layers, self.final_norm = nn.ModuleList(layers), final_norm
        self.adapter, self.cross_adapter = adapter, cross_adapter or adapter

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        *,
        positions: Positions | None = None,
        caches: Sequence[LayerCache] | None = None,
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D] -> [B, L, D].

        src_mask broadcasts to [B, H, L, S], tgt_mask to [B, H, L, L], in the form in which masks travel.
        With caches, one a layer, x holds the new positions alone, and tgt_mask is [.., L, all so far].
        """
        so_far = caches[0].self_attention.length if caches else 0
        src_mask = self.cross_adapter(src_mask, memory.size(1), x.dtype)
        tgt_mask = self.adapter(tgt_mask, so_far + x.size(1), x.dtype)
        for number, layer in enumerate(self.layers):
            cache = caches[number].self_attention if caches else None
            cross_cache = caches[number].cross_attention if caches else None
            to_self, to_cross = given(positions=positions, cache=cache), given(cache=cross_cache)
            x = layer(x, memory, src_mask, tgt_mask, to_self=to_self, to_cross=to_cross)
        return self.final_norm(x)  # type: ignore[no-any-return]


class Model(nn.Module):
    """The base of all assemblies: embedding, positions and masks of both sides; each uses what it reads.

    Attributes:
        stacks: which it has: "encoder", which reads the source, "decoder", which reads the target.
        reads: "tokens", or "images".
        cacheable: whether `decode` takes caches.
        packable: whether `zoo.accelerate` may leave padding out of all but the attention.
    """

    stacks: ClassVar[tuple[str, ...]] = ()
    reads: ClassVar[str] = "tokens"
    embeddings: Embeddings
    src_positions: nn.Module
    tgt_positions: nn.Module
    head: nn.Module

    def __init__(self, parts: Parts) -> None:
        """`parts` makes what is asked of it, in the order in which it is asked."""
        super().__init__()
        self.dropout = nn.Dropout(parts.sizes.dropout)  # on the sum of embedding and position (section 5.4)
        self.masking, self.mask_form = parts.masking(), parts.mask_form
        self.cacheable, self.packable = parts.cacheable, parts.packable

    def embed_src(self, src: Tensor) -> tuple[Tensor, dict[str, Any]]:
        """src [B, S] -> [B, S, D], and what the encoder takes beside it: positions that act inside the attention."""
        x = self.dropout(self.src_positions(self.embeddings(src, "src")))
        return x, given(positions=inside_attention(self.src_positions, x.size(1), x.size(1), x))

    def embed_tgt(self, tgt: Tensor, start: int = 0) -> tuple[Tensor, dict[str, Any]]:
        """tgt [B, L] -> its positions from `start` on [B, new, D], and what the decoder takes beside them."""
        embedded = self.embeddings(tgt[:, start:], "tgt")
        x = self.dropout(self.tgt_positions(embedded, start) if start else self.tgt_positions(embedded))
        return x, given(positions=inside_attention(self.tgt_positions, x.size(1), tgt.size(1), x))

    def src_mask(self, src: Tensor, x: Tensor, elide: bool = False) -> Tensor | None:
        """Return who may attend to a source position, in the form in which masks travel: [B, 1, 1, S] as bool.

        None where nothing is hidden; with `elide`, that is looked for on the CPU, where looking costs
        next to nothing.
        """
        return self._encoded(self.masking.src(src), x, elide)

    def tgt_mask(
        self, tgt: Tensor, x: Tensor, num_queries: int | None = None, elide: bool = False
    ) -> Tensor | None:
        """Return who may attend to a target position, for all queries or the last few: [B, 1, Tq, L] as bool."""
        keep = self.masking.tgt(tgt, tgt.size(1) if num_queries is None else num_queries)
        return self._encoded(keep, x, elide)

    def _encoded(self, keep: Tensor | None, x: Tensor, elide: bool) -> Tensor | None:
        if keep is None or (elide and keep.device.type == "cpu" and readable(keep) and bool(keep.all())):
            return None
        return self.mask_form.encode(keep, x.dtype)


class Transformer(Model):
    """From token ids to scores of the next token: Vaswani et al. 2017, section 3. It makes its own masks."""

    stacks = ("encoder", "decoder")

    def __init__(self, parts: Parts) -> None:
        """`parts` makes what is asked of it, in the order in which it is asked."""
        super().__init__(parts)
        self.embeddings = parts.embeddings()
        self.src_positions, self.tgt_positions = parts.positions(), parts.positions(causal=True)
        self.encoder, self.decoder = parts.encoder(), parts.decoder()
        self.head = parts.head(self.embeddings)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] (the decoder's input, starting with SOS) -> [B, L, V]."""
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src: Tensor) -> Tensor:
        """src [B, S] -> memory [B, S, D]."""
        x, more = self.embed_src(src)
        return self.encoder(x, self.src_mask(src, x), **more)  # type: ignore[no-any-return]

    def decode(
        self, tgt: Tensor, memory: Tensor, src: Tensor, caches: Sequence[LayerCache] | None = None
    ) -> Tensor:
        """tgt [B, L], memory [B, S, D], src [B, S] (for its padding) -> [B, L, V].

        With caches (see `new_caches`), only positions of tgt that they lack are computed and returned: [B, new, V].
        """
        x, more = self.embed_tgt(tgt, caches[0].self_attention.length if caches else 0)
        cached = caches is not None
        src_mask, tgt_mask = self.src_mask(src, x, cached), self.tgt_mask(tgt, x, x.size(1), cached)
        return self.head(self.decoder(x, memory, src_mask, tgt_mask, caches=caches, **more))  # type: ignore[no-any-return]

    def new_caches(self) -> list[LayerCache]:
        """Empty caches for `decode`, one a layer of the decoder. The model must be `cacheable`."""
        return [LayerCache() for _ in self.decoder.layers]


def given(**named: object) -> dict[str, Any]:
    """Arguments by name without those that are None: a user's own part takes none of them."""
    return {name: value for name, value in named.items() if value is not None}


def inside_attention(encoding: nn.Module, num_queries: int, num_keys: int, like: Tensor) -> Any:
    """Return how an encoding acts inside the attention; a user's own acts at the embedding alone."""
    return encoding.positions(num_queries, num_keys, like) if isinstance(encoding, Encoding) else None
