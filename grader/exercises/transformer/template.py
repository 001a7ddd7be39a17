"""The Transformer: embeddings, positions, encoder, decoder and an output layer, put together.

Write the class below, then run

    zoo grade transformer.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch` and `math`.


1. The computation                                      "Attention Is All You Need", section 3, figure 1
------------------------------------------------------------------------------------------------------

    encode(src)               x      = positions( src_embed(src) * sqrt(D) )          [B, S, D]
                              memory = encoder(x, src_mask)                           [B, S, D]

    decode(tgt, memory, src)  x      = positions( tgt_embed(tgt) * sqrt(D) )          [B, L, D]
                              y      = decoder(x, memory, src_mask, tgt_mask)         [B, L, D]
                              logits = output(y)                                      [B, L, V]

    forward(src, tgt)         encode, then decode -> logits [B, L, V]

    src, tgt   token ids [B, S] and [B, L]; tgt is the decoder's input, already shifted to the right
    D, V       d_model, tgt_vocab

The logits are raw: no softmax here, the loss applies it. `decode` gets `src` for the mask only. It depends
on its arguments alone; it must not use anything stored by an earlier `encode`.


2. Arguments, and what you create                       section 3.4
------------------------------------------------------------------------------------------------------

Encoder, decoder, both embeddings and positions are passed in as modules. Store them unchanged: do not copy
them or change their weights. `positions(x)` adds the positions to x and returns the sum; it is one module,
used for both sides, after the scaling. You create one layer: a learned projection from D to V, the target's
vocabulary, not tied to an embedding, with or without a bias. The model itself has no dropout.


3. The masks
------------------------------------------------------------------------------------------------------

The model builds them from the token ids; `pad` is the padding id of both sides, and every other id, lower
or higher, is an ordinary token.

    src_mask    a key is allowed if it is not PAD                                  e.g. [B, 1, 1, S]
    tgt_mask    a key is allowed if it is not PAD, and does not come later         e.g. [B, 1, L, L]

In a boolean mask True = may be attended to. An additive mask (float, 0 = may, -inf = may not) is fine too,
and so is None where nothing is masked. They must broadcast to [B, 1, Tq, Tk]. Encoder and cross-attention both
use the source's mask. PAD may be anywhere in a row, also at the start.


4. A worked example
------------------------------------------------------------------------------------------------------

    src = [[5, 4, 0]], pad = 0           src_mask   [[True, True, False]]

    tgt = [[1, 7, 0]], pad = 0           tgt_mask   [[True, False, False],      token 1 sees itself
                                                     [True, True,  False],      token 2 sees 1 and 2
                                                     [True, True,  False]]      PAD is masked for all queries

    D = 64: embeddings are multiplied by 8.


5. Common mistakes
------------------------------------------------------------------------------------------------------

- The embeddings are multiplied by sqrt(D) before the positions are added, not after.
- The target's mask is causal AND padding. One of them alone, or an OR, allows too much.
- Padding masks the keys, the last dimension of the mask, not the queries.
- Cross-attention gets the source's mask. With S == L the wrong one raises no error.
- A decoder that sees later tokens has a very low loss, and cannot generate.
- Masks must be on the device of the tokens.
- A softmax at the end would be applied twice: the loss applies one itself.

All modules have the same dtype, which is the logits' too: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    """The whole model, as above.

    Args:
        encoder: encoder(x, src_mask) -> memory [B, S, D].
        decoder: decoder(x, memory, src_mask, tgt_mask) -> [B, L, D].
        src_embed: ids [B, S] -> [B, S, D].
        tgt_embed: ids [B, L] -> [B, L, D].
        positions: x [B, T, D] -> x with positions added, for both sides.
        d_model: width D.
        tgt_vocab: number V of the target's tokens.
        pad: id of the padding, on both sides.
    """

    def __init__(
        self,
        encoder: nn.Module,
        decoder: nn.Module,
        src_embed: nn.Module,
        tgt_embed: nn.Module,
        positions: nn.Module,
        d_model: int,
        tgt_vocab: int,
        pad: int = 0,
    ) -> None:
        super().__init__()
        raise NotImplementedError("transformer: Transformer keeps its parts and makes the output projection")

    def encode(self, src: Tensor) -> Tensor:
        """src ids [B, S] -> memory [B, S, D]."""
        raise NotImplementedError("transformer: Transformer.encode returns memory [B, S, D]")

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """tgt ids [B, L], memory [B, S, D], src ids [B, S] (for the mask) -> logits [B, L, V]."""
        raise NotImplementedError("transformer: Transformer.decode returns logits [B, L, V]")

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src ids [B, S], tgt ids [B, L] -> logits [B, L, V]."""
        raise NotImplementedError("transformer: Transformer.forward returns logits [B, L, V]")


if __name__ == "__main__":
    # Try things out here: `python transformer.py`. The grader does not run this part.
    class First(nn.Module):
        """Stands for encoder and decoder: hands on its first argument."""

        def forward(self, x: Tensor, *rest: Tensor) -> Tensor:
            return x

    model = Transformer(First(), First(), nn.Embedding(9, 4), nn.Embedding(9, 4), nn.Identity(), 4, 9)
    print("logits", tuple(model(torch.tensor([[5, 4, 0]]), torch.tensor([[1, 7]])).shape))
