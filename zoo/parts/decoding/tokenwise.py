"""The base class of decodings that choose one token per step for good."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor

from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.stepper import Stepper


class TokenwiseDecoding(Decoding):
    """A token for every row at each step, until every row has ended; variants differ in `choose`."""

    @abstractmethod
    def choose(self, output: Tensor) -> Tensor:
        """The next tokens: what the model's head gives, [B, V], logits or log-probabilities -> [B]."""

    def allowed(self, output: Tensor, so_far: Tensor, eos: int) -> Tensor:
        """Return the allowed scores: output [B, V], with -inf for ids that must not follow the tokens [B, L]."""
        return output

    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        """Arguments and result as in `Decoding`."""
        none = start.new_empty(start.size(0), 0)
        return torch.cat(
            [none, *self.stream(stepper, start, max_len, eos, pad)], dim=1
        )  # L x [B, 1] -> [B, L]

    def stream(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Iterator[Tensor]:
        """Yield the tokens of each step as soon as they are chosen: [B, 1]. Arguments as in `Decoding`."""
        token, ended = start, torch.zeros_like(start, dtype=torch.bool)
        for _ in range(max_len):
            output = stepper.step(token)  # [B, V]
            token = self.choose(self.allowed(output, stepper.tokens[:, 1:], eos)).masked_fill(
                ended, pad
            )  # [B]
            yield token[:, None]
            ended = ended | (token == eos)
            if bool(ended.all()):
                return
