"""The decoder: a stack of equal layers that writes the target, and looks at what the encoder has read.

Write the two classes below, then run

    zoo grade decoder.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch`; `nn.LayerNorm` and `nn.Dropout` may be used.


1. One layer                                            "Attention Is All You Need", section 3.1
------------------------------------------------------------------------------------------------------

Three sublayers, in this order, each with a residual and a layer norm of its own:

    self-attention     the target's positions look at each other      mask: tgt_mask
    cross-attention    the target's positions look at `memory`        mask: src_mask
    feed-forward       each position by itself

`memory` is what the encoder returned. With f for the sublayer:

    norm="post"  (the paper)        x  ->  norm( x + drop(f(x)) )
    norm="pre"   (most today)       x  ->  x + drop(f(norm(x)))

Dropout falls on what f returns, before the sum, element by element, in training mode only; it scales what
is left by 1/(1-p). There is no other dropout in a layer.

    x         [B, L, D]      L positions of the target, D = d_model
    memory    [B, S, D]      S positions of the source
    src_mask  broadcasts to [B, H, L, S], bool or float, or None
    tgt_mask  broadcasts to [B, H, L, L], bool or float, or None
    returns   [B, L, D]


2. Who asks, and who answers                            section 3.2.3
------------------------------------------------------------------------------------------------------

In cross-attention the queries come from the decoder, and both keys and values from `memory`. In pre-norm
only the query is normed: `memory` is used as it comes.

A boolean mask is True = may be attended to. A mask's columns are keys, so `src_mask` speaks about the
source, and belongs to cross-attention, whose keys those are. Pass both masks on unchanged.


3. The parts are handed in
------------------------------------------------------------------------------------------------------

They come ready made, as modules. Do not copy them, and do not touch their weights. Call

    self_attention(query, key, value, mask)       in this order, or by these keywords -> [B, L, D]
    cross_attention(query, key, value, mask)      the same
    feed_forward(x)                               -> [B, L, D]

Where there is no mask, hand in None or leave it out. Each of the three layer norms is over the last
dimension, with learned gain (starts at 1) and shift (starts at 0), eps 1e-5. Their names, and the order in
which you make them, are free.


4. The stack
------------------------------------------------------------------------------------------------------

    Decoder(make_layer, num_layers, d_model, norm)      `make_layer()` takes no argument and returns a new layer

Call it exactly `num_layers` times (at least 1), use each result once, in order, uncopied. Every layer gets
the output of the one before and the same memory and masks, as `layer(x, memory, src_mask, tgt_mask)`. A
pre-norm stack ends in one more layer norm, a post-norm stack does not. The stack has no dropout of its own.


5. What people trip over
------------------------------------------------------------------------------------------------------

- The two masks change places easily. With S == L nothing crashes: try it with lengths that differ.
- Cross-attention that asks with `memory`, or takes its keys from x, is another function.
- Its query is what self-attention has left, after the first residual (and, post-norm, the first norm).
- Pre-norm: the residual is x itself, not norm(x).
- Three norms are three modules; use each in its own place.
- Every layer looks at the same memory. It is not handed from layer to layer.
- A plain Python list hides its layers from `parameters()`, and one layer repeated N times is one layer.
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
