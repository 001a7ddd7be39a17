"""An encoder and a decoder, and nothing around them."""

from __future__ import annotations

from torch import Tensor, nn

from zoo.models.transformer import Decoder, Encoder


class Stacks(nn.Module):
    """The zoo's counterpart of `nn.Transformer`, which has no embeddings, positions or head either."""

    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(
        self, src: Tensor, tgt: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """
        Args:
            src: embedded source [B, S, D].
            tgt: embedded target [B, L, D].
            src_mask: who may attend to a source position, in the encoder and from the decoder: bool,
                True = may be attended to, broadcasts to [B, H, S, S] and to [B, H, L, S], as padding's
                [B, 1, 1, S] does. Where the two differ, call `encoder` and `decoder` one after the other.
            tgt_mask: the same of the target, causality included: broadcasts to [B, H, L, L].

        Returns:
            [B, L, D].
        """
        return self.decoder(tgt, self.encoder(src, src_mask), src_mask, tgt_mask)  # type: ignore[no-any-return]
