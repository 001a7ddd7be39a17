"""Live calls put once more, in another order, to the same code in a fresh process: does the same come back?

A part can hide what it does in a live model behind a counter, a batch it has seen, or anything else that survives
from one call to the next. So some calls of every module that is mirrored (`grader.training.proxy`) are noted, drawn by
the operating system's randomness; the first and the last of training and of decoding are among them. When the model
has been trained and has spelled its words, they are put to the submission in a worker that has seen none of it.

And a part can know a live model by its large batches. So a few rows of each of these calls are put to it alone, which
must give the same rows of the answer: nothing that is asked for here looks from one row to another. The new process
must not be known by what is asked of it either: whole calls and rows come mixed, and rows first, as the tests begin
with small batches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from grader.core.failures import Failed, Named
from grader.core.submission import SubmissionError, tensors
from grader.sandbox.remote import RemoteInstance, RemoteSubmission
from grader.training.spotcheck import how_far

KEPT = 6  # calls in training, and as many in decoding, beside the first and the last
MOST_ROWS = 3

OTHER_ANSWER = Named(
    "depends-on-earlier-calls",
    "Inside a model, the results of your code depend on earlier calls: with the same inputs and weights it returns "
    "something else in a new process.",
    hint="What does your code store from one call to the next: an attribute of self, a global, a counter, a cache?",
)

OTHER_ROWS = Named(
    "depends-on-the-batch",
    "Inside a model, your code returns another result for a row of a batch than for the same row in a smaller batch.",
    hint="What uses x.size(0), or a mean, a maximum or a length over the whole batch?",
)


@dataclass
class LiveCall:
    """A call that a model made: what went in, what came out, and, in training, what came back.

    Attributes:
        inputs: each different tensor once; `order` says which of them stands at which position (None: None).
            In training they share the model's memory, where nothing is changed in place.
        values: all parameters of that moment.
        grad: positions of the inputs whose gradients were asked for, "[]" where none were.
        recorded: whether a backward pass could follow.
        options: names of the last arguments, which are passed by keyword.
    """

    what: str
    training: bool
    inputs: list[Tensor | None]
    order: list[int | None]
    values: Mapping[str, Tensor]
    grad: list[int | str]
    recorded: bool
    output: Tensor
    options: Sequence[str] = ()
    cotangent: Tensor | None = None
    input_gradients: dict[int | str, Tensor | None] = field(default_factory=dict)
    parameter_gradients: dict[str, Tensor | None] = field(default_factory=dict)

    @property
    def has_rows(self) -> bool:
        """Whether some can be asked for alone; inputs whose rows are no batch's are handed over whole."""
        masks = (one for one in self.inputs if one is not None and one.dtype == torch.bool)
        return self.output.size(0) > 1 and all(mask.dim() > 2 for mask in masks)


def by_name(
    arguments: Sequence[Tensor | None], options: Sequence[str]
) -> tuple[list[Tensor | None], dict[str, Tensor | None]]:
    """Arguments by position, and the last of them by the names of these options."""
    required = len(arguments) - len(options)
    return list(arguments[:required]), dict(zip(options, arguments[required:], strict=True))


def first_of(value: Any) -> Any:
    """The result of a call; of several results, the first."""
    return value[0] if isinstance(value, (tuple, list)) and value else value


Ask = Callable[[RemoteInstance, LiveCall, str], None]


class Notes:
    """Some of the calls of one module: the first, the last, and a fair draw of the others.

    Args:
        instance: the module, in its worker.
        title: what it is, in words, for errors.
    """

    def __init__(self, instance: RemoteInstance, title: str) -> None:
        self.instance, self.title = instance, title
        self._random = random.SystemRandom()
        self._seen = {True: 0, False: 0}  # in training, in decoding
        self._kept: dict[tuple[bool, str], LiveCall] = {}

    def count(self, recorded: bool) -> str:
        """Announce a call; return its description."""
        self._seen[recorded] += 1
        return (
            f"training step {self._seen[True]}" if recorded else f"call {self._seen[False]} without gradients"
        )

    def add(self, call: LiveCall) -> None:
        """Keep the call for now, perhaps for good."""
        kind, number = call.recorded, self._seen[call.recorded]
        self._kept[kind, "first" if number == 1 else "last"] = call
        slot = number - 1 if number <= KEPT else self._random.randrange(number)
        if slot < KEPT:
            self._kept[kind, str(slot)] = call

    def began_with(self, call: LiveCall) -> bool:
        """Return whether it was the first call, in training or in decoding."""
        return any(self._kept.get((kind, "first")) is call for kind in (True, False))

    def calls(self) -> list[LiveCall]:
        """Return what was kept, each call once."""
        return list({id(call): call for call in self._kept.values()}.values())


def replay(model: nn.Module) -> int:
    """Put the calls noted of all mirrored modules of `model` to a fresh process, shuffled. How many there were.

    Modules whose submission cannot be opened again (there is no `again`) are left out.

    Raises:
        Failed: another answer came back, or other gradients, or another one to some of the rows.
        SubmissionError: the code fails there, where it did not in the model.
    """
    found = [vars(module).get("notes") for module in model.modules()]
    noted = [(notes, call) for notes in found if isinstance(notes, Notes) for call in notes.calls()]
    again = noted[0][0].instance.made.submission.again if noted else None
    if again is None:
        return 0
    fresh = again()
    fresh.first_calls = noted[0][0].instance.made.submission.first_calls
    try:
        made: dict[int, RemoteInstance] = {}
        for ask, notes, call in _in_an_order_of_their_own(noted):
            instance = _remade(notes.instance, fresh, made)
            try:
                ask(instance, call, notes.title)
            except Failed:
                _repeat(instance, call, notes.title)  # if the whole call has another answer too, say that
                raise
    finally:
        fresh.close()
    return len(noted)


def _in_an_order_of_their_own(
    noted: Sequence[tuple[Notes, LiveCall]],
) -> Iterator[tuple[Ask, Notes, LiveCall]]:
    """Each call whole, and some of its rows: rows first of all, and late what was first live."""
    draw = random.SystemRandom()
    steps = [(ask, *pair) for pair in noted for ask in (_repeat, _put_rows)]
    draw.shuffle(steps)
    steps.sort(key=lambda step: step[0] is _repeat and step[1].began_with(step[2]))
    first = next((n for n, (ask, _, call) in enumerate(steps) if ask is _put_rows and call.has_rows), 0)
    yield steps[first]
    yield from steps[:first]
    yield from steps[first + 1 :]


def _remade(value: Any, submission: RemoteSubmission, made: dict[int, RemoteInstance]) -> Any:
    """The same instance in another process, with all that it was made of."""
    if isinstance(value, (list, tuple)):
        return type(value)(_remade(one, submission, made) for one in value)
    if not isinstance(value, RemoteInstance):
        return value
    if value.number not in made:
        origin = value.made
        make = submission.part if origin.part else submission.construct
        args = [_remade(one, submission, made) for one in origin.args]
        kwargs = {name: _remade(one, submission, made) for name, one in origin.kwargs.items()}
        made[value.number] = make(origin.name, args, kwargs)
    return made[value.number]


def _repeat(instance: RemoteInstance, call: LiveCall, title: str) -> None:
    instance.train(call.training)
    positional, named = by_name([None if i is None else call.inputs[i] for i in call.order], call.options)
    outcome = instance.call(
        positional, named, grad=call.grad, record=call.recorded, watch=False, values=call.values
    )
    value = first_of(outcome.value)
    what = f"{_capital(title)} was called again with the inputs of {call.what}: in a new process it returned"
    if not isinstance(value, Tensor) or value.shape != call.output.shape or value.dtype != call.output.dtype:
        raise Failed(f"{what} something of another kind.", mistakes=[OTHER_ANSWER])
    _compare(f"{what} another output", [(call.output, value)])
    if call.cotangent is None:
        instance.release(outcome)
        return
    if outcome.handle is None:
        raise SubmissionError("protocol", f"{what} a result without gradient.")
    _put_backward(instance, outcome, call, what)


def _put_backward(instance: RemoteInstance, outcome: Any, call: LiveCall, what: str) -> None:
    unused: Sequence[None] = [None] * (len(tensors(outcome.value)) - 1)
    found = instance.backward(outcome, [call.cotangent, *unused])
    inputs = [
        (got, found.inputs.get(place)) for place, got in call.input_gradients.items() if got is not None
    ]
    _compare(f"{what} other gradients to its inputs", inputs)
    own = [
        (got, found.parameters.get(name)) for name, got in call.parameter_gradients.items() if got is not None
    ]
    _compare(f"{what} other gradients to its parameters", own)


def _put_rows(instance: RemoteInstance, call: LiveCall, title: str) -> None:
    """Ask for some rows alone, where it has rows."""
    batch = call.output.size(0)
    if not call.has_rows:
        return
    instance.train(call.training)
    draw = random.SystemRandom()
    rows = torch.tensor(sorted(draw.sample(range(batch), draw.randint(1, min(batch - 1, MOST_ROWS)))))
    some = [one if one is None or one.size(0) != batch else one[rows.to(one.device)] for one in call.inputs]
    positional, named = by_name([None if i is None else some[i] for i in call.order], call.options)
    outcome = instance.call(positional, named, record=False, watch=False, values=call.values)
    value = first_of(outcome.value)
    live = call.output[rows.to(call.output.device)]
    what = f"{_capital(title)} was called with {len(rows)} of the {batch} rows of {call.what}: it returned"
    if not isinstance(value, Tensor) or value.shape != live.shape:
        raise Failed(f"{what} something of another kind.", mistakes=[OTHER_ROWS])
    _compare(f"{what} another output", [(live, value)], OTHER_ROWS)


def _capital(title: str) -> str:
    """A title at the beginning of a sentence: names that are code have their capital, or want none."""
    return title.replace("your ", "Your ", 1) if title.startswith("your ") else title


def _compare(what: str, pairs: Sequence[tuple[Tensor, Tensor | None]], mistake: Named = OTHER_ANSWER) -> None:
    """Raise Failed unless live and fresh agree."""
    off = how_far(pairs)
    if off:
        raise Failed(f"{what}: {off}.", mistakes=[mistake])
