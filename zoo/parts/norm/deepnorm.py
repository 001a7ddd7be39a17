"""Post-norm with a heavier stream, for very deep stacks."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor, nn

from zoo.parts.norm.base import NormPlacement, Sublayer


class DeepNorm(NormPlacement):
    """x = norm(alpha x + dropout(f(x))), and initial weights times beta: Wang et al. 2022, arXiv:2203.00555.

    With N encoder and M decoder layers:

        encoder  alpha = 0.81 (N^4 M)^(1/16)   beta = 0.87 (N^4 M)^(-1/16)
        decoder  alpha = (3 M)^(1/4)           beta = (12 M)^(-1/4)

    and in a model of one stack, with N layers:

        alpha = (2 N)^(1/4)                    beta = (8 N)^(-1/4)

    Beta, the `gain`, scales the initial weights of the values, of the attention's output and of the
    feed-forward network; queries and keys keep theirs. As after post-norm, a stack has no further norm.
    """

    def __init__(
        self,
        make_norm: Callable[[], nn.Module],
        num_sublayers: int,
        dropout: float = 0.0,
        *,
        num_encoder_layers: int,
        num_decoder_layers: int,
    ) -> None:
        """
        Args:
            make_norm: makes one norm over the last dimension.
            num_sublayers: 2 makes it a layer's without cross-attention, 3 a decoder layer's with it.
            dropout: probability on each sublayer's output, in train mode.
            num_encoder_layers: N, 0 in a model without an encoder.
            num_decoder_layers: M, 0 in a model without a decoder.

        Raises:
            ValueError: for another number of sublayers.
        """
        super().__init__(make_norm, num_sublayers, dropout)
        if num_sublayers == 2 and not (num_encoder_layers and num_decoder_layers):
            depth = num_encoder_layers or num_decoder_layers
            self.alpha, self.gain = (2 * depth) ** 0.25, (8 * depth) ** -0.25
        elif num_sublayers == 2:
            depth = (num_encoder_layers**4 * num_decoder_layers) ** (1 / 16)
            self.alpha, self.gain = 0.81 * depth, 0.87 / depth
        elif num_sublayers == 3:
            self.alpha, self.gain = (3 * num_decoder_layers) ** 0.25, (12 * num_decoder_layers) ** -0.25
        else:
            raise ValueError(
                "DeepNorm has constants for an encoder layer (num_sublayers=2) and a decoder layer (3), not for "
                f"num_sublayers={num_sublayers}."
            )

    def forward(self, x: Tensor, *sublayers: Sublayer) -> Tensor:
        """x [B, T, D] -> [B, T, D]. Raises ValueError for another number of sublayers."""
        for norm, sublayer in zip(self.norms, sublayers, strict=True):
            x = norm(self.alpha * x + self.dropout(sublayer(x)))
        return x
