"""A learner's class as a part of the judge's model: its weights found, its calls watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch import Tensor, nn
from torch.func import functional_call

from grader.judge.component import Submission
from grader.judge.proxy import RemoteModule
from grader.judge.readings import Reading, Wanted, readings, written
from grader.judge.remote import RemoteInstance
from grader.judge.spotcheck import SpotChecked
from grader.judge.verdict import Failed


class ReferenceOracle:
    """What the part should compute: the reference's own class, on the weights of the moment.

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
            if (value := values.get(slot.own)) is not None
        }


def plugged(
    component: Submission,
    name: str,
    args: Sequence[Any],
    reference: nn.Module,
    wanted: Sequence[Wanted],
    initial: Mapping[str, Tensor],
    *,
    title: str,
    steps: int,
) -> SpotChecked:
    """An instance of the learner's class `name`, with the judge's weights in it, to stand in a model that is trained.

    Args:
        reference: the reference's instance of the same sizes, in train mode as the learner's.
        initial: values for the wanted parameters.
        title: what it is, in words.
        steps: training steps to come.

    Raises:
        Failed: its parameters are not those wanted.
    """
    instance = component.construct(name, args)
    reading = readings(instance.parameters(), wanted)[0]
    missing = [one.name for one in wanted if one.name not in reading and not one.optional]
    if missing:
        raise Failed(
            f"{', '.join(missing)} cannot be found among the parameters of {name}. Other tests say more."
        )
    instance.load(written(reading, initial))
    part = RemoteModule(cast(RemoteInstance, instance), name)  # a training test needs a worker
    return SpotChecked(part, part.names, ReferenceOracle(reference, wanted, reading), title, steps)
