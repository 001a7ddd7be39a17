"""The loss: what the decoder is shown, and how its guesses are judged.

Write the two functions below, then run

    zoo grade loss.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch`, and torch's own `torch.nn.functional.cross_entropy` may be used: what is to be learned here is
how to use it.


1. What the decoder is shown                            "Attention Is All You Need", section 3.1
------------------------------------------------------------------------------------------------------

A decoder says the next token, at all positions at once: position i is shown what came before token i, and
must say token i. So its input is the target moved one place to the right, with SOS (id 1) in front; the
last token has nobody left to show it to, and goes. The mask (causal) does the rest.

    shift_right(target, sos=1)        target ids [B, L]  ->  decoder input ids [B, L], same dtype and device

Everything else comes along unchanged, EOS and PAD too.


2. How its guesses are judged                           section 3.4; label smoothing: section 5.4
------------------------------------------------------------------------------------------------------

    loss of one token   = - log softmax(logits)[right id]
    sequence_loss       = mean of these over all tokens of the batch that are not PAD

    logits   [B, L, V]        V numbers for each position, as they leave the last linear layer: raw,
                              no softmax has been taken; they may be non-contiguous in memory
    target   [B, L]           the ids that were to be said: the target itself, not shifted
    returns  a scalar tensor [], in the dtype of the logits

PAD (id 0, unless an argument says otherwise) is no token: positions where the target is PAD count for
nothing, neither in the sum nor in the number that it is divided by. A short sentence's token weighs as
much as a long one's. What comes out if a batch is PAD all over is free.

Label smoothing asks for a little doubt. With smoothing e, the right answer is not "id k with probability
1" but (1 - e) on id k, plus e / V on each of the V ids, the right one and PAD among them:

    loss of one token   = - sum over ids v of  wanted[v] * log softmax(logits)[v]

That is what `cross_entropy` calls label_smoothing. Targets that are PAD still count for nothing.


3. A worked example
------------------------------------------------------------------------------------------------------

    target [[4, 3, 2, 0]]             shift_right gives [[1, 4, 3, 2]]

    V = 4, one sentence of 3 places, the last is padding: target [[2, 3, 0]]

    logits                          loss of the token, smoothing 0       smoothing 0.1
    [0, 1, 2, 0]                    0.494                                0.619
    [0, 0, 0, 3]                    0.139                                0.364
    [5, 0, 0, 0]                    (PAD: not counted)                   (not counted)

    sequence_loss                   (0.494 + 0.139) / 2 = 0.317          0.492


4. What people trip over
------------------------------------------------------------------------------------------------------

- A decoder that is shown the target itself, not shifted, learns to copy: the loss goes to 0, and it can
  say nothing by itself. One shifted the other way learns nothing of the first token.
- Shift once. The loss compares with the target as it is.
- PAD is 0 here; the id that torch's loss ignores by itself is another.
- Divide by the number of tokens that are not PAD: not by the number of sentences, nor by all places.
- A mean of each sentence's mean is another number when sentences differ in length.
- `cross_entropy` takes raw logits; a softmax before it gives a loss that cannot get small.
- `cross_entropy` wants the ids' dimension in second place, or two dimensions altogether. A reshape that
  only makes the sizes fit mixes ids with places.
- exp of a logit of 2000 is infinite, and log of 0 too; the loss must be finite for logits of +-2000. The
  logarithm of a softmax, taken in one step, is.
- The tensors handed in stay as they are, and what is new stands on their device.

How you calculate it is free, and further arguments with defaults may follow those named. Logits come in
float32, float64 or bfloat16.
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
