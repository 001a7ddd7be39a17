"""The encoder-decoder Transformer and its layers, put together from parts by `zoo.builder`.

Vaswani et al. 2017, section 3, arXiv:1706.03762. Letters in shapes: B batch, S source length,
L target length, D d_model, V target vocabulary.
"""

from __future__ import annotations

from collections.abc import Iterable

from torch import Tensor, nn

from zoo.dropout import Dropout
from zoo.embeddings.base import Embeddings
from zoo.masks.adapter import MaskAdapter
from zoo.masks.base import MaskForm, causal_keep, padding_keep


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward: section 3.1."""

    def __init__(self, self_attention: nn.Module, feed_forward: nn.Module, norm: nn.Module) -> None:
        """`norm` is a placement for two sublayers (`zoo.norms.base.NormPlacement`)."""
        super().__init__()
        self.self_attention, self.feed_forward, self.norm = self_attention, feed_forward, norm

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, S, D], src_mask in the form that the attention takes -> [B, S, D]."""
        return self.norm(  # type: ignore[no-any-return]
            x,
            lambda h: self.self_attention(h, h, h, src_mask),
            self.feed_forward,
        )


class DecoderLayer(nn.Module):
    """Causal self-attention, cross-attention over the encoder's memory, feed-forward: section 3.1."""

    def __init__(
        self, self_attention: nn.Module, cross_attention: nn.Module, feed_forward: nn.Module, norm: nn.Module
    ) -> None:
        """`norm` is a placement for three sublayers (`zoo.norms.base.NormPlacement`)."""
        super().__init__()
        self.self_attention, self.cross_attention = self_attention, cross_attention
        self.feed_forward, self.norm = feed_forward, norm

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D], masks in the form that the attention takes -> [B, L, D]."""
        return self.norm(  # type: ignore[no-any-return]
            x,
            lambda h: self.self_attention(h, h, h, tgt_mask),
            lambda h: self.cross_attention(h, memory, memory, src_mask),
            self.feed_forward,
        )


class Encoder(nn.Module):
    """A stack of encoder layers, and a last norm where the placement asks for one."""

    def __init__(self, layers: Iterable[EncoderLayer], final_norm: nn.Module, adapter: MaskAdapter) -> None:
        super().__init__()
        self.layers, self.final_norm, self.adapter = nn.ModuleList(layers), final_norm, adapter

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, S, D], src_mask (broadcasts to [B, H, S, S]) in the form in which masks travel -> [B, S, D]."""
        src_mask = self.adapter(src_mask, x.dtype)
        for layer in self.layers:
            x = layer(x, src_mask)
        return self.final_norm(x)  # type: ignore[no-any-return]


class Decoder(nn.Module):
    """A stack of decoder layers, and a last norm where the placement asks for one."""

    def __init__(self, layers: Iterable[DecoderLayer], final_norm: nn.Module, adapter: MaskAdapter) -> None:
        super().__init__()
        self.layers, self.final_norm, self.adapter = nn.ModuleList(layers), final_norm, adapter

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D] -> [B, L, D].

        src_mask broadcasts to [B, H, L, S], tgt_mask to [B, H, L, L], in the form in which masks travel.
        """
        src_mask, tgt_mask = self.adapter(src_mask, x.dtype), self.adapter(tgt_mask, x.dtype)
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return self.final_norm(x)  # type: ignore[no-any-return]


class Transformer(nn.Module):
    """From token ids to logits. It makes its own masks: padding on both sides, causal on the target."""

    def __init__(
        self,
        encoder: Encoder,
        decoder: Decoder,
        embeddings: Embeddings,
        src_positions: nn.Module,
        tgt_positions: nn.Module,
        head: nn.Module,
        mask_form: MaskForm,
        dropout: float = 0.0,
        pad: int = 0,
    ) -> None:
        """
        Args:
            head: hidden vectors [B, L, D] -> logits [B, L, V].
            mask_form: the form in which masks travel from here to the stacks.
            dropout: probability on the sum of embedding and position, in train mode (section 5.4).
            pad: token id of padding, on both sides.
        """
        super().__init__()
        self.embeddings = embeddings
        self.src_positions, self.tgt_positions = src_positions, tgt_positions
        self.encoder, self.decoder, self.head = encoder, decoder, head
        self.dropout = Dropout(dropout)
        self.mask_form, self.pad = mask_form, pad

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] (the decoder's input, starting with SOS) -> logits [B, L, V]."""
        return self.decode(tgt, self.encode(src), src)

    def encode(self, src: Tensor) -> Tensor:
        """src [B, S] -> memory [B, S, D]."""
        x = self.dropout(self.src_positions(self.embeddings.src(src)))
        return self.encoder(x, self.src_mask(src, x))  # type: ignore[no-any-return]

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """tgt [B, L], memory [B, S, D], src [B, S] (for its padding) -> logits [B, L, V]."""
        x = self.dropout(self.tgt_positions(self.embeddings.tgt(tgt)))
        x = self.decoder(x, memory, self.src_mask(src, x), self.tgt_mask(tgt, x))
        return self.head(x)  # type: ignore[no-any-return]

    def src_mask(self, src: Tensor, x: Tensor) -> Tensor:
        """Who may attend to a source position: everyone, unless it is padding. [B, 1, 1, S]."""
        return self.mask_form.encode(padding_keep(src, self.pad), x.dtype)

    def tgt_mask(self, tgt: Tensor, x: Tensor) -> Tensor:
        """Who may attend to a target position: itself and later ones, unless it is padding. [B, 1, L, L]."""
        keep = causal_keep(tgt.size(1), tgt.device) & padding_keep(tgt, self.pad)  # [1,1,L,L] & [B,1,1,L]
        return self.mask_form.encode(keep, x.dtype)
