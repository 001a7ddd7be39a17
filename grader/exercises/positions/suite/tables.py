"""Learned positions, wherever the learner keeps them: one table, lying on its side, rows, columns, or pages of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.func import functional_call

from grader.api import (
    Answer,
    Client,
    Instance,
    ParameterInfo,
    SubmissionError,
    own_parameters,
    start_facts,
)
from grader.exercises.positions.reference import LEARNED, REFERENCE, namespace

Construct = Callable[[str, Sequence[Any], Mapping[str, Any]], Instance]


def order_of(construct: Construct, parameters: Mapping[str, ParameterInfo], shape: torch.Size) -> Tensor:
    """Which number of the table each of the learner's is, in the order of the parameters.

    The shape of a single parameter says which way it lies. Where that says nothing, and where there are several, they
    are filled with different numbers, and the object is called with zeros: it gives the table. If that is not all the
    numbers, in some order (of one vector, row by row or column by column), the parameters are taken as rows.

    Args:
        construct: the submission's.
        parameters: of `LearnedPositions`.
        shape: of the table, `[max_len, D]`.
    """
    numbers = torch.arange(shape.numel()).view(shape)
    shapes = [[n for n in info.value.shape if n != 1] for info in parameters.values()]
    columns = numbers.T.flatten()
    if len(shapes) == 1 and len(shapes[0]) > 1:
        return columns if shapes == [list(shape[::-1])] and shape[0] != shape[1] else numbers.flatten()
    if sum(info.value.numel() for info in parameters.values()) == numbers.numel():
        table = _table_of(construct, parameters, numbers)
        if sorted(table.tolist()) == numbers.flatten().tolist():
            order = table.argsort()
            return order if len(shapes) > 1 or torch.equal(order, columns) else numbers.flatten()
    return numbers.flatten()


def _table_of(construct: Construct, parameters: Mapping[str, ParameterInfo], numbers: Tensor) -> Tensor:
    """What an object gives for zeros whose parameters are filled with numbers; empty if that cannot be found out."""
    max_len, d_model = numbers.shape
    try:
        one = construct(LEARNED, (d_model,), {"max_len": max_len})
        one.load(filled(numbers.float(), parameters, numbers.flatten()))
        outcome = one.call([torch.zeros(1, max_len, d_model)])
        one.release(outcome)
        one.close()
    except SubmissionError:  # which is reported where it matters
        return torch.empty(0)
    value = outcome.value
    return value.flatten() if isinstance(value, Tensor) and not value.is_complex() else torch.empty(0)


def filled(table: Tensor, parameters: Mapping[str, ParameterInfo], order: Tensor) -> dict[str, Tensor]:
    """The table's numbers, as values of the learner's parameters. If those are more, they begin again."""
    numbers, start, values = table.flatten()[order], 0, {}
    total = sum(info.value.numel() for info in parameters.values())
    if total > numbers.numel():
        numbers = numbers.repeat(1 + total // numbers.numel())
    for name, info in parameters.items():
        size = info.value.numel()
        values[name] = numbers[start : start + size].reshape(info.value.shape)  # the learner's shape
        start += size
    return values


def whole(
    parts: Mapping[str, Tensor | None],
    parameters: Mapping[str, ParameterInfo],
    order: Tensor,
    shape: torch.Size,
) -> Tensor:
    """The learner's numbers, or their gradients (None: zeros), in the table's shape."""
    ordered = [
        torch.zeros_like(info.value) if (part := parts.get(name)) is None else part
        for name, info in parameters.items()
    ]
    return torch.cat([part.flatten() for part in ordered])[order.argsort()].view(shape)


class TableOracle:
    """What one of the classes should compute, on the numbers that it has at that moment.

    Args:
        name: the class.
        d_model, max_len: what it was made with.
        parameters: the learner's. Those of `LearnedPositions` are as many numbers as the table has.
        order: of them, if they are learned.
    """

    def __init__(
        self,
        name: str,
        d_model: int,
        max_len: int,
        parameters: Mapping[str, ParameterInfo],
        order: Tensor | None = None,
    ) -> None:
        self._module = namespace(REFERENCE)[name](d_model, max_len)
        self._parameters, self._order = parameters, order
        self._shape = torch.Size((max_len, d_model))

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """The right output on these inputs."""
        output: Tensor = functional_call(self._module, dict(parameters), (*inputs, *masks))
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """The learner's numbers, or their gradients, as one table."""
        if self._order is None:
            return {}
        return {"table": whole(values, self._parameters, self._order, self._shape)}


def load(client: Client, instance: Instance, table: Tensor) -> dict[str, str]:
    """Give the learner's parameters the table's numbers, and say how many there are.

    Parameters of another size get the first of the numbers, again and again.
    """
    parameters = own_parameters(instance.parameters())
    total = sum(info.value.numel() for info in parameters.values())
    trained = sum(info.value.numel() for info in parameters.values() if info.requires_grad)
    order = order_of(client.submission.construct, parameters, table.shape)
    instance.load(filled(client.cast(table), parameters, order))
    return {"parameters": str(total), "trainable parameters": str(trained), **start_facts(parameters)}


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
        order = order_of(client.submission.construct, parameters, table.shape)
        arrived_at = whole(arrived.parameters, parameters, order, table.shape)
        answer["gradient of the positions"] = arrived_at.to(output.dtype)
    return answer
