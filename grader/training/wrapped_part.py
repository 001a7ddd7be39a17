"""A learner's class as a part of the judge's model: its weights found, its calls watched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch import Tensor, nn
from torch.func import functional_call

from grader.core.failures import Failed
from grader.core.submission import Instance, Submission
from grader.engine.layout import Layout
from grader.engine.readings import own_parameters
from grader.sandbox.remote import RemoteInstance
from grader.training.proxy import RemoteModule
from grader.training.spotcheck import SpotChecked


class ReferenceOracle:
    """Computes what the part should: the reference's own class, with the current weights.

    Args:
        module: the reference's, its parameters called as those of `found` with "_" for ".".
        found: where the learner keeps them.
    """

    def __init__(self, module: nn.Module, found: Layout) -> None:
        self._module, self._found = module, found

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """The right output on these inputs."""
        named = {name.replace(".", "_"): value for name, value in parameters.items()}
        output: Tensor = functional_call(self._module, named, (*inputs, *masks))
        return output

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """The learner's parameters, or their gradients, under the reference's names."""
        return self._found.read(values)


def wrapped_part(
    component: Submission,
    name: str,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    reference: nn.Module,
    found: Layout,
    initial: Mapping[str, Tensor],
    *,
    title: str,
    steps: int,
) -> SpotChecked:
    """An instance of the learner's class `name`, with the judge's weights in it, to stand in a model that is trained.

    Args:
        args, kwargs: what it is constructed with, the model's width first.
        reference: the reference's instance of the same sizes, in train mode as the learner's.
        found: where the class of these sizes keeps its weights, see `Answers.layout`.
        initial: values for the parameters, by the reference's names.
        title: what it is, in words.
        steps: training steps to come.

    Raises:
        Failed: its parameters are not those wanted.
    """
    missing = [one for one in initial if one not in found.index]
    if missing:
        raise Failed(
            f"{', '.join(missing)} cannot be found among the parameters of {name}. See the other failed tests."
        )
    instance = component.construct(name, args, kwargs)
    load(instance, found, initial)
    part = RemoteModule(cast(RemoteInstance, instance), name)  # a training test needs a worker
    return SpotChecked(part, part.names, ReferenceOracle(reference, found), title, steps)


def load(instance: Instance, found: Layout, weights: Mapping[str, Tensor]) -> None:
    """Give the learner's class these weights, by the reference's names."""
    own = {name: info.value for name, info in own_parameters(instance.parameters()).items()}
    instance.load(found.write(weights, own))
