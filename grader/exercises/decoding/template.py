"""Decoding: generating a target, token by token, with a model that predicts the next token.

Write the two functions below, then run

    zoo grade decoding.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch`.


1. The model
------------------------------------------------------------------------------------------------------

    model.encode(src)                 src ids [B, S]            -> memory [B, S, D]
    model.decode(tgt, memory, src)    tgt ids [B, L], the rest  -> logits [B, L, V]

`tgt` contains the tokens so far, starting with SOS. The logits at position i predict the token after position
i, so the last position predicts the next token. The model is in eval mode; if you change its mode, restore it
afterwards. No gradients are needed, so none must be recorded.


2. Greedy decoding
------------------------------------------------------------------------------------------------------

    greedy_decode(model, src, max_len, sos, eos, pad) -> ids [B, <= max_len]

Start with SOS; append the token with the largest logit; repeat. A row ends with its first EOS. Rows of a
batch end at different steps: a row that has ended gets PAD from then on, and the others continue until all
have ended or max_len ids are generated. The result is int64, without SOS, with EOS, and only PAD after EOS.
A row that never ends has exactly max_len ids. Columns at the end that are PAD in every row may stay.

    row 1 generates 7, EOS           result   [[7, 2, 0],
    row 2 generates 5, 6, EOS                  [5, 6, 2]]          with eos=2, pad=0


3. Beam search                                          Wu et al. 2016, arXiv 1609.08144, section 7
------------------------------------------------------------------------------------------------------

The most probable first token need not begin the most probable sentence. So keep the `beam` best hypotheses:
at each step extend each by one token, and of all these keep the `beam` best, by the sum of the
log-probabilities of their ids. Long hypotheses have lower sums, so the final choice uses

    score = sum of log-probabilities / ((5 + n) / 6) ** length_penalty        n = ids generated, EOS included

    log-probabilities   n    length_penalty 0.0     length_penalty 0.6
          -2.0          2          -2.000                 -1.823
          -2.4          5          -2.400                 -1.766           the longer one wins

A hypothesis with EOS is finished: it is not extended, and keeps its place in the beam, with its sum. The
search stops when all hypotheses in the beam are finished, or at max_len. Whether you prune by the sum or by the
score is free; so is whether unfinished hypotheses compete at the end. The result has the form of greedy
decoding, and every row has its own search. With beam=1, it equals greedy decoding.


4. Common mistakes
------------------------------------------------------------------------------------------------------

- The last position of the logits predicts the next token, not the first.
- A row that has ended stays ended, whatever the model predicts for it later.
- One row that ends does not end the batch.
- Ids of SOS, EOS and PAD are arguments. 1, 2 and 0 are only their defaults.
- Sum log-probabilities; logits of different steps cannot be summed.
- A finished hypothesis must not be extended, not even by PAD, and must not be lost while others continue.
- Each hypothesis needs its own row of memory and of src; after pruning, prefixes must match their sums.
- New tensors must be on the device of `src`.

The model may be in float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


def greedy_decode(
    model: nn.Module, src: Tensor, max_len: int, sos: int = 1, eos: int = 2, pad: int = 0
) -> Tensor:
    """The most probable token at each step, as in section 2 above.

    Args:
        model: with encode(src) and decode(tgt, memory, src), as in section 1.
        src: ids [B, S].
        max_len: largest number of ids in a row, EOS included.
        sos: id of the start, which is not part of the result.
        eos: id of the end, which is.
        pad: id that fills a row after its end.

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
    """The best hypothesis of the beam, for each row, as in section 3 above.

    Args:
        model: with encode(src) and decode(tgt, memory, src), as in section 1.
        src: ids [B, S].
        beam: how many hypotheses are kept.
        max_len: largest number of ids in a row, EOS included.
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
