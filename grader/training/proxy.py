"""A module in a worker, as a module of the judge's: it sits in a model and is trained with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from grader.core.submission import Outcome, SubmissionError, tensors
from grader.sandbox.remote import RemoteInstance
from grader.training.replay import LiveCall, Notes, by_name, first_of


class RemoteModule(nn.Module):
    """Mirrors an instance in a worker: the parameters are here, the forward and backward pass there.

    Parameters are sent when they have changed since the last call, which is told by their values.
    Buffers and random numbers stay in the worker.

    Args:
        instance: what to mirror. It is driven through this module from now on.
        title: what it is, in words, for errors.
        gives: the result's shape, from the first argument; the same shape if not said.
        options: names of the last arguments, which are passed on by keyword.

    Attributes:
        names: for each parameter's name here, its name in the worker (dots cannot be kept).
        notes: some of the calls, for `grader.training.replay`.
    """

    def __init__(
        self,
        instance: RemoteInstance,
        title: str = "your class",
        gives: Callable[[Tensor], tuple[int, ...]] = lambda first: tuple(first.shape),
        options: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self._gives, self._options = gives, tuple(options)
        self.names: dict[str, str] = {}
        self._instance, self._title, self.notes = instance, title, Notes(instance, title)
        self._mode: bool | None = None
        self._sent: dict[str, Tensor] = {}
        for name, info in instance.parameters().items():
            own = _free_name(name, self)
            self.names[own] = name
            self.register_parameter(own, nn.Parameter(info.value.clone(), info.requires_grad))

    def forward(self, *arguments: Tensor | None) -> Tensor:
        """The instance's own answer to these arguments; of a tuple, the first element.

        Returns:
            A tensor of the shape that `gives` says, in the dtype of the first argument (float32 for token ids).

        Raises:
            SubmissionError: the instance failed, or gave anything else.
        """
        if self._mode != self.training:
            self._instance.train(self.training)
            self._mode = self.training
        distinct, order = _distinct(arguments)
        parameters = list(self._parameters.values())
        leaves = [x for x in (*distinct, *parameters) if x is not None and x.requires_grad]
        if not torch.is_grad_enabled() or not leaves:
            return self._ask(distinct, order, [], record=False).output
        return _RemoteCall.apply(self, order, len(distinct), *distinct, *parameters)  # type: ignore[no-any-return, no-untyped-call]

    def _ask(
        self, distinct: Sequence[Tensor], order: Sequence[int | None], grad: list[int | str], *, record: bool
    ) -> _Answered:
        """Call the instance on the distinct tensors, in their order."""
        arguments = [None if i is None else distinct[i] for i in order]
        positional, named = by_name(arguments, self._options)
        changed = self._changed()
        values = {self.names[name]: value for name, value in changed.items()}
        outcome = self._instance.call(positional, named, grad=grad, record=record, watch=False, values=values)
        self._sent |= changed
        first = arguments[0]
        assert first is not None
        output = self._checked(outcome, first)
        call = LiveCall(
            self.notes.count(record),
            self.training,
            [_stored(x, record) for x in distinct],
            list(order),
            {self.names[name]: value for name, value in self._sent.items()},
            grad,
            record,
            _stored(output, record),
            self._options,
        )
        self.notes.add(call)
        return _Answered(output, outcome, call)

    def _changed(self) -> dict[str, Tensor]:
        """Copies of the parameters that are not in the worker as they are here."""
        return {
            name: parameter.detach().clone()
            for name, parameter in self._parameters.items()
            if parameter is not None and not _same(self._sent.get(name), parameter)
        }

    def _checked(self, outcome: Outcome, first: Tensor) -> Tensor:
        value, shape = outcome.value, torch.Size(self._gives(first))
        dtype = first.dtype if first.is_floating_point() else torch.float32
        value = first_of(value)
        expected = f"{list(shape)} of {dtype} on {first.device.type}"
        if not isinstance(value, Tensor):
            got = getattr(value, "type_name", "None" if value is None else type(value).__name__)
            raise SubmissionError(
                "protocol", f"In a model, {self._title} must give a tensor {expected}, and gave {got}."
            )
        if (value.shape, value.dtype, outcome.devices[0]) != (
            shape,
            dtype,
            self._instance.device,
        ):
            got = f"{list(value.shape)} of {value.dtype} on {outcome.devices[0]}"
            raise SubmissionError(
                "protocol", f"In a model, {self._title} must give a tensor {expected}, and gave {got}."
            )
        return value.to(first.device)


@dataclass
class _Answered:
    """An answer: its tensor, all of it, and the note of it."""

    output: Tensor
    outcome: Outcome
    call: LiveCall


class _RemoteCall(torch.autograd.Function):
    """One call, with its gradients: a tensor that is query, key and value at once has one gradient."""

    @staticmethod
    def forward(
        ctx: Any, module: RemoteModule, order: list[int | None], count: int, *given: Tensor
    ) -> Tensor:
        distinct = given[:count]
        ctx.wanted = [i for i in range(count) if ctx.needs_input_grad[3 + i]]
        grad: list[int | str] = [order.index(i) for i in ctx.wanted]
        answered = module._ask(distinct, order, grad, record=True)
        output = answered.output.detach()  # what ctx holds would keep ctx, and the graph, for ever
        ctx.outcome, ctx.call = answered.outcome, answered.call
        ctx.module, ctx.order, ctx.count, ctx.place = module, order, count, given[0].device
        if ctx.outcome.handle is None:
            ctx.mark_non_differentiable(output)
        return output

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, cotangent: Tensor) -> tuple[Tensor | None, ...]:
        module: RemoteModule = ctx.module
        unused = len(tensors(ctx.outcome.value)) - 1
        found = module._instance.backward(ctx.outcome, [cotangent, *[None] * unused])
        call: LiveCall = ctx.call
        call.cotangent = cotangent.detach().clone()  # torch may make it a parameter's gradient, which changes
        call.input_gradients, call.parameter_gradients = found.inputs, found.parameters
        inputs: list[Tensor | None] = [None] * ctx.count
        for i in ctx.wanted:
            inputs[i] = found.inputs[ctx.order.index(i)]
        parameters = [found.parameters.get(name) for name in module.names.values()]
        gradients = [None if x is None else x.to(ctx.place) for x in (*inputs, *parameters)]
        return (None, None, None, *gradients)


def _distinct(arguments: Sequence[Tensor | None]) -> tuple[list[Tensor], list[int | None]]:
    """Each different tensor once, and which of them stands at which place."""
    found: dict[int, Tensor] = {}
    for tensor in arguments:
        if tensor is not None:
            found.setdefault(id(tensor), tensor)
    places = {key: place for place, key in enumerate(found)}
    return list(found.values()), [None if tensor is None else places[id(tensor)] for tensor in arguments]


def _stored(tensor: Tensor, recorded: bool) -> Tensor:
    """The tensor for later: in training nothing is changed in place, in decoding a cache may be."""
    return tensor.detach() if recorded else tensor.detach().clone()


def _same(sent: Tensor | None, parameter: Tensor) -> bool:
    """By value: a fused optimizer step on the CPU leaves the version counter as it was."""
    return sent is not None and sent.device == parameter.device and torch.equal(sent, parameter)


def _free_name(name: str, module: nn.Module) -> str:
    """A name without dots that no parameter nor other attribute of `module` has."""
    own = name.replace(".", "__")
    while hasattr(module, own):
        own += "_"
    return own
