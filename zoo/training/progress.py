"""The progress of a training."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Progress:
    """Counts and sums of a training; with the weights, the optimizer and the random numbers all that it needs to go on.

    Attributes:
        epoch: epochs done.
        done: steps of the present epoch that are done.
        step: steps done in all.
        loss, tokens: of the present epoch so far: the sum of the losses of its target tokens, and their number.
        best: highest BLEU on the validation text so far, and `best_epoch` when it was; -1 and 0 before the first.
        seconds: wall time of the training so far, interruptions left out.
        finished: whether it has come to its end, early or not.
    """

    epoch: int = 0
    done: int = 0
    step: int = 0
    loss: float = 0.0
    tokens: int = 0
    best: float = -1.0
    best_epoch: int = 0
    seconds: float = 0.0
    finished: bool = False

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `Progress(**object)` reads it back."""
        return asdict(self)
