"""Not functions but callable objects: shift_right a class with __slots__ around nn.ConstantPad1d, sequence_loss an nn.Module instance."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn


class _ShiftRight:
    __slots__ = ("__name__", "_pads")

    def __init__(self) -> None:
        self.__name__ = "shift_right"
        self._pads: dict[int, nn.Module] = {}

    def __call__(self, target: Tensor, sos: int = 1) -> Tensor:
        if sos not in self._pads:
            # one in front, and one (the last) cut off
            self._pads[sos] = nn.ConstantPad1d((1, -1), sos)
        return self._pads[sos](target)


@dataclass(frozen=True)
class _Options:
    pad: int = 0
    smoothing: float = 0.0

    def criterion(self) -> nn.CrossEntropyLoss:
        return nn.CrossEntropyLoss(ignore_index=self.pad, label_smoothing=self.smoothing, reduction="mean")


class _SequenceLoss(nn.Module):
    def forward(self, logits: Tensor, target: Tensor, pad: int = 0, smoothing: float = 0.0) -> Tensor:
        # classes in the second dimension
        return _Options(int(pad), float(smoothing)).criterion()(logits.permute(0, 2, 1), target)


shift_right = _ShiftRight()
sequence_loss = _SequenceLoss()
