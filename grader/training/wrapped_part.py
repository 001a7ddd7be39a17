"""A learner's class as a part of the judge's model: its weights found, its calls watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call

from grader.core.failures import Failed
from grader.core.submission import Instance, Submission
from grader.engine.readings import Reading, Wanted, readings, written
from grader.sandbox.remote import RemoteInstance
from grader.training.proxy import RemoteModule
from grader.training.spotcheck import SpotChecked, how_far


class ReferenceOracle:
    """Computes what the part should: the reference's own class, with the current weights.

    Args:
        module: the reference's, its parameters called as `wanted` with "_" for ".".
        wanted: the parameters.
        reading: where the learner keeps them.
    """

    def __init__(self, module: nn.Module, wanted: Sequence[Wanted], reading: Reading) -> None:
        self._module, self._reading = module, reading
        self._shapes = {one.name: one.shape for one in wanted}

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """The right output on these inputs."""
        named = {name.replace(".", "_"): value for name, value in parameters.items()}
        output: Tensor = functional_call(self._module, named, (*inputs, *masks))
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """The learner's parameters, or their gradients, under the reference's names."""
        return {
            name: slot.read(value, self._shapes[name])
            for name, slot in self._reading.items()
            if (value := slot.find(values)) is not None
        }


def wrapped_part(
    component: Submission,
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    reference: nn.Module,
    wanted: Sequence[Wanted],
    initial: Mapping[str, Tensor],
    *,
    title: str,
    steps: int,
) -> SpotChecked:
    """An instance of the learner's class `name`, with the judge's weights in it, to stand in a model that is trained.

    Args:
        args, kwargs: what it is constructed with, the model's width first.
        reference: the reference's instance of the same sizes, in train mode as the learner's.
        initial: values for the wanted parameters.
        title: what it is, in words.
        steps: training steps to come.

    Raises:
        Failed: its parameters are not those wanted.
    """
    instance = component.construct(name, args, kwargs)
    found = readings(instance.parameters(), wanted)
    missing = [one.name for one in wanted if one.name not in found[0] and not one.optional]
    if missing:
        raise Failed(
            f"{', '.join(missing)} cannot be found among the parameters of {name}. See the other failed tests."
        )
    reading = _confirmed(instance, found, wanted, reference, args[0])
    instance.load(written(reading, initial))
    part = RemoteModule(cast(RemoteInstance, instance), name)  # a training test needs a worker
    return SpotChecked(part, part.names, ReferenceOracle(reference, wanted, reading), title, steps)


def _confirmed(
    instance: Instance, found: Sequence[Reading], wanted: Sequence[Wanted], reference: nn.Module, d_model: int
) -> Reading:
    """The first reading in which the learner's instance gives what the reference gives; the likeliest if none does."""
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, d_model, generator=generator)
    weights = {one.name: torch.randn(one.shape, generator=generator) for one in wanted}
    for reading in found if len(found) > 1 else ():
        oracle = ReferenceOracle(reference.eval(), wanted, reading)
        expected = oracle.forward([x], [], {name: weights[name] for name in reading}).detach()
        instance.train(False)
        instance.load(written(reading, weights))
        outcome = instance.call([x])
        instance.release(outcome)
        reference.train()
        instance.train(True)
        got = outcome.value
        fits = isinstance(got, Tensor) and (got.shape, got.dtype) == (expected.shape, expected.dtype)
        if fits and not how_far([(got, expected)]):
            return reading
    return found[0]
