"""The decoder: a stack of equal layers that predicts the target and attends to the encoder's output.

Write the two classes below, then run

    zoo grade decoder.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch`; `nn.LayerNorm` and `nn.Dropout` may be used.


1. One layer                                            "Attention Is All You Need", section 3.1
------------------------------------------------------------------------------------------------------

Three sublayers, in this order, each with a residual connection and its own layer norm:

    self-attention     target positions attend to each other      mask: tgt_mask
    cross-attention    target positions attend to `memory`        mask: src_mask
    feed-forward       each position independently

`memory` is what the encoder returned. With f for the sublayer:

    norm="post"  (the paper)        x  ->  norm( x + drop(f(x)) )
    norm="pre"   (most today)       x  ->  x + drop(f(norm(x)))

Dropout is applied to the output of f, before the sum, to each element independently, in training mode only;
it scales the other elements by 1/(1-p). There is no other dropout in a layer.

    x         [B, L, D]      L positions of the target, D = d_model
    memory    [B, S, D]      S positions of the source
    src_mask  broadcasts to [B, H, L, S], bool or float, or None
    tgt_mask  broadcasts to [B, H, L, L], bool or float, or None
    returns   [B, L, D]


2. Queries and keys                                     section 3.2.3
------------------------------------------------------------------------------------------------------

In cross-attention the queries come from the decoder, and both keys and values from `memory`. In pre-norm
only the query is normalized: `memory` is used unchanged.

In a boolean mask True = may be attended to. A mask's columns are keys. The keys of cross-attention are the
positions of the source, so it gets `src_mask`. Pass both masks on unchanged.


3. The sublayers are arguments
------------------------------------------------------------------------------------------------------

They are passed in as modules. Do not copy them or change their weights. Call

    self_attention(query, key, value, mask)       in this order, or by these keywords -> [B, L, D]
    cross_attention(query, key, value, mask)      the same
    feed_forward(x)                               -> [B, L, D]

Without a mask, pass None or omit it. Each of the three layer norms is over the last dimension, with learned
parameters gain (starts at 1) and bias (starts at 0), eps 1e-5. Their names, and the order in which you create
them, are free.


4. The stack
------------------------------------------------------------------------------------------------------

    Decoder(make_layer, num_layers, d_model, norm)      `make_layer()` takes no argument and returns a new layer

Call it exactly `num_layers` times (at least 1), and use each result once, in order, without copying it.
Every layer gets the output of the one before, and the same memory and masks, as `layer(x, memory, src_mask,
tgt_mask)`. A pre-norm stack has one more layer norm at the end, a post-norm stack has none. The stack itself
has no dropout.


5. Common mistakes
------------------------------------------------------------------------------------------------------

- The two masks are easily swapped. With S == L nothing raises an error: try lengths that differ.
- In cross-attention, `memory` is not the query, and x is neither key nor value.
- Its query is the result of the self-attention sublayer, after residual sum (and, in post-norm, norm).
- Pre-norm: the residual is x itself, not norm(x).
- Three norms are three modules; use each in its own sublayer.
- Every layer gets the same memory. It is not the output of the layer before.
- Layers in a plain Python list are not among `parameters()`, and one layer repeated N times is one layer.

All modules, x and memory have the same dtype, which is the result's too: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward, as in sections 1 to 3 above.

    Args:
        self_attention: part(query, key, value, mask) -> [B, L, D].
        cross_attention: the same, for queries from the decoder and keys and values from memory.
        feed_forward: part(x) -> [B, L, D].
        d_model: width D.
        dropout: probability with which an element of a sublayer's output is dropped, in training mode only.
        norm: "post" or "pre".
    """

    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
    ) -> None:
        super().__init__()
        raise NotImplementedError("decoder: DecoderLayer keeps its parts and makes three layer norms")

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D], masks (bool: True = may be attended to) -> [B, L, D]."""
        raise NotImplementedError("decoder: DecoderLayer.forward returns [B, L, D]")


class Decoder(nn.Module):
    """A stack of layers, as in section 4 above.

    Args:
        make_layer: a function without arguments that returns a new layer.
        num_layers: how many layers.
        d_model: width D.
        norm: "post" or "pre", the same as in the layers.
    """

    def __init__(  # type: ignore[no-untyped-def]
        self, make_layer, num_layers: int, d_model: int, norm: str = "post"
    ) -> None:
        super().__init__()
        raise NotImplementedError("decoder: Decoder makes num_layers layers")

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D], masks as in the layer -> [B, L, D]."""
        raise NotImplementedError("decoder: Decoder.forward returns [B, L, D]")


if __name__ == "__main__":
    # Try things out here: `python decoder.py`. The grader does not run this part.
    class Mean(nn.Module):
        """Stands for attention: the mean of the values."""

        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
            return value.mean(dim=1, keepdim=True).expand_as(query)

    layers = Decoder(lambda: DecoderLayer(Mean(), Mean(), nn.Linear(4, 4), 4), 2, 4)
    print("output", tuple(layers(torch.rand(2, 3, 4), torch.rand(2, 5, 4)).shape))
