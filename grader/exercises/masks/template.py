"""Masks: who may look at whom.

Write the four functions below, then run

    zoo grade masks.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch`.


1. Why there are masks                                  "Attention Is All You Need", sections 3.1, 3.2.3
------------------------------------------------------------------------------------------------------

Attention lets every position look at every other. Two of these looks must be forbidden:

    padding   Sentences of one batch have different lengths. The short ones are filled up with the token
              PAD (id 0, unless an argument says otherwise), which means nothing, so nobody may look at it.
    future    A decoder learns to say the next token. A position that sees later ones need not learn:
              position i may look at positions up to and including i ("causal").

A mask is a table with a row for each query (who looks) and a column for each key (who is looked at).


2. Which way round, and which shape
------------------------------------------------------------------------------------------------------

    boolean    True = may be attended to            False = may not
    additive   0    = may be attended to            -inf  = may not      (it is added to the scores)

The first three functions return boolean masks (dtype torch.bool); the last makes an additive one of a
boolean one. Scores have the shape [B, H, Tq, Tk] (batch, heads, queries, keys), and a mask has a size of
1 wherever it is the same for all, so that it broadcasts:

    padding_mask(tokens, pad=0)           [B, 1, 1, T]    the same for every head and every query
    causal_mask(size, device=None)        [1, 1, T, T]    the same for every sentence and every head
    decoder_mask(tokens, pad=0)           [B, 1, T, T]    causal AND padding: both must allow the look
    to_additive(mask, dtype=float32)      as it was       0 and -inf, exactly, in the dtype asked for

`tokens` are ids [B, T]. PAD may stand anywhere in them: at the end, on the left, in the middle, or in a
whole row. Only keys are masked for padding. A PAD that is a query keeps its row like every other, and
its output is ignored later; so a row may well come out with nothing allowed (PAD at position 0).


3. A worked example
------------------------------------------------------------------------------------------------------

Three tokens, the last is padding. Rows are queries, columns are keys; 1 stands for True, . for False:

    tokens [[5, 8, 0]]     padding_mask     causal_mask(3)     decoder_mask
                             1 1 .              1 . .             1 . .
                                                1 1 .             1 1 .
                                                1 1 1             1 1 .      <- the padded query's row

    tokens [[0, 5, 8]]       . 1 1              1 . .             . . .      <- nothing allowed: that is right
                                                1 1 .             . 1 .
                                                1 1 1             . 1 1

    to_additive of the row [True, True, False]   [0, 0, -inf]


4. What people trip over
------------------------------------------------------------------------------------------------------

- Other libraries have masks the other way round (True = may not). Here, True = may.
- "May not look at the future" still lets a position look at itself: the diagonal is allowed.
- Which triangle is the past? Row 0 is the first query, and it sees one key only.
- The padding belongs to the last dimension, the keys. Along the queries' dimension it hides whole rows,
  and leaves the padded keys to be looked at by everyone else.
- AND of two masks, not OR, and not "both are equal".
- PAD need not be 0. Ids above and below it are ordinary tokens.
- 1 and 0 as floats are no additive mask: adding 1 to a score hides nothing. Nor is a large negative
  number asked for here: -inf, exactly. Mind that 0 times -inf is not 0.
- A new tensor is made on the CPU unless you say where. A mask stands on the device of what it is made of;
  `causal_mask` is made of a number, so it is told its device.
- The tensors handed in stay as they are.

How you build them is free, and further arguments with defaults may follow those named.
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
    """Which keys are not in a query's future: position i may look at 0 .. i.

    Args:
        size: length T.
        device: where the mask is made; None is torch's default device.

    Returns:
        bool [1, 1, T, T], True = may be attended to.
    """
    raise NotImplementedError("masks: causal_mask returns bool [1, 1, T, T]")


def decoder_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    """What a decoder's self-attention may look at: no future, and no padding.

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
