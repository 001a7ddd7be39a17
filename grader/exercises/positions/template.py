"""Positions: attention does not know the order of its inputs; positions add it.

Write the two classes below, then run

    zoo grade positions.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch` and `math`.


1. Why                                                  "Attention Is All You Need", section 3.5
------------------------------------------------------------------------------------------------------

Attention compares contents only. If the words are shuffled, every word still gets the same mean of the
same values: "dog bites man" is "man bites dog". So each position t has its own vector, as wide as the
embeddings, which is added to the embedding at that position:

    forward(x) = x + positions[0 .. T-1]        x [B, T, D], D = d_model; returns [B, T, D]

The same rows are added to every sentence of the batch. x itself is used unchanged: there is no scaling
and no dropout in this exercise.


2. Sinusoids: computed, not learned                     the same section
------------------------------------------------------------------------------------------------------

    PE(t, 2i)   = sin( t / 10000^(2i / d_model) )       even columns 0, 2, 4, ...
    PE(t, 2i+1) = cos( t / 10000^(2i / d_model) )       odd columns  1, 3, 5, ...

t counts positions and starts at 0; i counts pairs of columns. Each pair rotates like the hand of a clock:
the first by 1 radian per position, the next more slowly, the last nearly 10000 times more slowly. Together
they determine the position, and the step from t to t+k is the same rotation for every t.

If d_model is odd, the last pair has no cosine: there is one more sine. d_model in the formula is still the
full width.

Sinusoids are not trained. Store the table as a buffer (persistent or not), or compute it in each call; it
must not be among the `parameters()` that require a gradient.


3. Learned positions: a trainable table                 the same section, its row (E) of Table 3
------------------------------------------------------------------------------------------------------

The alternative is to learn them: a table of max_len rows, trained like any weight, where position t is
row t. It has exactly max_len x d_model trainable parameters; their initial values are free. The paper found
both ways equally good; only sinusoids extend to positions that did not occur in training.


4. A worked example
------------------------------------------------------------------------------------------------------

The first three rows of sinusoids, which are the output for x = 0:

               d_model = 4                           d_model = 5
    t = 0      [0.000,  1.000, 0.000, 1.000]         [0.000,  1.000, 0.000, 1.000, 0.000]
    t = 1      [0.841,  0.540, 0.010, 1.000]         [0.841,  0.540, 0.025, 1.000, 0.001]
    t = 2      [0.909, -0.416, 0.020, 1.000]         [0.909, -0.416, 0.050, 0.999, 0.001]

Compute one number by hand: t = 2, column 2, d_model = 4: i = 1, so sin(2 / 10000^(2/4)) = sin(0.02).


5. The largest length
------------------------------------------------------------------------------------------------------

T may be anything from 1 to max_len. For a longer x, raise ValueError with both numbers in the message.


6. Common mistakes
------------------------------------------------------------------------------------------------------

- In a loop over the even columns the counter steps by 2 already: it is 2i. If it is doubled again, all
  frequencies but the first are wrong.
- A sine and its cosine have the same frequency: both use 2i in the exponent.
- Sine and cosine alternate, column by column; they are not two halves side by side.
- t is divided by the power, not multiplied; exp and log compute powers only with the natural logarithm.
- In Python, -a / b // c rounds down, and torch.arange of integers gives integers.
- x is [B, T, D] here. `x.size(0)` is the batch size, not the length: try B != T.
- table[T] is one position; table[:T] are T positions.
- A table with one row broadcasts over any length without an error.
- A plain tensor attribute does not move with `.to(...)`; a buffer does. A Parameter is trained.
- The input must not be modified in place. The result has the dtype and the device of x.

Attribute names are free, and more arguments with defaults may follow. Module and input have the same
dtype: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class SinusoidalPositions(nn.Module):
    """x plus sinusoids, as in section 2 above. It has no trainable parameters.

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
    """x plus a learned vector for each position, as in section 3 above.

    Args:
        d_model: width D.
        max_len: largest length T and number of rows; a longer input is a ValueError.
    """

    def __init__(self, d_model: int, max_len: int = 512) -> None:
        super().__init__()
        raise NotImplementedError("positions: LearnedPositions makes max_len x d_model trainable parameters")

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> x + rows 0 .. T-1 of the table, [B, T, D]. Raises ValueError if T > max_len."""
        raise NotImplementedError("positions: LearnedPositions.forward returns [B, T, D]")


if __name__ == "__main__":
    # Try things out here: `python positions.py`. The grader does not run this part.
    print(SinusoidalPositions(4)(torch.zeros(1, 3, 4)))
