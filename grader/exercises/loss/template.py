"""The loss: the decoder's input, and the loss of its predictions.

Write the two functions below, then run

    zoo grade loss.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch`. You may use `torch.nn.functional.cross_entropy`: this exercise is about how to call it.


1. The decoder's input                                  "Attention Is All You Need", section 3.1
------------------------------------------------------------------------------------------------------

In training, a decoder predicts all tokens at once: position i gets the tokens before token i, and must
predict token i. So its input is the target shifted one position to the right, with SOS (id 1) in front; the
last token is dropped, since nothing follows it. The causal mask does the rest.

    shift_right(target, sos=1)        target ids [B, L]  ->  decoder input ids [B, L], same dtype and device

All other ids stay unchanged, including EOS and PAD.


2. The loss                                             section 3.4; label smoothing: section 5.4
------------------------------------------------------------------------------------------------------

    loss of one token   = - log softmax(logits)[right id]
    sequence_loss       = mean of these over all tokens of the batch that are not PAD

    logits   [B, L, V]        V scores for each position, from the last linear layer: raw, without a
                              softmax; they may be non-contiguous in memory
    target   [B, L]           the ids to predict: the target itself, not shifted
    returns  a scalar tensor [], in the dtype of the logits

PAD (id 0, unless an argument says otherwise) is not a token: positions where the target is PAD are ignored,
both in the sum and in the number that it is divided by. Every token has the same weight, in short and in
long sentences. The result for a batch of PAD only is free.

Label smoothing makes the target less certain. With smoothing e, the target distribution is not probability 1
on the right id k, but (1 - e) on id k, plus e / V on each of the V ids, including the right one and PAD:

    loss of one token   = - sum over ids v of  wanted[v] * log softmax(logits)[v]

That is the argument label_smoothing of `cross_entropy`. Targets that are PAD are still ignored.


3. A worked example
------------------------------------------------------------------------------------------------------

    target [[4, 3, 2, 0]]             shift_right gives [[1, 4, 3, 2]]

    V = 4, one sentence of 3 positions, the last is padding: target [[2, 3, 0]]

    logits                          loss of the token, smoothing 0       smoothing 0.1
    [0, 1, 2, 0]                    0.494                                0.619
    [0, 0, 0, 3]                    0.139                                0.364
    [5, 0, 0, 0]                    (PAD: not counted)                   (not counted)

    sequence_loss                   (0.494 + 0.139) / 2 = 0.317          0.492


4. Common mistakes
------------------------------------------------------------------------------------------------------

- A decoder whose input is the target itself, not shifted, learns to copy: the loss goes to 0, and it cannot
  generate text. If it is shifted the other way, the first token is never learned.
- Shift once. The loss compares with the target unchanged.
- PAD is 0 here; the id that `cross_entropy` ignores by default is -100.
- Divide by the number of tokens that are not PAD: not by the number of sentences, nor by all positions.
- The mean of the sentences' means is another number when sentences differ in length.
- `cross_entropy` takes raw logits; with a softmax before it, the loss cannot get near 0.
- `cross_entropy` needs the vocabulary as the second dimension, or two dimensions in all. A reshape that
  only makes the sizes fit mixes vocabulary and positions.
- exp(2000) is infinite, and so is log(0); the loss must be finite for logits of +-2000. log_softmax
  computes both steps at once, and is finite.
- The arguments must not be modified, and new tensors must be on their device.

How you compute it is free, and more arguments with defaults may follow. Logits may be float32, float64 or
bfloat16.
"""

import torch
from torch import Tensor


def shift_right(target: Tensor, sos: int = 1) -> Tensor:
    """The decoder's input for a target: SOS, then all of its tokens but the last.

    Args:
        target: ids [B, L].
        sos: the id that every row starts with.

    Returns:
        ids [B, L].
    """
    raise NotImplementedError("loss: shift_right returns ids [B, L]")


def sequence_loss(logits: Tensor, target: Tensor, pad: int = 0, smoothing: float = 0.0) -> Tensor:
    """Mean cross-entropy over the tokens that are not padding, as in section 2 above.

    Args:
        logits: [B, L, V], raw.
        target: ids [B, L], not shifted.
        pad: the id that means padding.
        smoothing: label smoothing, from 0 (none) to below 1.

    Returns:
        a scalar tensor, through which the gradient reaches the logits.
    """
    raise NotImplementedError("loss: sequence_loss returns a scalar")


if __name__ == "__main__":
    # Try things out here: `python loss.py`. The grader does not run this part.
    print(shift_right(torch.tensor([[4, 3, 2, 0]])))
