"""Learned positions, wherever the learner keeps them: one table, lying on its side, or a parameter for each row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor
from torch.func import functional_call

from grader.api import Answer, Client, Instance, ParameterInfo, own_parameters
from grader.exercises.positions.reference import LEARNED, REFERENCE, namespace


def flat(table: Tensor, parameters: Mapping[str, ParameterInfo]) -> Tensor:
    """The table's numbers in the order in which the learner's parameters hold them."""
    shapes = [[n for n in info.value.shape if n != 1] for info in parameters.values()]
    turned = shapes == [list(table.shape[::-1])] and table.size(0) != table.size(1)
    return (table.T if turned else table).flatten()  # [max_len * D]


def filled(table: Tensor, parameters: Mapping[str, ParameterInfo]) -> dict[str, Tensor]:
    """The table's numbers, as values of the learner's parameters. If those are more, they begin again."""
    numbers, start, values = flat(table, parameters), 0, {}
    total = sum(info.value.numel() for info in parameters.values())
    if total > numbers.numel():
        numbers = numbers.repeat(1 + total // numbers.numel())
    for name, info in parameters.items():
        size = info.value.numel()
        values[name] = numbers[start : start + size].reshape(info.value.shape)  # the learner's shape
        start += size
    return values


def whole(
    parts: Mapping[str, Tensor | None], parameters: Mapping[str, ParameterInfo], table: Tensor
) -> Tensor:
    """The learner's numbers, or their gradients (None: zeros), in the table's shape. `table` gives that shape."""
    ordered = [
        torch.zeros_like(info.value) if (part := parts.get(name)) is None else part
        for name, info in parameters.items()
    ]
    order = flat(torch.arange(table.numel()).view(table.shape), parameters).argsort()
    return torch.cat([part.flatten() for part in ordered])[order].view(table.shape)


class TableOracle:
    """What one of the classes should compute, on the numbers that it has at that moment.

    Args:
        name: the class.
        d_model, max_len: what it was made with.
        parameters: the learner's. Those of `LearnedPositions` are as many numbers as the table has.
    """

    def __init__(
        self, name: str, d_model: int, max_len: int, parameters: Mapping[str, ParameterInfo]
    ) -> None:
        self._module = namespace(REFERENCE)[name](d_model, max_len)
        self._parameters = parameters if name == LEARNED else {}
        self._table = torch.empty(max_len, d_model)

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """The right output on these inputs."""
        output: Tensor = functional_call(self._module, dict(parameters), (*inputs, *masks))
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """The learner's numbers, or their gradients, as one table."""
        return {"table": whole(values, self._parameters, self._table)} if self._parameters else {}


def load(client: Client, instance: Instance, table: Tensor) -> dict[str, str]:
    """Give the learner's parameters the table's numbers, and say how many there are.

    Parameters of another size get the first of the numbers, again and again.
    """
    parameters = own_parameters(instance.parameters())
    total = sum(info.value.numel() for info in parameters.values())
    trained = sum(info.value.numel() for info in parameters.values() if info.requires_grad)
    instance.load(filled(client.cast(table), parameters))
    return {"parameters": str(total), "trainable parameters": str(trained)}


def gradients(client: Client, instance: Instance, x: Tensor, cotangent: Tensor, table: Tensor) -> Answer:
    """Gradients of x and of the table, in the table's shape."""
    outcome = instance.call([client.cast(x)], grad=(0,))
    output = outcome.value
    if not isinstance(output, Tensor) or output.shape != x.shape or outcome.handle is None:
        instance.release(outcome)
        return {"gradients": "none"}
    arrived = instance.backward(outcome, [client.cast(cotangent).to(output.dtype)])
    reached = arrived.inputs.get(0)
    answer: dict[str, Tensor | str] = {
        "gradient of x": torch.zeros_like(output) if reached is None else reached
    }
    parameters = own_parameters(instance.parameters())
    if sum(info.value.numel() for info in parameters.values()) == table.numel():
        answer["gradient of the positions"] = whole(arrived.parameters, parameters, table).to(output.dtype)
    return answer
