"""The initialization of torch's own modules."""

from __future__ import annotations

from torch import Tensor

from zoo.parts.init.base import Init


class TorchInit(Init):
    """U(-a, a) with a = 1/sqrt(fan_in), for matrices and biases: what nn.Linear draws. Tables keep their own.

    nn.Linear says kaiming_uniform with a = sqrt(5), which is the same.
    """

    def matrix(self, name: str, value: Tensor) -> None:
        """Fill the weight [out, in], in place."""
        value.uniform_(-(value.size(1) ** -0.5), value.size(1) ** -0.5)

    def bias(self, name: str, value: Tensor, fan_in: int) -> None:
        """Fill the bias [out], in place."""
        value.uniform_(-(fan_in**-0.5), fan_in**-0.5)
