"""Decoding: writing a target, token by token, with a model that only ever says what may come next.

Write the two functions below, then run

    zoo grade decoding.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch`.


1. What the model offers
------------------------------------------------------------------------------------------------------

    model.encode(src)                 src ids [B, S]            -> memory [B, S, D]
    model.decode(tgt, memory, src)    tgt ids [B, L], the rest  -> logits [B, L, V]

`tgt` is what has been written so far, SOS in front. The logits at position i judge what follows position i,
so the next token is judged by the last position. The model is handed in in eval mode; should you set a mode
all the same, leave the model as you found it. No gradient is needed, so none is kept.


2. Greedy decoding
------------------------------------------------------------------------------------------------------

    greedy_decode(model, src, max_len, sos, eos, pad) -> ids [B, <= max_len]

Start with SOS; append the token with the largest logit; ask again. A row ends with its first EOS. Rows of a
batch end at different steps: a row that has ended gets PAD from then on, and the rest goes on until all have
ended or max_len ids are written. The result is int64, without SOS, with EOS, and nothing after EOS but PAD.
A row that never ends has exactly max_len ids. Columns at the end that are PAD in every row may stay.

    row 1 writes 7, EOS              result   [[7, 2, 0],
    row 2 writes 5, 6, EOS                     [5, 6, 2]]          with eos=2, pad=0


3. Beam search                                          Wu et al. 2016, arXiv 1609.08144, section 7
------------------------------------------------------------------------------------------------------

The best first token need not begin the best sentence. So keep the `beam` best hypotheses: at each step
extend each by one token, and of all these keep the `beam` best. A hypothesis is worth the sum of the
log-probabilities of its ids. Long ones have a lower sum, so the final choice is made by

    score = sum of log-probabilities / ((5 + n) / 6) ** length_penalty        n = ids generated, EOS included

    log-probabilities   n    length_penalty 0.0     length_penalty 0.6
          -2.0          2          -2.000                 -1.823
          -2.4          5          -2.400                 -1.766           the longer one wins

A hypothesis with EOS is finished: it grows no further and keeps its place in the beam, with the sum it has.
The search stops when all in the beam are finished, or at max_len. Whether you prune by the sum or by the
score is free; so is whether an unfinished hypothesis competes at the end. The result has the form of greedy
decoding, and every row is searched for itself. With beam=1, it is greedy decoding.


4. What people trip over
------------------------------------------------------------------------------------------------------

- The next token is judged by the last position of the logits, not the first.
- A row that has ended stays ended: what the model says about it later is not written down.
- One row that ends does not end the batch.
- Ids of SOS, EOS and PAD are arguments. 1, 2 and 0 are only their usual values.
- Log-probabilities are sums of logs; logits cannot be added up across steps.
- A finished hypothesis must not be extended, not even by PAD, and must not drop out because others go on.
- Each hypothesis needs its own row of memory and of src; after pruning, the prefixes move with their sums.
- New tensors belong on the device of `src`.
"""

import torch
from torch import Tensor, nn


def greedy_decode(
    model: nn.Module, src: Tensor, max_len: int, sos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    """The most probable next token, again and again, as in section 2 above.

    Args:
        model: with encode(src) and decode(tgt, memory, src), as in section 1.
        src: ids [B, S].
        max_len: most ids a row may get, EOS included.
        sos: id of the start, which is not part of the result.
        eos: id of the end, which is.
        pad: id that fills a row behind its end.

    Returns:
        int64 ids [B, <= max_len].
    """
    raise NotImplementedError("decoding: greedy_decode returns ids [B, <= max_len]")


def beam_search(
    model: nn.Module,
    src: Tensor,
    beam: int,
    max_len: int,
    length_penalty: float = 0.6,
    sos: int = 1,
    eos: int = 2,
    pad: int = 0,
) -> Tensor:
    """The best of the hypotheses that were kept, for each row, as in section 3 above.

    Args:
        model: with encode(src) and decode(tgt, memory, src), as in section 1.
        src: ids [B, S].
        beam: how many hypotheses are kept.
        max_len: most ids a row may get, EOS included.
        length_penalty: the exponent of section 3; 0 compares plain sums.
        sos, eos, pad: as in `greedy_decode`.

    Returns:
        int64 ids [B, <= max_len].
    """
    raise NotImplementedError("decoding: beam_search returns ids [B, <= max_len]")


if __name__ == "__main__":
    # Try things out here: `python decoding.py`. The grader does not run this part.
    class Counter(nn.Module):
        """Says after each token the one that is one lower, down to EOS = 2."""

        def encode(self, src: Tensor) -> Tensor:
            return torch.zeros(*src.shape, 1)

        def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
            following = torch.where(tgt == 1, src[:, :1], tgt - 1).clamp(0, 8)
            return nn.functional.one_hot(following, 9).float()

    print(greedy_decode(Counter(), torch.tensor([[4], [6]]), max_len=8))  # 4 3 2 0 0 and 6 5 4 3 2
