"""Masks: which positions may attend to which.

Write the four functions below, then run

    zoo grade masks.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch`.


1. Why there are masks                                  "Attention Is All You Need", sections 3.1, 3.2.3
------------------------------------------------------------------------------------------------------

Attention lets every position attend to every other. Two cases must be masked:

    padding   Sentences of one batch have different lengths. The short ones are padded with the token PAD
              (id 0, unless an argument says otherwise), which means nothing, so no position may attend to it.
    future    A decoder learns to predict the next token. If it sees later tokens, it only copies them:
              position i may attend to positions up to and including i ("causal").

A mask is a table with a row for each query (the position that attends) and a column for each key.


2. Convention and shape
------------------------------------------------------------------------------------------------------

    boolean    True = may be attended to            False = may not
    additive   0    = may be attended to            -inf  = may not      (it is added to the scores)

The first three functions return boolean masks (dtype torch.bool); the last converts one to an additive
mask. Scores have the shape [B, H, Tq, Tk] (batch, heads, queries, keys). A mask has size 1 in each
dimension along which it is the same, so that it broadcasts:

    padding_mask(tokens, pad=0)           [B, 1, 1, T]    the same for every head and every query
    causal_mask(size, device=None)        [1, 1, T, T]    the same for every sentence and every head
    decoder_mask(tokens, pad=0)           [B, 1, T, T]    causal AND padding: both must allow the key
    to_additive(mask, dtype=float32)      unchanged       exactly 0 and -inf, in the requested dtype

`tokens` are ids [B, T]. PAD may be anywhere in them: at the end, on the left, in the middle, or in a
whole row. Only keys are masked for padding. A PAD that is a query keeps its row like every other, and
its output is ignored later; so a row may have no allowed key (PAD at position 0).


3. A worked example
------------------------------------------------------------------------------------------------------

Three tokens, the last is padding. Rows are queries, columns are keys; 1 is True, . is False:

    tokens [[5, 8, 0]]     padding_mask     causal_mask(3)     decoder_mask
                             1 1 .              1 . .             1 . .
                                                1 1 .             1 1 .
                                                1 1 1             1 1 .      <- the padded query's row

    tokens [[0, 5, 8]]       . 1 1              1 . .             . . .      <- no allowed key: correct
                                                1 1 .             . 1 .
                                                1 1 1             . 1 1

    to_additive of the row [True, True, False]   [0, 0, -inf]


4. Common mistakes
------------------------------------------------------------------------------------------------------

- Other libraries use the opposite convention (True = may not). Here, True = may.
- A causal mask lets a position attend to itself: the diagonal is allowed.
- Which triangle is the past? Row 0 is the first query, which attends to one key only.
- Padding masks the last dimension, the keys. Along the queries' dimension it would mask whole rows, and
  all other queries would still attend to the padded keys.
- Combine two masks with AND, not with OR or ==.
- PAD need not be 0. Ids above and below it are ordinary tokens.
- 1 and 0 as floats are not an additive mask: adding 1 to a score masks nothing. A large negative number
  is not enough here: it must be exactly -inf. Note that 0 times -inf is NaN.
- A new tensor is created on the CPU unless you pass a device. A mask must be on the device of its input;
  `causal_mask` gets a number, so its device is an argument.
- The arguments must not be modified.

How you compute them is free, and more arguments with defaults may follow.
"""

import torch
from torch import Tensor


def padding_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    """Which keys are tokens and not padding.

    Args:
        tokens: ids [B, T].
        pad: the id that means padding.

    Returns:
        bool [B, 1, 1, T], True = may be attended to, on the device of `tokens`.
    """
    raise NotImplementedError("masks: padding_mask returns bool [B, 1, 1, T]")


def causal_mask(size: int, device: torch.device | str | None = None) -> Tensor:
    """Which keys are not in a query's future: position i may attend to 0 .. i.

    Args:
        size: length T.
        device: where the mask is made; None is torch's default device.

    Returns:
        bool [1, 1, T, T], True = may be attended to.
    """
    raise NotImplementedError("masks: causal_mask returns bool [1, 1, T, T]")


def decoder_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    """What a decoder's self-attention may attend to: no later positions, and no padding.

    Args:
        tokens: ids [B, T].
        pad: the id that means padding.

    Returns:
        bool [B, 1, T, T], True = may be attended to, on the device of `tokens`.
    """
    raise NotImplementedError("masks: decoder_mask returns bool [B, 1, T, T]")


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """The same mask in the form that is added to scores: 0 where True, -inf where False.

    Args:
        mask: bool, of any shape, True = may be attended to.
        dtype: the floating-point type of the result.

    Returns:
        `dtype`, of the shape and on the device of `mask`.
    """
    raise NotImplementedError("masks: to_additive returns 0 and -inf, in the shape of the mask")


if __name__ == "__main__":
    # Try things out here: `python masks.py`. The grader does not run this part.
    print(decoder_mask(torch.tensor([[5, 8, 0]]))[0, 0].int())
