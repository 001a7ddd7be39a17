"""Learned positions, wherever the learner keeps them: one table, lying on its side, or a parameter for each row."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from grader.judge.component import Instance, ParameterInfo
from grader.judge.desk import Desk
from grader.judge.readings import own_parameters
from grader.judge.scenario import Answer


def flat(table: Tensor, parameters: Mapping[str, ParameterInfo]) -> Tensor:
    """The table's numbers in the order in which the learner's parameters hold them."""
    shapes = [[n for n in info.value.shape if n != 1] for info in parameters.values()]
    turned = shapes == [list(table.shape[::-1])] and table.size(0) != table.size(1)
    return (table.T if turned else table).flatten()  # [max_len * D]


def load(desk: Desk, instance: Instance, table: Tensor) -> dict[str, str]:
    """Give the learner's parameters the table's numbers, and say how many there are.

    Parameters of another size get the first of the numbers, again and again.
    """
    parameters = own_parameters(instance.parameters())
    total = sum(info.value.numel() for info in parameters.values())
    trained = sum(info.value.numel() for info in parameters.values() if info.requires_grad)
    numbers, start, values = desk.given(flat(table, parameters)), 0, {}
    if total > numbers.numel():
        numbers = numbers.repeat(1 + total // numbers.numel())
    for name, info in parameters.items():
        size = info.value.numel()
        values[name] = numbers[start : start + size].reshape(info.value.shape)
        start += size
    instance.load(values)
    return {"parameters": str(total), "trained numbers": str(trained)}


def gradients(desk: Desk, instance: Instance, x: Tensor, cotangent: Tensor, table: Tensor) -> Answer:
    """Gradients of x and of the table, in the table's shape."""
    outcome = instance.call([desk.given(x)], grad=(0,))
    output = outcome.value
    if not isinstance(output, Tensor) or output.shape != x.shape or outcome.handle is None:
        instance.release(outcome)
        return {"gradients": "none"}
    arrived = instance.backward(outcome, [desk.given(cotangent).to(output.dtype)])
    reached = arrived.inputs.get(0)
    answer: dict[str, Tensor | str] = {
        "gradient of x": torch.zeros_like(output) if reached is None else reached
    }
    parameters = own_parameters(instance.parameters())
    if sum(info.value.numel() for info in parameters.values()) == table.numel():
        found = [arrived.parameters.get(name) for name in parameters]
        parts = [
            torch.zeros_like(info.value) if gradient is None else gradient
            for gradient, info in zip(found, parameters.values(), strict=True)
        ]
        order = flat(torch.arange(table.numel()).view(table.shape), parameters).argsort()
        whole = torch.cat([part.flatten() for part in parts])[order].view(table.shape)
        answer["gradient of the positions"] = whole.to(output.dtype)
    return answer
