"""The feed-forward network: after looking around, each position thinks for itself.

Write the class below, then run

    zoo grade feedforward.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch` and `math`.


1. What it computes                                     "Attention Is All You Need", section 3.3
------------------------------------------------------------------------------------------------------

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

Attention mixes positions, and mixes them linearly once the shares are known. What a position has
gathered is worked on here: a linear layer makes it wide (d_ff columns, in the paper 2048 for a d_model of
512), max(0, .), the ReLU, bends it, and a second linear layer brings it back to d_model. Without the bend,
the two linear layers would be one.

    x        [B, T, D]        D = d_model
    W_1      D -> d_ff        b_1 [d_ff]
    W_2      d_ff -> D        b_2 [D]
    returns  [B, T, D]

It is the same network at every position ("position-wise"), and no position sees another: what comes out
at position t depends on x at position t alone. Both layers have a bias.


2. Dropout
------------------------------------------------------------------------------------------------------

With `dropout` > 0, numbers of the wide middle [B, T, d_ff] are dropped at random, after the ReLU and
before the second layer. That is for training: in eval mode nothing is dropped, and the same input gives
the same output each time. What is left is scaled by 1 / (1 - dropout), as torch's own dropout does.

(The paper drops the output of a sublayer instead, in its section 5.4. That is another place, and another
exercise, `norm.py`.)


3. A worked example
------------------------------------------------------------------------------------------------------

d_model = 2, d_ff = 3, one position, written as in the formula (rows times matrices):

    x    [2, -1]                W_1  [1, 0, -1]      b_1  [0, 1, 4]
                                     [0, 2,  1]

    x W_1 + b_1                 [2, -1, 1]
    max(0, .)                   [2,  0, 1]

                                W_2  [1, 2]          b_2  [0.5, 0]
                                     [5, 5]
                                     [0, 3]

    output                      [2.5, 7]

The second hidden number was negative, so the row [5, 5] has no say.


4. What people trip over
------------------------------------------------------------------------------------------------------

- The activation stands between the two layers, not behind the second: the output may be negative.
- ReLU, here. Newer models use smoother ones; they are another function.
- First to d_ff, then back to d_model. With d_ff == d_model a mix-up hides: try sizes that differ.
- No residual sum and no norm: those belong to the layer around this one.
- A dropout that asks nobody whether it is training also drops in eval mode.
- Layers are made once, in __init__, as attributes of the module; what is made in forward never learns.
- The input is not changed in place. The result has the dtype and the device of x.

Names, the order in which layers are made, and whether you use ready-made linear layers or matrices of
your own, either way round, are free; further arguments with defaults may follow those named. Module and
input have one dtype: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between, as in sections 1 and 2 above.

    Args:
        d_model: width D of the input and the output.
        d_ff: width of the middle.
        dropout: probability with which a number is dropped after the ReLU, in training mode only.
    """

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        raise NotImplementedError("feedforward: FeedForward makes two linear layers")

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        raise NotImplementedError("feedforward: FeedForward.forward returns [B, T, D]")


if __name__ == "__main__":
    # Try things out here: `python feedforward.py`. The grader does not run this part.
    torch.manual_seed(0)
    print("output", tuple(FeedForward(4, 16)(torch.rand(2, 3, 4)).shape))
