"""Layer normalisation, and its two places: before and after a sublayer.

Write the three classes below, then run

    zoo grade norm.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch` and `math`.


1. Layer normalisation                   Ba et al. 2016, arXiv 1607.06450; used in section 3.1 of the paper
------------------------------------------------------------------------------------------------------

                      x - mean(x)
    x_hat     =  ---------------------          mean and variance over the d_model numbers of one position
                  sqrt(var(x) + eps)

    LayerNorm(x) = gain * x_hat + bias

Sums over many layers make some vectors huge and others tiny. The norm gives every position's vector mean
0 and variance 1 again, whatever its size was, and then lets training choose a scale and a shift for each
column: gain [D] starts at 1, bias [D] at 0, and both are trained.

    x        [..., D]         D = d_model; any number of leading dimensions
    returns  [..., D]

The variance is the biased one: the mean of the squared deviations, divided by D and not by D - 1. eps
stands inside the root. Each position is normed by itself; sentences and positions never meet.

The result is finite also for a row of equal numbers (its variance is 0; that is what eps is for), for
numbers that are large and close together (near 10000, say), and in bfloat16, which keeps 3 digits or less.


2. A worked example
------------------------------------------------------------------------------------------------------

    x                         [1, 2, 3, 6]       mean 3, variance (4 + 1 + 0 + 9) / 4 = 3.5
    x_hat                     [-1.069, -0.535, 0.000, 1.604]
    gain [1, 1, 2, 1],
    bias [0, 0, 0, 10]        [-1.069, -0.535, 0.000, 11.604]


3. Where it stands: post-norm and pre-norm              section 3.1; pre: Xiong et al. 2020, arXiv 2002.04745
------------------------------------------------------------------------------------------------------

Around each sublayer f (attention, or feed-forward) stand a residual sum, a norm and a dropout:

    post    norm(x + drop(f(x)))            as in the paper: the sum is normed
    pre     x + drop(f(norm(x)))            newer: the sublayer's input is normed, the stream x never is

In deep stacks pre-norm trains more easily, since x passes through all layers untouched.
Dropout falls on the sublayer's output, before the sum, and in training mode only (section 5.4); what is
left is scaled by 1 / (1 - dropout), as torch's own dropout does.

`PreNorm(norm, sublayer, dropout)` and `PostNorm(norm, sublayer, dropout)` are handed two ready-made
modules. Register these themselves, not copies of them; each is called exactly once in a forward pass. `norm`
is called with one tensor. `sublayer` gets its input first, then whatever else `forward` was given:

    forward(x, *args, **kwargs)  ->  sublayer(input, *args, **kwargs)

A worked example, with a sublayer that squares each number, a fresh LayerNorm, and x = [1, 2, 3, 6]:

    post    x + f(x) = [2, 6, 12, 42]       output [-0.859, -0.605, -0.223, 1.687]
    pre     f(norm(x)) = [1.143, 0.286, 0.000, 2.571]
                                            output [2.143, 2.286, 3.000, 8.571]


4. What people trip over
------------------------------------------------------------------------------------------------------

- torch's `var` and `std` divide by D - 1 unless they are told otherwise.
- sqrt(var + eps) is not sqrt(var) + eps: for rows that hardly vary they differ by far, and the gradient
  of a root at 0 is infinite.
- mean(x^2) - mean(x)^2 is the variance on paper only: for numbers near 10000 their difference is noise.
- Over the last dimension, and no other. Without a dimension, `mean` takes all numbers of the batch.
- The last dimension must survive the mean, or the subtraction broadcasts along the wrong one.
- gain multiplies and starts at 1, bias is added and starts at 0; both are vectors, not single numbers.
- In pre-norm, what is added to the sublayer's output is x, not the normed x.
- Dropout on the sum also drops x itself.
- Masks reach attention through *args and **kwargs: pass both on.
- The input is not changed in place. The result has the dtype and the device of x.

Names inside are free, and further arguments with defaults may follow those named. Module and input have
one dtype: float32, float64 or bfloat16.
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
        sublayer: a module, called with the normed x and the rest of what forward is given.
        dropout: probability with which a number of the sublayer's output is dropped, in training mode only.
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
        sublayer: a module, called with x and the rest of what forward is given.
        dropout: probability with which a number of the sublayer's output is dropped, in training mode only.
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
