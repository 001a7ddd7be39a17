"""Small normal weights, smaller with depth where a branch joins the stream."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.init.base import Init

ENDS = (".out_proj.weight", ".down_proj.weight")
"""The matrices whose output is added to the stream."""


class Gpt2Init(Init):
    """N(0, std^2), times 1/sqrt(2N) for the last matrix of a branch in a stack of N layers; biases zero.

    Radford et al. 2019 (GPT-2), section 2.3. 2N counts the branches of GPT-2, two a layer; in the decoder
    the cross-attention, which GPT-2 lacks, is scaled alike. Tables are drawn in place of what their variant
    drew, as GPT-2's are, and embeddings that multiply by sqrt(D) still do.
    """

    def __init__(
        self,
        num_encoder_layers: int,
        num_decoder_layers: int,
        std: float = 0.02,
        tables: bool = True,
        by_depth: bool = True,
    ) -> None:
        """
        Args:
            num_encoder_layers: N of the encoder.
            num_decoder_layers: N of the decoder.
            std: standard deviation.
            tables: whether embedding tables are drawn so too, or keep what their variant drew.
            by_depth: whether the last matrix of a branch is drawn smaller with depth; without, all are N(0, std^2),
                as in BERT.
        """
        self.std, self.tables = std, tables
        self.layers = {"encoder": num_encoder_layers, "decoder": num_decoder_layers} if by_depth else {}

    def matrix(self, name: str, value: Tensor) -> None:
        """Fill the weight [out, in], in place."""
        layers = self.layers.get(name.partition(".")[0])
        deeper = (2 * layers) ** -0.5 if layers and name.endswith(ENDS) else 1.0
        value.normal_(std=self.std * deeper)

    def table(self, name: str, value: Tensor) -> None:
        """Fill the embedding table [V, D], in place, unless it is to keep what it has."""
        if self.tables:
            value.normal_(std=self.std)
