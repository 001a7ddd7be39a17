"""Training: the learning rate, one step, and something to learn.

Write the three functions below, then run

    zoo grade training.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch`; `torch.nn.functional.cross_entropy` may be used.


1. The learning rate                                    "Attention Is All You Need", section 5.3
------------------------------------------------------------------------------------------------------

    rate = d_model^-0.5 * min( step^-0.5 , step * warmup^-1.5 )

The rate rises in a straight line for `warmup` steps, and falls with the root of the step from then on. At
step = warmup the two arguments of min are equal. `step` is a whole number and starts at 1. With
d_model = 512 and warmup = 4000:

    step        1        2     4000    16000
    rate   1.75e-7  3.49e-7  6.99e-4  3.49e-4

`noam(step, d_model, warmup)` returns it as a Python float.


2. One step
------------------------------------------------------------------------------------------------------

    train_step(model, optimizer, src, tgt) -> loss, a Python float

    model(src, decoder_input) -> logits [B, L, V]       src ids [B, S]; tgt ids [B, L], EOS at the end, then PAD

Teacher forcing: the decoder is shown the right beginning, and must say the next token. So its input is `tgt`
moved one place to the right, with SOS = 1 in front and the last id gone. What it says is compared with tgt:

    tgt             [17, 22,  2,  0]
    decoder input   [ 1, 17, 22,  2]

The loss is the cross-entropy, mean over the tokens that are not PAD = 0 (one mean over the whole batch, not
one for each row). The step, in full: model in train mode, where it stays; loss; gradients of this loss
alone, whatever was left there from before; exactly one step of the optimizer. Nothing is clipped, and no
schedule is moved. What is returned is the loss of this batch before the step. Whether gradients are zero
afterwards is free.


3. Something to learn
------------------------------------------------------------------------------------------------------

    reverse_words(words) -> (src, tgt)        both int64 [B, as wide as the longest row]

The task of the zoo is to spell words backwards. a..z are the ids 3..28; PAD 0, SOS 1, EOS 2.

    src    the letters, then PAD
    tgt    the letters in reverse order, EOS, then PAD          (no SOS: see section 2)

    words ["cab", "to"]        src [[ 5,  3,  4],        tgt [[ 4,  3,  5,  2],
                                    [22, 17,  0]]             [17, 22,  2,  0]]

The rows stay in the order given. Words hold a..z only.


4. What people trip over
------------------------------------------------------------------------------------------------------

- A target that is not shifted is a copying task: the loss falls to 0, and nothing has been learned.
- Gradients add up in PyTorch until somebody clears them.
- PAD left in the loss makes it look better than it is: PAD is easy to guess. cross_entropy has an argument
  for it, whose default is not 0.
- cross_entropy wants logits, not probabilities, and classes in the second dimension. [B, L, V] viewed as
  [B, V, L] has the right shape and the wrong numbers; flattening batch and length is safe.
- The mean over rows of means over tokens is not the mean over tokens.
- Reverse the word, not the padded row: PAD comes last on both sides.
- A model evaluated a moment ago is still in eval mode.
"""

import torch
from torch import Tensor, nn


def noam(step: int, d_model: int, warmup: int) -> float:
    """The learning rate of section 1 above.

    Args:
        step: number of the step, the first is 1.
        d_model: width of the model.
        warmup: number of steps for which the rate rises.

    Returns:
        a Python float.
    """
    raise NotImplementedError("training: noam returns the learning rate")


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, src: Tensor, tgt: Tensor) -> float:
    """One step of training on one batch, as in section 2 above.

    Args:
        model: model(src, decoder_input) -> logits [B, L, V].
        optimizer: an optimizer of torch over the model's parameters.
        src: ids [B, S].
        tgt: ids [B, L], without SOS, with EOS; it is the decoder's answer, not its input.

    Returns:
        the loss before the step, a Python float.
    """
    raise NotImplementedError("training: train_step returns the loss")


def reverse_words(words: list[str]) -> tuple[Tensor, Tensor]:
    """Ids of the words, and of the words backwards, as in section 3 above.

    Args:
        words: words of the letters a..z.

    Returns:
        src [B, S] and tgt [B, L], int64, padded with 0 on the right.
    """
    raise NotImplementedError("training: reverse_words returns (src, tgt)")


if __name__ == "__main__":
    # Try things out here: `python training.py`. The grader does not run this part.
    print([noam(step, 512, 4000) for step in (1, 2, 4000, 16000)])
    print(*reverse_words(["cab", "to"]), sep="\n")
