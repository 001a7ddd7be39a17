"""The feed-forward network: it transforms each position independently.

Write the class below, then run

    zoo grade feedforward.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch` and `math`.


1. What it computes                                     "Attention Is All You Need", section 3.3
------------------------------------------------------------------------------------------------------

    FFN(x) = max(0, x W_1 + b_1) W_2 + b_2

Attention mixes positions, and is linear in the values. The feed-forward network then transforms the result
at each position: a linear layer from d_model to d_ff columns (in the paper, from 512 to 2048), the
nonlinearity max(0, .), the ReLU, and a second linear layer back to d_model. Without the nonlinearity, the
two linear layers would be equal to one.

    x        [B, T, D]        D = d_model
    W_1      D -> d_ff        b_1 [d_ff]
    W_2      d_ff -> D        b_2 [D]
    returns  [B, T, D]

It is the same network at every position ("position-wise"), and positions do not interact: the output at
position t depends on x at position t alone. Both layers have a bias.


2. Dropout
------------------------------------------------------------------------------------------------------

With `dropout` > 0, elements of the hidden layer [B, T, d_ff] are dropped at random, after the ReLU and
before the second layer. That is for training: in eval mode nothing is dropped, and the same input gives
the same output each time. The other elements are scaled by 1 / (1 - dropout), as in nn.Dropout.

(The paper applies dropout to the output of a sublayer instead, in its section 5.4. That is part of another
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

The second hidden element is negative, so the row [5, 5] has no effect.


4. Common mistakes
------------------------------------------------------------------------------------------------------

- The activation comes between the two layers, not after the second: the output may be negative.
- The activation is ReLU here. Newer models use smoother ones, which are different functions.
- First to d_ff, then back to d_model. d_ff == d_model hides a mix-up: try sizes that differ.
- No residual sum and no norm: those belong to the layer around this one.
- F.dropout drops in eval mode too, unless it is told that the module is not training.
- Create layers once, in __init__, as attributes of the module; a layer created in forward never learns.
- The input must not be modified in place. The result has the dtype and the device of x.

Attribute names, the order of the layers in __init__, and whether you use nn.Linear or your own matrices,
transposed or not, are free; more arguments with defaults may follow. Module and input have the same
dtype: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class FeedForward(nn.Module):
    """Two linear layers with a ReLU between, as in sections 1 and 2 above.

    Args:
        d_model: width D of the input and the output.
        d_ff: width of the hidden layer.
        dropout: probability with which an element is dropped after the ReLU, in training mode only.
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
