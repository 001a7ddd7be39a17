"""The encoder: a stack of equal layers that reads the source, every position seeing every other.

Write the two classes below, then run

    zoo grade encoder.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch`; `nn.LayerNorm` and `nn.Dropout` may be used.


1. One layer                                            "Attention Is All You Need", section 3.1
------------------------------------------------------------------------------------------------------

A layer has two sublayers: self-attention (positions look at each other), then the feed-forward network
(each position by itself). Around each of them is a residual, and a layer norm of its own. f is the sublayer:

    norm="post"  (the paper)        x  ->  norm( x + drop(f(x)) )
    norm="pre"   (most today)       x  ->  x + drop(f(norm(x)))

The second sublayer starts from what the first one has left, residual included. Dropout falls on what f
returns, before the sum, element by element, in training mode only; it scales what is left by 1/(1-p).
There is no other dropout in a layer.

    x         [B, T, D]      B sentences, T positions, D = d_model
    src_mask  broadcasts to [B, H, T, T], bool or float, or None; hand it to the attention as it is
    returns   [B, T, D]


2. The parts are handed in
------------------------------------------------------------------------------------------------------

Attention and feed-forward come ready made, as modules. Do not copy them, and do not touch their weights. Call

    self_attention(query, key, value, mask)      in this order, or by these keywords -> [B, T, D]
    feed_forward(x)                              -> [B, T, D]

In self-attention query, key and value are the same tensor. Where there is no mask, hand in None or leave it
out. A boolean mask is True = may be attended to, but the layer need not know: it only passes it on.
Each of the two layer norms is over the last dimension, with learned gain (starts at 1) and shift (starts
at 0), eps 1e-5. Their names, and the order in which you make them, are free.


3. A worked example
------------------------------------------------------------------------------------------------------

One position, D = 2, and a sublayer f that answers [10, 0] whatever it is asked; no dropout:

    x            [ 1.000,  3.000]
    norm(x)      [-1.000,  1.000]
    post-norm    norm([11, 3]) = [1.000, -1.000]
    pre-norm     [1, 3] + [10, 0] = [11.000, 3.000]

Post-norm leaves normed numbers behind it, pre-norm does not. That is why a pre-norm stack needs an end:


4. The stack
------------------------------------------------------------------------------------------------------

    Encoder(make_layer, num_layers, d_model, norm)      `make_layer()` takes no argument and returns a new layer

Call it exactly `num_layers` times (at least 1), use each result once, in order, uncopied. Every layer gets
the output of the one before, as `layer(x, src_mask)`. A pre-norm stack ends in one more layer norm, a
post-norm stack does not. The stack has no dropout of its own.


5. What people trip over
------------------------------------------------------------------------------------------------------

- Pre-norm: the residual is x itself, not norm(x). Only the sublayer sees the normed x.
- The feed-forward's residual starts after attention, not at the layer's input.
- Two norms are two modules. One that is used twice learns for both.
- A plain Python list hides its layers from `parameters()`; torch has a list that does not.
- One layer repeated N times is one layer: it has one set of weights.
- Each layer reads the layer before it. A loop that always starts from the first x is one layer deep.
- The mask belongs to every layer, not to the first only.
"""

import torch
from torch import Tensor, nn


class EncoderLayer(nn.Module):
    """Self-attention, then feed-forward, as in sections 1 and 2 above.

    Args:
        self_attention: part(query, key, value, mask) -> [B, T, D].
        feed_forward: part(x) -> [B, T, D].
        d_model: width D.
        dropout: probability with which an element of a sublayer's output is dropped, in training mode only.
        norm: "post" or "pre".
    """

    def __init__(
        self,
        self_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
    ) -> None:
        super().__init__()
        raise NotImplementedError("encoder: EncoderLayer keeps its parts and makes two layer norms")

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, T, D], src_mask (bool: True = may be attended to) -> [B, T, D]."""
        raise NotImplementedError("encoder: EncoderLayer.forward returns [B, T, D]")


class Encoder(nn.Module):
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
        raise NotImplementedError("encoder: Encoder makes num_layers layers")

    def forward(self, x: Tensor, src_mask: Tensor | None = None) -> Tensor:
        """x [B, T, D], src_mask as in the layer -> [B, T, D]."""
        raise NotImplementedError("encoder: Encoder.forward returns [B, T, D]")


if __name__ == "__main__":
    # Try things out here: `python encoder.py`. The grader does not run this part.
    class Mean(nn.Module):
        """Stands for attention: the mean of the values."""

        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Tensor:
            return value.mean(dim=1, keepdim=True).expand_as(query)

    layers = Encoder(lambda: EncoderLayer(Mean(), nn.Linear(4, 4), 4), 2, 4)
    print("output", tuple(layers(torch.rand(2, 3, 4)).shape))
