"""The encoder: a stack of equal layers in which every position of the source sees every other.

Write the two classes below, then run

    zoo grade encoder.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch`; `nn.LayerNorm` and `nn.Dropout` may be used.


1. One layer                                            "Attention Is All You Need", section 3.1
------------------------------------------------------------------------------------------------------

A layer has two sublayers: self-attention (positions attend to each other), then the feed-forward network
(each position independently). Each has a residual connection and its own layer norm. f is the sublayer:

    norm="post"  (the paper)        x  ->  norm( x + drop(f(x)) )
    norm="pre"   (most today)       x  ->  x + drop(f(norm(x)))

The input of the second sublayer is the result of the first, residual included. Dropout is applied to the
output of f, before the sum, to each element independently, in training mode only; it scales the other
elements by 1/(1-p). There is no other dropout in a layer.

    x         [B, T, D]      B sentences, T positions, D = d_model
    src_mask  broadcasts to [B, H, T, T], bool or float, or None; pass it to the attention unchanged
    returns   [B, T, D]


2. The sublayers are arguments
------------------------------------------------------------------------------------------------------

Attention and feed-forward network are passed in as modules. Do not copy them or change their weights. Call

    self_attention(query, key, value, mask)      in this order, or by these keywords -> [B, T, D]
    feed_forward(x)                              -> [B, T, D]

In self-attention query, key and value are the same tensor. Without a mask, pass None or omit it. In a
boolean mask True = may be attended to, but the layer need not know: it only passes the mask on.
Each of the two layer norms is over the last dimension, with learned parameters gain (starts at 1) and
bias (starts at 0), eps 1e-5. Their names, and the order in which you create them, are free.


3. A worked example
------------------------------------------------------------------------------------------------------

One position, D = 2, and a sublayer f that always returns [10, 0]; no dropout:

    x            [ 1.000,  3.000]
    norm(x)      [-1.000,  1.000]
    post-norm    norm([11, 3]) = [1.000, -1.000]
    pre-norm     [1, 3] + [10, 0] = [11.000, 3.000]

The result of post-norm is normalized, that of pre-norm is not. So a pre-norm stack needs a final norm:


4. The stack
------------------------------------------------------------------------------------------------------

    Encoder(make_layer, num_layers, d_model, norm)      `make_layer()` takes no argument and returns a new layer

Call it exactly `num_layers` times (at least 1), and use each result once, in order, without copying it.
Every layer gets the output of the one before, as `layer(x, src_mask)`. A pre-norm stack has one more layer
norm at the end, a post-norm stack has none. The stack itself has no dropout.


5. Common mistakes
------------------------------------------------------------------------------------------------------

- Pre-norm: the residual is x itself, not norm(x). Only the sublayer gets norm(x).
- The feed-forward's residual is the result of the attention sublayer, not the layer's input.
- Two norms are two modules. One that is used twice has the same gain and bias in both places.
- Layers in a plain Python list are not among `parameters()`; torch has a list that registers them.
- One layer repeated N times is one layer: it has one set of weights.
- Each layer gets the output of the one before. A loop that always starts from the first x is one layer deep.
- Every layer gets the mask, not only the first.

All modules and x have the same dtype, which is the result's too: float32, float64 or bfloat16.
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
