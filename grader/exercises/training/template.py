"""Training: the learning rate, one training step, and a task.

Write the three functions below, then run

    zoo grade training.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch`; `torch.nn.functional.cross_entropy` may be used.


1. The learning rate                                    "Attention Is All You Need", section 5.3
------------------------------------------------------------------------------------------------------

    rate = d_model^-0.5 * min( step^-0.5 , step * warmup^-1.5 )

The rate grows linearly for `warmup` steps, and then falls with the inverse square root of the step. At
step = warmup the two arguments of min are equal. `step` is an integer and starts at 1. With
d_model = 512 and warmup = 4000:

    step        1        2     4000    16000
    rate   1.75e-7  3.49e-7  6.99e-4  3.49e-4

`noam(step, d_model, warmup)` returns it as a Python float.


2. One training step
------------------------------------------------------------------------------------------------------

    train_step(model, optimizer, src, tgt) -> loss, a Python float

    model(src, decoder_input) -> logits [B, L, V]       src ids [B, S]; tgt ids [B, L], EOS at the end, then PAD

Teacher forcing: the decoder gets the right tokens so far, and must predict the next one. So its input is `tgt`
shifted one position to the right, with SOS = 1 in front and without the last id. The logits are compared with
tgt itself:

    tgt             [17, 22,  2,  0]
    decoder input   [ 1, 17, 22,  2]

The loss is the cross-entropy, averaged over the tokens that are not PAD = 0 (one mean over the whole batch,
not one for each row). The step: set the model to train mode, and leave it there; compute the loss, and its
gradients alone, whatever gradients were there before; take exactly one step of the optimizer. Do not clip
gradients or change the learning rate. Return the loss of this batch before the step. Whether gradients are
zero afterwards is free.


3. The task
------------------------------------------------------------------------------------------------------

    reverse_words(words) -> (src, tgt)        both int64 [B, as wide as the longest row]

The task of the zoo is to spell words backwards. a..z are the ids 3..28; PAD 0, SOS 1, EOS 2.

    src    the letters, then PAD
    tgt    the letters in reverse order, EOS, then PAD          (no SOS: see section 2)

    words ["cab", "to"]        src [[ 5,  3,  4],        tgt [[ 4,  3,  5,  2],
                                    [22, 17,  0]]             [17, 22,  2,  0]]

The rows are in the order of the words. Words consist of a..z only.


4. Common mistakes
------------------------------------------------------------------------------------------------------

- If the target is not shifted, the decoder learns to copy it: the loss falls to 0, and nothing is learned.
- Gradients add up in PyTorch until zero_grad is called.
- PAD is easy to predict: if it counts, the loss looks better than it is. cross_entropy has an argument for
  it, whose default is not 0.
- cross_entropy needs logits, not probabilities, and the classes in the second dimension. [B, L, V] viewed
  as [B, V, L] has the right shape and the wrong values; flattening batch and length is safe.
- The mean over rows of means over tokens is not the mean over tokens.
- Reverse the word, not the padded row: PAD comes last on both sides.
- A model that was just evaluated is still in eval mode.

The model may be in float32, float64 or bfloat16.
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
        tgt: ids [B, L], without SOS, with EOS; what the decoder must predict, not its input.

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
