"""Spot-checks of a part while a model trains with it: is it still the function that passed the tests?

A part could recognise that it is being trained and decoded with, and answer by another rule there. So a
share of its live calls, forward and backward, is computed again by an oracle on the same inputs and the
parameters of that moment. Which calls is drawn from the operating system's randomness: nobody can know
it beforehand, and whoever computes the right function passes whichever calls are drawn.
"""

from __future__ import annotations

import random
import weakref
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

import torch
from torch import Tensor, nn

from grader.core.failures import Failed, Named

SHARE = 0.05
TOLERANCE = 1e-3  # of the largest number expected; right code was 5e-6 off at most over whole trainings
NEARLY, MOVES = 1e-6, 16  # of the largest input: by how much inputs are moved, and how often, to see kinks

OTHER_RULE = Named(
    "differs-in-training",
    "Inside a model that is being trained, your code returns other results than when it was tested alone.",
    hint="Does a result depend on earlier calls, the batch size, the mode, or a counter?",
)


class Oracle(Protocol):
    """Computes what a part should have computed."""

    def forward(
        self, inputs: Sequence[Tensor], masks: Sequence[Tensor | None], parameters: Mapping[str, Tensor]
    ) -> Tensor:
        """The output, differentiable in `inputs` and `parameters` (those of `comparable`)."""

    def comparable(self, values: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """The part's parameters, or their gradients, brought into the form that `forward` takes."""


@dataclass
class _Answer:
    """What the oracle gave, with its graph: from `inputs` and `parameters` to `output`."""

    inputs: list[Tensor]
    parameters: dict[str, Tensor]
    output: Tensor


@dataclass
class _Call:
    """One live call: what went in, what came out, and what came back.

    `inputs` holds each different tensor once; `order` says which of them stands at which position.
    """

    what: str
    inputs: list[Tensor]
    order: list[int]
    masks: Sequence[Tensor | None]
    parameters: dict[str, Tensor]
    output: Tensor
    oracle: _Answer | None = None
    cotangent: Tensor | None = None
    input_gradients: dict[int, Tensor] = field(default_factory=dict)
    parameter_gradients: dict[str, Tensor | None] = field(default_factory=dict)


class SpotChecked(nn.Module):
    """A part under watch. Call it like the part: tensors first, then bool masks or None; in the end call `settle()`.

    Args:
        part: the part.
        names: for each of the part's own parameter names, the name that the oracle knows.
        oracle: what the part should compute.
        title: which part it is, in words ("the decoder's self-attention").
        steps: training steps to come; the first and the last are always checked.
        share: share of the other calls that is checked.
    """

    def __init__(
        self,
        part: nn.Module,
        names: Mapping[str, str],
        oracle: Oracle,
        title: str,
        steps: int,
        share: float = SHARE,
    ) -> None:
        super().__init__()
        self.inner = part
        self.title, self.checked = title, 0
        self._names, self._oracle, self._steps, self._share = names, oracle, steps, share
        self._random = random.SystemRandom()
        self._calls = {True: 0, False: 0}  # in training, in decoding
        self._open: _Call | None = None
        this = weakref.ref(self)  # torch keeps hooks where no garbage collector looks
        for name, parameter in part.named_parameters():
            if parameter.requires_grad:
                parameter.register_post_accumulate_grad_hook(partial(_gradient_arrived, this, name))

    def forward(self, *arguments: Tensor | None) -> Tensor:
        """The part's own answer. Raises Failed if it, or the call checked before, is not the oracle's."""
        training = torch.is_grad_enabled()
        drawn = self._draw(training)
        if training or drawn:
            self._close()
        inputs = [x for x in arguments if x is not None and x.is_floating_point()]
        masks = arguments[len(inputs) :]
        if training and not drawn:
            return self.inner(*arguments)  # type: ignore[no-any-return]
        given, order = _distinct(inputs)
        output: Tensor = self.inner(*(given[i] for i in order), *masks)
        what = f"In training step {self._calls[True]}" if training else "While spelling words"
        frozen = [x.detach() for x in given]
        call = _Call(f"{what}, {self.title}", frozen, order, masks, self._snapshot(), output.detach())
        if drawn:
            self._compare_forward(call)
        if training:
            _watch(call, given, output)
        self._open = call  # until its gradients are there; in decoding, in case it is the last call
        return output

    def settle(self) -> None:
        """Check what is still open: the gradients of the last call drawn, or the last call. Raises Failed."""
        if self._open is not None and self._open.cotangent is None:
            self._compare_forward(self._open)
        self._close()

    def _draw(self, training: bool) -> bool:
        self._calls[training] += 1
        number = self._calls[training]
        return number == 1 or (training and number == self._steps) or self._random.random() < self._share

    def _snapshot(self) -> dict[str, Tensor]:
        return {self._names[name]: p.detach().clone() for name, p in self.inner.named_parameters()}

    def _keep_gradient(self, name: str, parameter: Tensor) -> None:
        if self._open is not None and parameter.grad is not None:
            self._open.parameter_gradients[self._names[name]] = parameter.grad.detach().clone()

    def _close(self) -> None:
        call, self._open = self._open, None
        if call is not None and call.cotangent is not None:
            self._compare_backward(call)

    def _compare_forward(self, call: _Call) -> None:
        self.checked += 1
        expected = call.oracle = self._ask_oracle(call)
        _compare(f"{call.what} gave another output", [(call.output, expected.output.detach())])

    def _ask_oracle(self, call: _Call, moved: torch.Generator | None = None) -> _Answer:
        """Args: moved: draws by how much inputs are off, as by rounding; None: they are not."""
        inputs = [x.clone() for x in call.inputs]
        for x in inputs if moved is not None else ():
            off = torch.randn(x.shape, generator=moved, dtype=x.dtype).to(x.device)
            x += NEARLY * x.abs().max() * off
        inputs = [x.requires_grad_() for x in inputs]
        parameters = {
            name: parameter.detach().requires_grad_()
            for name, parameter in self._oracle.comparable(call.parameters).items()
        }
        with torch.enable_grad():
            output = self._oracle.forward([inputs[i] for i in call.order], call.masks, parameters)
        return _Answer(inputs, parameters, output)

    def _compare_backward(self, call: _Call) -> None:
        assert call.oracle is not None
        expected = _gradients(call, call.oracle)
        own = self._oracle.comparable(call.parameter_gradients)
        count, of_parameters = len(call.inputs), [own[name] for name in call.oracle.parameters]
        for whose, got, places in (
            ("inputs", list(call.input_gradients.values()), list(call.input_gradients)),
            ("parameters", of_parameters, range(count, len(expected))),
        ):
            pairs = list(zip(got, (expected[i] for i in places), strict=True))
            if how_far(pairs) and how_far(self._beside_kinks(call, pairs, places)):
                _compare(f"{call.what} gave other gradients to its {whose}", pairs)

    def _beside_kinks(
        self, call: _Call, pairs: Sequence[tuple[Tensor, Tensor | None]], places: Sequence[int]
    ) -> list[tuple[Tensor, Tensor | None]]:
        """Gradients, each with the nearest that is right on inputs as near as rounding is.

        Where a ReLU gets almost 0, its slope depends on how right code rounds.
        """
        draws = torch.Generator().manual_seed(0)
        nearest = [torch.zeros_like(got) if x is None else x for got, x in pairs]
        low, high = nearest, nearest
        for _ in range(MOVES):
            found = _gradients(call, self._ask_oracle(call, draws))
            several = [
                torch.zeros_like(x) if (own := found[i]) is None else own
                for i, x in zip(places, low, strict=True)
            ]
            low = [torch.minimum(x, one) for x, one in zip(low, several, strict=True)]
            high = [torch.maximum(x, one) for x, one in zip(high, several, strict=True)]
        got = [one for one, _ in pairs]
        return [(one, one.clamp(a, b)) for one, a, b in zip(got, low, high, strict=True)]


def _gradients(call: _Call, oracle: _Answer) -> Sequence[Tensor | None]:
    """Of an oracle's inputs, then of its parameters, for what came back through the call."""
    assert call.cotangent is not None
    with torch.enable_grad():
        scalar = (oracle.output * call.cotangent).sum()  # a gradient handed to autograd imports sympy
    leaves = [*oracle.inputs, *oracle.parameters.values()]
    return torch.autograd.grad(scalar, leaves, allow_unused=True)


def _gradient_arrived(watcher: weakref.ref[SpotChecked], name: str, parameter: Tensor) -> None:
    """The hook of a parameter: tell of its gradient who still wants to know."""
    if (part := watcher()) is not None:
        part._keep_gradient(name, parameter)


def _distinct(tensors: Sequence[Tensor]) -> tuple[list[Tensor], list[int]]:
    """Views of the tensors, one for each different one, with gradients of their own; and their order."""
    found: dict[int, Tensor] = {}
    for tensor in tensors:
        found.setdefault(id(tensor), tensor)
    positions = list(found)
    return [x.view_as(x) for x in found.values()], [positions.index(id(tensor)) for tensor in tensors]


def _watch(call: _Call, given: Iterable[Tensor], output: Tensor) -> None:
    """Note the gradients that come back through this call, when they come."""

    def keep_cotangent(gradient: Tensor) -> None:
        call.cotangent = gradient.detach()

    if output.requires_grad:
        output.register_hook(keep_cotangent)
    for i, x in enumerate(given):
        if x.requires_grad:
            x.register_hook(lambda gradient, i=i: call.input_gradients.__setitem__(i, gradient.detach()))


def _compare(what: str, pairs: Sequence[tuple[Tensor, Tensor | None]]) -> None:
    """Raise Failed unless got and expected agree."""
    off = how_far(pairs)
    if off:
        raise Failed(
            f"{what} than the reference on the same inputs and weights: {off}.", mistakes=[OTHER_RULE]
        )


def how_far(pairs: Sequence[tuple[Tensor, Tensor | None]], least: float = 0.0) -> str:
    """Return how far got is from expected (None: zeros), or "".

    It is measured by the largest number expected of them all, or by `least` if that is larger. Where the
    rule itself gives NaN or infinity, as after weights that became NaN, there is nothing to compare.
    """
    both = [(got, torch.zeros_like(got) if e is None else e) for got, e in pairs]
    both = [pair for pair in (_where_finite(*pair) for pair in both) if pair[1].numel()]
    scale = max((float(expected.abs().max()) for _, expected in both), default=0.0)
    scale = max(scale, least)
    far = max(
        (float((got - expected).abs().nan_to_num(torch.inf).max()) for got, expected in both), default=0.0
    )
    if far <= TOLERANCE * scale:
        return ""
    return f"up to {far:.2g} off, where the largest number expected is {scale:.2g}"


def _where_finite(got: Tensor, expected: Tensor) -> tuple[Tensor, Tensor]:
    finite = expected.isfinite()
    return (got, expected) if bool(finite.all()) else (got[finite], expected[finite])  # to pick costs more
