"""Positions: attention sees a set; this tells it what stands where.

Write the two classes below, then run

    zoo grade positions.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch` and `math`.


1. Why                                                  "Attention Is All You Need", section 3.5
------------------------------------------------------------------------------------------------------

Attention compares contents. Shuffle the words, and every word still gets the same mean of the same
values: "dog bites man" is "man bites dog". So each position t has a vector of its own, as wide as the
embeddings, which is added to whatever stands there:

    forward(x) = x + positions[0 .. T-1]        x [B, T, D], D = d_model; returns [B, T, D]

The same rows are added to every sentence of the batch. x itself comes through as it is: no scaling, and
no dropout, in this exercise.


2. Sinusoids: calculated, not learned                   the same section
------------------------------------------------------------------------------------------------------

    PE(t, 2i)   = sin( t / 10000^(2i / d_model) )       even columns 0, 2, 4, ...
    PE(t, 2i+1) = cos( t / 10000^(2i / d_model) )       odd columns  1, 3, 5, ...

t counts positions and starts at 0; i counts pairs of columns. Each pair is the hand of a clock: the first
turns by 1 radian a position, the next more slowly, the last nearly 10000 times more slowly. Reading all
of them together gives the position, and the step from t to t+k is the same rotation for every t.

If d_model is odd, the last pair has lost its cosine: there is one sine more. d_model in the formula is
still the whole width.

Sinusoids do not train. Keep the table as a buffer (persistent or not), or calculate it anew in each
call; but it is never among `parameters()` that require a gradient.


3. Learned positions: a table of numbers                the same section, its row (E) of Table 3
------------------------------------------------------------------------------------------------------

The other way is to make no plan at all: max_len rows of d_model numbers, trained like any weight, where
position t is row t. Exactly max_len x d_model trained numbers; what they are at the start is free. The
paper found both ways equally good; only the first knows positions that were never trained.


4. A worked example
------------------------------------------------------------------------------------------------------

The first three rows of sinusoids, which is what comes out for x = 0:

               d_model = 4                           d_model = 5
    t = 0      [0.000,  1.000, 0.000, 1.000]         [0.000,  1.000, 0.000, 1.000, 0.000]
    t = 1      [0.841,  0.540, 0.010, 1.000]         [0.841,  0.540, 0.025, 1.000, 0.001]
    t = 2      [0.909, -0.416, 0.020, 1.000]         [0.909, -0.416, 0.050, 0.999, 0.001]

Do one number by hand: t = 2, column 2, d_model = 4: i = 1, so sin(2 / 10000^(2/4)) = sin(0.02).


5. How long it may be
------------------------------------------------------------------------------------------------------

T may be anything from 1 to max_len. A longer x has no positions: raise ValueError, and say both numbers.


6. What people trip over
------------------------------------------------------------------------------------------------------

- In a loop over the even columns the counter steps by 2 already: it is 2i. Doubling it again makes all
  clocks but the first run wrong.
- A sine and its cosine share one frequency. The cosine has no exponent of its own.
- Sine and cosine alternate, column by column; they are not two halves side by side.
- t is divided by the power, not multiplied; and the logarithm that helps with powers is the natural one.
- In Python, -a / b // c is a floor, and integers handed to torch.arange give integers.
- x is [B, T, D] here. Slicing a table by `x.size(0)` takes the batch for the length: try B != T.
- Row T is one position; the rows up to T are T positions.
- A table with one row broadcasts over any length without a complaint.
- A plain tensor attribute does not move with `.to(...)`; a buffer does. A Parameter trains.
- The input is not changed in place. The result has the dtype and the device of x.

Names inside are free, and further arguments with defaults may follow those named. Module and input have
one dtype: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class SinusoidalPositions(nn.Module):
    """x plus sinusoids, as in section 2 above. It has nothing to train.

    Args:
        d_model: width D, even or odd.
        max_len: largest length T; a longer input is a ValueError.
    """

    def __init__(self, d_model: int, max_len: int = 5000) -> None:
        super().__init__()
        raise NotImplementedError("positions: SinusoidalPositions prepares sines and cosines")

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> x + sinusoids, [B, T, D]. Raises ValueError if T > max_len."""
        raise NotImplementedError("positions: SinusoidalPositions.forward returns [B, T, D]")


class LearnedPositions(nn.Module):
    """x plus a trained vector for each position, as in section 3 above.

    Args:
        d_model: width D.
        max_len: largest length T and number of rows; a longer input is a ValueError.
    """

    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        raise NotImplementedError("positions: LearnedPositions makes max_len x d_model trained numbers")

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> x + rows 0 .. T-1 of the table, [B, T, D]. Raises ValueError if T > max_len."""
        raise NotImplementedError("positions: LearnedPositions.forward returns [B, T, D]")


if __name__ == "__main__":
    # Try things out here: `python positions.py`. The grader does not run this part.
    print(SinusoidalPositions(4)(torch.zeros(1, 3, 4)))
