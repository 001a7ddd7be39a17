"""The client of a scenario: one submission, in one dtype, and the ways to construct and call it."""

from __future__ import annotations

import contextlib
import math
import zlib
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import torch
from torch import Tensor

from grader.core.submission import Function as Callee
from grader.core.submission import (
    Gradients,
    Instance,
    Outcome,
    ParameterInfo,
    Submission,
    SubmissionError,
    tensors,
)
from grader.engine.layout import Layout
from grader.engine.projection_names import is_bias_of
from grader.engine.projections import missing, projections
from grader.engine.readings import Wanted, are_computed, are_unusual, own_parameters, readings
from grader.engine.scenario import GRADIENTS
from grader.engine.slope import said_of_gradients
from grader.worker.calls import EARLIER

T = TypeVar("T")
Pick = Callable[[str, Sequence[Layout]], Layout]
"""Chooses among the readings of a component's parameters, the likeliest first."""
FEW = 5  # things in a tuple, to say each


def likeliest(_component: str, found: Sequence[Layout]) -> Layout:
    """The first reading."""
    return found[0]


STARTS = "matrices of weights that get a gradient at first"


class Client:
    """See the module. One a run of a scenario; `close` lets go of what was made.

    Args:
        submission: the learner's file, the reference or a mistake.
        rounding: the scenario's dtype: all numbers are rounded to it first.
        dtype: in which numbers are handed over; float64 for the right answer.
        pick: chooses among the readings of a class's parameters.
        seed: for the random generators where the submission runs.
        free: what the contract leaves free, as the submission has it that this one is compared with.

    Attributes:
        unread, unusual, lacking, idle, free: see `grader.engine.scenario.Observation`.
        projections: where the class that was loaded last keeps its projections.
        gradients: of all parameters, by name, of the last call that went backward.
        calls_before: before each call, make one with other numbers in the same shapes, see `after_a_call`.
        told_apart: whether such a call gave something else.
        only_fit: say of a call no more than whether its gradients fit, see `with_dropped_gradients`.
        fixed_inputs: ask for no gradients of inputs, see `with_fixed_inputs`.
        records: whether calls are made where gradients are recorded, see `under_no_grad`.
        reweighted: before each call, make one with other weights, see `after_other_weights`.
        trained_before: before each call, make one in train mode, see `after_training`.
        refilled: call with the same tensors before, with other numbers in them, see `after_other_numbers`.
        coarse_before: before each call, make one in bfloat16, see `after_another_dtype`.
        only_made: end at the first call, see `made_only`.
        by_position: give by position what a script gives by keyword, see `by_position`.
        given: most tensors that one call was given.
        beside: arguments of another object of each class, made after the one that is asked, see `beside_another`.
        without_floats: whether every float that is an argument is 0 instead.
        given_floats: how many arguments were floats other than 0.
    """

    def __init__(
        self,
        submission: Submission,
        *,
        rounding: torch.dtype = torch.float32,
        dtype: torch.dtype | None = None,
        pick: Pick = likeliest,
        seed: int = 0,
        free: Iterable[tuple[str, Hashable]] | None = None,
    ) -> None:
        self.submission, self.rounding = submission, rounding
        self.dtype = rounding if dtype is None else dtype
        self.unread = self.unusual = self.lacking = False
        self.idle: set[str] = set()
        self._pick, self._seed = pick, seed
        self._made: list[Instance] = []
        self._read: dict[int, Callable[[Mapping[str, Tensor | None]], dict[str, Tensor]]] = {}
        self.free: dict[str, Any] = {}
        self.chosen: dict[str, str | bool] = {}
        self.extra: dict[str, Tensor] = {}
        self._compared = None if free is None else dict(free)
        self.projections = Layout({}, {})
        self.gradients: Mapping[str, Tensor | None] = {}
        self.beside: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None
        self._others: list[Instance] = []
        self.calls_before = self.told_apart = False
        self.only_fit = self.fixed_inputs = self.only_made = self.by_position = False
        self.records, self.reweighted = True, False
        self.trained_before = self.refilled = self.coarse_before = False
        self.given = 0
        self.without_floats = False
        self.given_floats = 0
        submission.seed(seed)

    def seed(self, offset: int = 0) -> None:
        """Seed the random generators where the submission runs."""
        self.submission.seed(self._seed + offset)

    def cast(self, value: Any, made: dict[int, Tensor] | None = None) -> Any:
        """A tree of tensors as they are handed over: floats rounded and in the client's dtype, copies.

        Args:
            made: copies by the id of the original, to which those of this tree are added: a tensor that is given twice,
                as x in `attention(x, x, x)`, is handed over as one.
        """
        made = {} if made is None else made
        if isinstance(value, float) and value:
            self.given_floats += 1
            return 0.0 if self.without_floats else value
        if isinstance(value, Tensor):
            if id(value) not in made:
                made[id(value)] = self._rounded(value).clone()
            return made[id(value)]
        if isinstance(value, dict):
            return {key: self.cast(item, made) for key, item in value.items()}
        items = isinstance(value, (tuple, list))
        return type(value)(self.cast(item, made) for item in value) if items else value

    def _rounded(self, value: Tensor) -> Tensor:
        """Floats rounded and in the client's dtype, all else as it is."""
        as_it_is = value.dtype == self.rounding == self.dtype == torch.float32
        if as_it_is or not value.is_floating_point():
            return value
        return value.to(torch.float32).to(self.rounding).to(self.dtype)

    def function(self, name: str) -> Callee:
        """A function of the submission. Raises SubmissionError if there is none."""
        return self.submission.function(name)

    def make(self, name: str, *args: Any, training: bool = False, **kwargs: Any) -> Instance:
        """Construct a class of the submission, in the client's dtype, in eval mode unless `training`.

        A new module is in train mode, without a call of `train`; so it is left if it has no parts that are not. For
        eval mode it is put in train mode first, as where a trained model is used.
        """
        if self.without_floats:
            args, kwargs = self.cast(args), self.cast(kwargs)
        self.chosen |= {word: value for word, value in kwargs.items() if isinstance(value, (str, bool))}
        made = self._register(self._asked(self.submission.construct, name, args, kwargs))
        if self.beside is not None:
            others, words = self.beside
            other = self.submission.construct(name, others or args, {**kwargs, **words})
            self._others.append(self._register(other))
        if not training:
            made.train(True, False)
        elif any(hasattr(one, "train") for one in (*args, *kwargs.values())):
            made.train(True)
        return made

    def _asked(self, ask: Callable[..., T], *given: Any) -> T:
        """Ask, by position if that is wanted: who takes arguments by keyword alone is asked like that.

        Args:
            given: the arguments of `ask`, last of all those by position, and by keyword.
        """
        *first, args, kwargs = given
        if self.by_position and kwargs:
            try:
                return ask(*first, (*args, *kwargs.values()), {})
            except SubmissionError as error:
                if error.type_name != "TypeError" or "positional argument" not in error.message:
                    raise
        return ask(*first, args, kwargs)

    def part(self, kind: str, *args: Any, weights: Mapping[str, Tensor] | None = None) -> Instance:
        """One of the judge's parts (`grader.worker.parts`), with weights by their names less `judge_`."""
        part = self._register(self.submission.part(kind, args, training=False))
        if weights is not None:
            self.load_part(part, weights)
        return part

    def load_part(self, part: Instance, weights: Mapping[str, Tensor]) -> None:
        """Load a part's weights; "inner.q" is its `inner.judge_q`."""
        named = {}
        for name, value in weights.items():
            home, dot, last = name.rpartition(".")
            named[f"{home}{dot}judge_{last}"] = self.cast(value)
        part.load(named)

    def _register(self, instance: Instance) -> Instance:
        self._made.append(instance)
        if self.dtype != torch.float32:
            instance.to(self.dtype)
        return instance

    def load(
        self, component: str, instance: Instance, wanted: Sequence[Wanted], weights: Mapping[str, Tensor]
    ) -> None:
        """Find the wanted parameters among the learner's own, and load their values.

        Own parameters that are none of them get values too, so that they show.
        """
        own = own_parameters(instance.parameters())
        found = self._pick(component, readings(own, wanted))
        left_out = [one for one in wanted if one.name not in found.index and not one.optional]
        numbers = sum(info.value.numel() for info in own.values())
        self.lacking |= bool(left_out)
        self.idle |= {one.name for one in wanted if one.idle}
        self.unread |= bool(left_out) and (
            numbers == sum(math.prod(one.shape) for one in wanted) or are_computed(own)
        )
        self.extra |= {name: info.value for name, info in own.items() if name not in found.known}
        self.unusual |= are_unusual(own, [one.shape for one in wanted])
        self._fill(instance, found, weights, own)

    def load_projections(
        self, component: str, instance: Instance, width: int, heads: int, weights: Mapping[str, Tensor]
    ) -> Layout:
        """Find the four projections of an attention among the learner's parameters, and load their weights.

        Biases are free: those that the submission does not have, or that `weights` does not give, are 0.
        """
        own = own_parameters(instance.parameters())
        found = self._pick(component, projections(own, width, heads))
        self.projections = found
        biases = frozenset(name for name in found.index if name.endswith("bias"))
        free = self.left_free("biases", biases)
        values = {}
        for name, where in found.index.items():
            value = weights.get(name) if name.endswith("weight") or name in free else None
            if value is None:
                value = torch.zeros(where.shape)
            elif value.shape != where.shape:  # wrong, but the same for all that are wrong in this way
                named = torch.Generator().manual_seed(zlib.crc32(name.encode()))
                value = torch.randn(where.shape, generator=named) * 0.5
            values[name] = value
        biases_of = {name for name, info in own.items() if is_bias_of(name, info.value.shape, width)}
        numbers = sum(info.value.numel() for name, info in own.items() if name not in biases_of)
        lost = missing(found, width)
        self.lacking |= bool(lost)
        self.unread |= bool(lost) and (numbers == 4 * width**2 or are_computed(own))
        self.unusual |= are_unusual(own, [(width, width), (width,)])
        self._fill(instance, found, values, own, zero=biases_of)
        return found

    def _fill(
        self,
        instance: Instance,
        found: Layout,
        weights: Mapping[str, Tensor],
        own: Mapping[str, ParameterInfo],
        zero: Collection[str] = (),
    ) -> None:
        """Load weights by the reference's names; what else there is gets random values, or 0, so that it shows."""
        others = {name: info.value for name, info in own.items()}
        if not found.is_whole:
            extra = torch.Generator().manual_seed(len(own))
            others = {
                name: torch.zeros(value.shape)
                if name in zero or name in found.zeros
                else self.cast(torch.randn(value.shape, generator=extra) * 0.5)
                for name, value in others.items()
            }
        instance.load(found.write({name: self._rounded(value) for name, value in weights.items()}, others))
        self._read[id(instance)] = found.read

    def left_free(self, name: str, value: Any) -> Any:
        """Return what the submission has chosen where the contract leaves a choice.

        The reference and the known mistakes are then asked in the same way: they get the submission's choice.
        """
        if self._compared is not None:
            value = self._compared.get(name, value)
        self.free[name] = value
        return value

    def call(
        self,
        callee: Callee,
        *args: Any,
        grad: Sequence[int | str] = (),
        cotangent: Tensor | None = None,
        method: str = "",
        names: Sequence[str] = (),
        first: bool = False,
        **kwargs: Any,
    ) -> dict[str, Tensor | str]:
        """Call, and say what came back: "output" (anything but a tensor: a "result" in words), what changed in place.

        Args:
            grad: arguments to which gradients are asked for ("gradient of 0"), by position or keyword; those
                of the wanted parameters come with them.
            cotangent: of the output's shape; needed for gradients.
            method: of an instance, in place of its forward.
            names: of the tensors of a tuple that is wanted; anything else is a "result" in words.
            first: a tuple may come too, whose first tensor is the output.
        """
        if self.only_made:
            raise SubmissionError("exception", "nothing is called")
        made: dict[int, Tensor] = {}
        grad = () if self.fixed_inputs else grad
        weights: Mapping[str, ParameterInfo] = {}
        if self.only_fit:
            self.seed()
            weights = next((one.parameters() for one in self._made if one is callee), weights)
        self.given = max(self.given, len(tensors((args, tuple(kwargs.values())))))
        earlier = self._before(callee, args, kwargs, method)
        ask = partial(callee.call, grad=grad, method=method, record=self.records, refilled=self.refilled)
        outcome = self._asked(ask, self.cast(args, made), self.cast(kwargs, made))
        answer = describe_outcome(outcome, names, first=first)
        if self.refilled:
            answer[EARLIER] = "changed" if EARLIER in outcome.changed else "as it was"
        if earlier is not None:
            now, then = tensors(outcome.value), tensors(earlier.value)
            self.told_apart |= len(now) != len(then) or not all(map(torch.equal, now, then))
        if cotangent is None:
            callee.release(outcome)
            return answer
        given = self.cast(cotangent)
        results = tensors(outcome.value)
        if not results or results[0].shape != given.shape or outcome.handle is None:
            callee.release(outcome)
            return {**answer, GRADIENTS: "none"}
        arrived = callee.backward(outcome, [given.to(results[0].dtype), *[None] * (len(results) - 1)])
        if self.only_fit:
            of = weights, arrived, given, results[0]
            return {GRADIENTS: self._said_of_gradients(callee, args, kwargs, method, *of)}
        for position, gradient in arrived.inputs.items():
            like = args[position] if isinstance(position, int) else kwargs[position]
            answer[f"gradient of {position}"] = _or_zero(gradient, self._rounded(like))
        if self.fixed_inputs:
            answer[GRADIENTS] = "some"
        self.gradients = arrived.parameters
        return answer | self.own_gradients(callee, arrived.parameters)

    def own_gradients(self, callee: Callee, arrived: Mapping[str, Tensor | None]) -> dict[str, Tensor]:
        """Gradients of the wanted parameters that were loaded ("gradient of head.weight"), by those of all."""
        found = self._read[id(callee)](arrived) if id(callee) in self._read else {}
        return {f"gradient of {name}": gradient.to(self.dtype) for name, gradient in found.items()}

    def gradients_of_parts(
        self, instance: Instance, weights: Mapping[str, Mapping[str, Tensor]]
    ) -> dict[str, Tensor]:
        """Gradients of the last call in the parts that an instance was made of ("gradient of feed_forward, a").

        Args:
            weights: of the parts, as loaded, by the parts' names and the weights' own.
        """
        known = instance.parameters() if self.gradients else {}
        given = {name: info.value for name, info in known.items() if name in self.gradients}
        found = {}
        for part, own in weights.items():
            for name, value in own.items():
                wanted = self.cast(value)
                arrived = [self.gradients[at] for at, one in given.items() if torch.equal(one, wanted)]
                if arrived:
                    found[f"gradient of {part}, {name}"] = _or_zero(arrived[0], wanted)
        return found

    def _said_of_gradients(
        self,
        callee: Callee,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        method: str,
        weights: Mapping[str, ParameterInfo],
        arrived: Gradients,
        cotangent: Tensor,
        first: Tensor,
    ) -> str:
        """See `said_of_gradients`. Args: weights: of the callee; arrived: gradients of them, and of arguments."""
        given: dict[int | str, Any] = dict((*enumerate(args), *kwargs.items()))
        values: dict[tuple[str, int | str], Tensor] = {("input", i): given[i] for i in arrived.inputs}
        values |= {("weight", name): info.value for name, info in weights.items() if info.requires_grad}
        came: dict[tuple[str, int | str], Tensor | None] = {
            ("input", i): x for i, x in arrived.inputs.items()
        }
        came |= {("weight", name): x for name, x in arrived.parameters.items()}

        def result(moved: Mapping[tuple[str, int | str], Tensor]) -> Tensor | None:
            for one in (module for module in self._made if module is callee):
                one.load(
                    {str(name): self._rounded(x) for (kind, name), x in moved.items() if kind == "weight"}
                )
            now = given | {i: x for (kind, i), x in moved.items() if kind == "input"}
            made: dict[int, Tensor] = {}
            positional = self.cast([now[i] for i in range(len(args))], made)
            self.seed()
            outcome = callee.call(
                positional, self.cast({name: now[name] for name in kwargs}, made), method=method
            )
            callee.release(outcome)
            results = tensors(outcome.value)
            return results[0] if results and results[0].shape == first.shape else None

        return said_of_gradients(result, values, came, cotangent, first)

    def _before(
        self, callee: Callee, args: Sequence[Any], kwargs: Mapping[str, Any], method: str
    ) -> Outcome | None:
        """What is done before a call; what came of another call with other numbers, if one was made."""
        while self._others:
            self._change(self._others.pop())
        if self.reweighted or self.trained_before:
            self._call_otherwise(callee, args, kwargs, method)
        if self.coarse_before:
            self._call_in_bfloat16(callee, args, kwargs, method)
        return self._call_before(callee, args, kwargs, method) if self.calls_before else None

    @staticmethod
    def _change(other: Instance) -> None:
        """Other numbers into the weights of another object, which are its own."""
        with contextlib.suppress(SubmissionError):  # they may be made by its first call
            own = own_parameters(other.parameters())
            other.load({name: info.value + 0.5 for name, info in own.items()})

    def _call_before(
        self, callee: Callee, args: Sequence[Any], kwargs: Mapping[str, Any], method: str
    ) -> Outcome:
        made: dict[int, Tensor] = {}
        turned: dict[int, Tensor] = {}
        given = _each(self.cast(args, made), _turned, turned)
        outcome = callee.call(given, _each(self.cast(kwargs, made), _turned, turned), method=method)
        callee.release(outcome)
        return outcome

    def _call_in_bfloat16(
        self, callee: Callee, args: Sequence[Any], kwargs: Mapping[str, Any], method: str
    ) -> None:
        """A call with the same numbers in bfloat16. That it may not fit the weights says nothing."""
        made: dict[int, Tensor] = {}
        coarse: dict[int, Tensor] = {}
        given = _each(self.cast(args, made), _in_bfloat16, coarse)
        by_name = _each(self.cast(kwargs, made), _in_bfloat16, coarse)
        with contextlib.suppress(SubmissionError):
            callee.release(callee.call(given, by_name, method=method))

    def _call_otherwise(
        self, callee: Callee, args: Sequence[Any], kwargs: Mapping[str, Any], method: str
    ) -> None:
        """A call in train mode, or in eval mode with other weights; then train mode, the weights, and eval mode."""
        for one in (module for module in self._made if module is callee):
            weights = {name: info.value for name, info in one.parameters().items()} if self.reweighted else {}
            one.load({name: value + 0.5 for name, value in weights.items()})
            one.train(self.trained_before)
            made: dict[int, Tensor] = {}
            one.release(
                one.call(self.cast(args, made), self.cast(kwargs, made), method=method, record=self.records)
            )
            one.train(True)
            one.load(weights)
            one.train(False)

    def first_gradients(self, instance: Instance, *args: Any) -> dict[str, Tensor | str]:
        """Say whether a gradient arrives at any matrix of weights before anything was learned: if not, none ever does.

        Args:
            args: of the instance's forward, which gives one tensor of the first one's shape.
        """
        self.call(instance, *args, grad=(0,), cotangent=torch.ones_like(args[0]))
        arrived = [x for x in self.gradients.values() if x is not None]
        matrices = [x for x in arrived if x.dim() > 1] or arrived  # all in vectors: they are parts of these
        return {STARTS: "some" if any(bool(x.any()) for x in matrices) else "none"}

    def close(self) -> None:
        """Let go of everything that was made."""
        for instance in self._made:
            instance.close()
        self._made.clear()


def _each(value: Any, change: Callable[[Tensor], Tensor], done: dict[int, Tensor]) -> Any:
    """A tree with other tensors; what is given twice stays one."""
    if isinstance(value, Tensor):
        if id(value) not in done:
            done[id(value)] = change(value)
        return done[id(value)]
    if isinstance(value, dict):
        return {key: _each(item, change, done) for key, item in value.items()}
    items = isinstance(value, (tuple, list))
    return type(value)(_each(item, change, done) for item in value) if items else value


def _turned(value: Tensor) -> Tensor:
    """Other numbers in the same shape: those of a tensor in the opposite order."""
    other = value.flip(tuple(range(value.dim())))
    return other + 0.5 if other.is_floating_point() else other


def _in_bfloat16(value: Tensor) -> Tensor:
    return value.to(torch.bfloat16) if value.is_floating_point() else value


def noted(part: Instance) -> list[dict[str, Tensor]]:
    """Return what one of the judge's parts noted of its calls: real tensors by name.

    Raises:
        SubmissionError: the notes are none any more; the submission can reach them.
    """
    found = part.call([], method="recorded").value
    calls = list(found) if isinstance(found, (list, tuple)) else [found]
    for one in calls:
        tensors_by_name = isinstance(one, dict) and all(
            isinstance(name, str) and isinstance(x, Tensor) and not x.is_complex() for name, x in one.items()
        )
        if not tensors_by_name:
            text = "The calls that were noted in what your code was given are not there any more."
            raise SubmissionError("protocol", text)
    return calls


def describe_outcome(
    outcome: Outcome, names: Sequence[str] = (), *, first: bool = False
) -> dict[str, Tensor | str]:
    """The output, as a tensor or in words, and which arguments were changed in place. Arguments as of `call`."""
    value = outcome.value
    if names and not isinstance(value, Tensor):
        if isinstance(value, dict):  # a named tuple may come as its fields
            value = tuple(value.values())
        found = [x for x in value if isinstance(x, Tensor)] if isinstance(value, (tuple, list)) else []
        if len(found) == len(names) == len(value):
            answer: dict[str, Tensor | str] = {**dict(zip(names, found, strict=True))}
        else:
            answer = {"result": in_words(value)}
        return answer | _changes(outcome)
    if first and isinstance(value, (tuple, list)) and value and isinstance(value[0], Tensor):
        value = value[0]
    answer = {"output": value} if isinstance(value, Tensor) else {"result": in_words(value)}
    return answer | _changes(outcome)


def _changes(outcome: Outcome) -> dict[str, Tensor | str]:
    changed = ", ".join(f"argument {position}" for position in outcome.changed if position != EARLIER)
    return {"changed in place": changed} if changed else {}


def in_words(value: object) -> str:
    """Describe what was returned in place of a tensor."""
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    if isinstance(value, Tensor):
        return "one tensor"
    if isinstance(value, (tuple, list)) and len(value) < FEW:
        return f"a {type(value).__name__} of {len(value)} ({', '.join(map(in_words, value))})"
    return f"a {' '.join(getattr(value, 'type_name', type(value).__name__).split())}"


def _or_zero(gradient: Tensor | None, like: Tensor) -> Tensor:
    return torch.zeros_like(like) if gradient is None else gradient


def weights_kept(parts: Sequence[Instance], make: Callable[[], Instance]) -> dict[str, str]:
    """Whether what is made of parts leaves all their weights as they are, those of torch's own layers too."""
    before = [part.parameters() for part in parts]
    make()
    kept = all(
        torch.equal(info.value, after[name].value)
        for one, after in zip(before, [part.parameters() for part in parts], strict=True)
        for name, info in one.items()
    )
    return {"the weights of layers in the parts": "kept" if kept else "changed"}


def parameter_facts(parameters: Mapping[str, ParameterInfo]) -> dict[str, str]:
    """Return how many numbers a learner's own parameters hold, and how many of them are trained."""
    own = own_parameters(parameters)
    trained = sum(p.value.numel() for p in own.values() if p.requires_grad)
    facts = {"own parameters": str(sum(p.value.numel() for p in own.values())), "trained": str(trained)}
    return facts | start_facts(parameters)


def start_facts(parameters: Mapping[str, ParameterInfo]) -> dict[str, str]:
    """Say that a learner's own parameters start with NaN or infinity, if they do."""
    finite = all(bool(p.value.isfinite().all()) for p in own_parameters(parameters).values())
    return {} if finite else {"parameters start": "with NaN or infinity"}
