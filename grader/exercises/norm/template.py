"""Layer normalization, and its two placements: before and after a sublayer.

Write the three classes below, then run

    zoo grade norm.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch` and `math`.


1. Layer normalization                   Ba et al. 2016, arXiv 1607.06450; used in section 3.1 of the paper
------------------------------------------------------------------------------------------------------

                      x - mean(x)
    x_hat     =  ---------------------          mean and variance over the d_model features of one position
                  sqrt(var(x) + eps)

    LayerNorm(x) = gain * x_hat + bias

Sums over many layers make some vectors large and others small. The norm gives every position's vector
mean 0 and variance 1, whatever its size was, and then lets training choose a scale and a shift for each
feature: gain [D] starts at 1, bias [D] at 0, and both are trainable parameters.

    x        [..., D]         D = d_model; any number of leading dimensions
    returns  [..., D]

The variance is the biased one: the mean of the squared deviations, divided by D and not by D - 1. eps
is inside the root. Each position is normalized independently of all others.

The result must be finite and accurate for a row of equal numbers (its variance is 0; that is what eps is
for), for large numbers that are close together (near 10000, say), and in bfloat16 (3 digits or less).


2. A worked example
------------------------------------------------------------------------------------------------------

    x                         [1, 2, 3, 6]       mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5
    x_hat                     [-1.069, -0.535, 0.000, 1.604]
    gain [1, 1, 2, 1],
    bias [0, 0, 0, 10]        [-1.069, -0.535, 0.000, 11.604]


3. Placement: post-norm and pre-norm                    section 3.1; pre: Xiong et al. 2020, arXiv 2002.04745
------------------------------------------------------------------------------------------------------

Each sublayer f (attention, or feed-forward) is wrapped in a residual sum, a norm and a dropout:

    post    norm(x + drop(f(x)))            as in the paper: the sum is normalized
    pre     x + drop(f(norm(x)))            newer: the sublayer's input is normalized, x itself never is

In deep stacks pre-norm is easier to train, since x passes through all layers unchanged.
Dropout is applied to the sublayer's output, before the sum, and in training mode only (section 5.4); the
other elements are scaled by 1 / (1 - dropout), as in nn.Dropout.

`PreNorm(norm, sublayer, dropout)` and `PostNorm(norm, sublayer, dropout)` get two modules as arguments.
Register these modules, not copies; each is called exactly once in a forward pass. `norm` is called with
one tensor. `sublayer` gets its input first, then all other arguments of `forward`:

    forward(x, *args, **kwargs)  ->  sublayer(input, *args, **kwargs)

A worked example, with a sublayer that squares each element, a new LayerNorm, and x = [1, 2, 3, 6]:

    post    x + f(x) = [2, 6, 12, 42]       output [-0.859, -0.605, -0.223, 1.687]
    pre     f(norm(x)) = [1.143, 0.286, 0.000, 2.571]
                                            output [2.143, 2.286, 3.000, 8.571]


4. Common mistakes
------------------------------------------------------------------------------------------------------

- `torch.var` and `torch.std` divide by D - 1 by default.
- sqrt(var + eps) is not sqrt(var) + eps: for rows with little variance they differ a lot, and the gradient
  of a root at 0 is infinite.
- mean(x^2) - mean(x)^2 is the variance only in exact arithmetic: near 10000 it is mostly rounding error.
- Normalize over the last dimension only. Without a dimension, `mean` is over all elements of the batch.
- Keep the last dimension (keepdim) of the mean, or the subtraction broadcasts along the wrong one.
- gain multiplies and starts at 1, bias is added and starts at 0; both are vectors, not single numbers.
- In pre-norm, x is added to the sublayer's output, not norm(x).
- Dropout on the sum would also drop elements of x itself.
- Masks reach attention through *args and **kwargs: pass both on.
- The input must not be modified in place. The result has the dtype and the device of x.

Attribute names are free, and more arguments with defaults may follow. Module and input have the same
dtype: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """gain * x_hat + bias over the last dimension, as in section 1 above.

    Args:
        d_model: width D of the last dimension, and of gain and bias.
        eps: added to the variance, inside the root.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        raise NotImplementedError("norm: LayerNorm makes a gain of ones and a bias of zeros")

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        raise NotImplementedError("norm: LayerNorm.forward returns the shape of x")


class PreNorm(nn.Module):
    """x + drop(sublayer(norm(x))), as in section 3 above.

    Args:
        norm: a module, [..., D] -> [..., D].
        sublayer: a module, called with norm(x) and the other arguments of forward.
        dropout: probability with which an element of the sublayer's output is dropped, in training mode only.
    """

    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        raise NotImplementedError("norm: PreNorm keeps norm and sublayer")

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        """x [..., D] -> [..., D]; all other arguments go to the sublayer."""
        raise NotImplementedError("norm: PreNorm.forward returns the shape of x")


class PostNorm(nn.Module):
    """norm(x + drop(sublayer(x))), as in section 3 above.

    Args:
        norm: a module, [..., D] -> [..., D].
        sublayer: a module, called with x and the other arguments of forward.
        dropout: probability with which an element of the sublayer's output is dropped, in training mode only.
    """

    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        raise NotImplementedError("norm: PostNorm keeps norm and sublayer")

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        """x [..., D] -> [..., D]; all other arguments go to the sublayer."""
        raise NotImplementedError("norm: PostNorm.forward returns the shape of x")


if __name__ == "__main__":
    # Try things out here: `python norm.py`. The grader does not run this part.
    print(LayerNorm(4)(torch.tensor([1.0, 2.0, 3.0, 6.0])))
