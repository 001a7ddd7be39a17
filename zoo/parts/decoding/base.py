"""The base class of decoding strategies."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor

from zoo.parts.decoding.stepper import Stepper


class Decoding(ABC):
    """Chooses the tokens of an answer from what the model makes of those before them."""

    @abstractmethod
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        """
        Args:
            stepper: the model, with the sources it is to answer; `step(tokens)` is what comes next.
            start: the first input of each of B rows, SOS: [B].
            max_len: at most so many tokens are generated.
            eos, pad: token ids of end and padding.

        Returns:
            [B, <= max_len]: without SOS, with EOS, then PAD. A row that never ends has max_len tokens.
        """
