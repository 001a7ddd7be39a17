"""Says what one wrong value is and what belongs there, in one scenario.

The operation that gave the wrong value is compared with its counterpart in a right run: the step that has most in
common with it (operation, inputs, shape). Where they have nothing in common, right steps are varied until one gives a
wrong value of the run. All words come from the operations, from the names of the reference's steps, and from sizes.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.core.value_trace import Event, Plain, Ref
from grader.engine.factors import factor
from grader.engine.wording import index_of_largest
from grader.engine.work_clock import clock
from grader.places.alignment import level, same_layout
from grader.places.altered_steps import altered_steps, family
from grader.places.flow import Flow, refs, telling
from grader.places.plain_values import first_difference, kind, likeness, number_text
from grader.places.right_runs import PART, RightRun, Step, merged
from grader.places.value_names import NO_TENSOR, ValueNames, close_to, plain_text, short, tensors_in
from grader.places.vocabulary import (
    LAYOUTS,
    SILENT,
    Phrase,
    Sizes,
    arguments,
    canonical,
    form,
)
from grader.places.where import Where

MOST_VARIED = 80
MOST_EQUAL = 8
MOST_AFTER = 6  # wrong values after the first one that altered steps are compared with
LIKE = 0.3  # of 1: less is another thing
FAIR = 4  # a score: it may be
GOOD = 6  # a score: the right step that an operation stands for was found
ROUNDED = {torch.bfloat16: "bfloat16", torch.float16: "float16", torch.float32: "float32"}


@dataclass(frozen=True)
class Statement:
    """What a wrong value is, and what belongs there, in one scenario. `likely`: it is not known to be meant."""

    value: Phrase
    expected: Phrase
    likely: bool = False

    @property
    def form(self) -> tuple[Any, ...]:
        return form(self.value), form(self.expected)


class Explainer:
    """Explains the wrong value at a place, in one scenario.

    Args:
        flow: the wrong run.
        found: the place.
        runs: right runs: the reference's first.
        texts: in which the shapes of arguments are written.
        expected: the right value that was proved to belong there, if any.
        deadline: of the clock of work.

    Attributes:
        skipped: the line where a right value was made, if the operation is right but another step comes before it.
    """

    def __init__(
        self,
        flow: Flow,
        found: Where,
        runs: Sequence[RightRun],
        texts: Iterable[str],
        expected: Tensor | None = None,
        deadline: float = math.inf,
    ) -> None:
        self.flow, self.found, self.runs, self._expected = flow, found, runs, expected
        self._deadline = deadline
        self.skipped: int | None = None
        given = [e for e in flow.events if e.kind == "given" and not e.callers]
        self._arguments = {
            name: ref.value
            for e in given
            for name, ref in e.names.items()
            if isinstance(ref, Ref) and name != "self"
        }
        shapes = {name: flow.trace.values[value].shape for name, value in self._arguments.items()}
        plain = {name: value for e in given for name, value in e.names.items()}
        self.sizes = Sizes(shapes, plain, texts)
        self._words = ValueNames(flow, runs, self._arguments, self.sizes)

    def statements(self) -> list[Statement]:
        """All that can be said, the best first."""
        try:
            return list(self._statements())
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError):
            return []  # what a submission recorded is a claim: it may say anything, and must not end the grade

    def _statements(self) -> Iterator[Statement]:
        found, flow = self.found, self.flow
        if found.value:
            yield Statement((found.value,), (found.expected,))
            return
        if found.event is None:
            yield from self._default() if found.why == "value" else self._raised()
            return
        event = flow.events[found.event]
        if found.why == "gradient":
            yield Statement(
                (f"`{short(self.flow.source.segment(event.place))}` stops the gradient",),
                ("a value through which the gradient flows",),
            )
        elif found.why == "in place":
            name = next((n for n, v in self._arguments.items() if v in event.inputs[:1]), "")
            target = f"the argument `{name}`" if name else "an argument"
            yield Statement(
                (f"`{short(self.flow.source.segment(event.place))}` changes {target} in place",),
                ("a new tensor",),
            )
        elif found.why == "omitted":
            yield from self._omitted(event)
        elif found.why == "error":
            yield from self._raised()
        elif event.kind == "call":
            yield from self._wrong_call(found.event, event)
        elif found.why == "value":
            yield from self._plain(event)

    # A wrong tensor

    def _wrong_call(self, index: int, event: Event) -> Iterator[Statement]:
        index = self._behind(index)
        event = self.flow.events[index]
        output = self.flow.outputs(index)[:1]
        numbers = self.flow.trace.values[output[0]].numbers if output else None
        best, score, run = self._counterpart(event, numbers)
        if best is not None and score < GOOD and numbers is not None and best.out.numel() != numbers.numel():
            best = None  # no more than the same operation, on something else
        if best is not None and score >= GOOD:
            self.skipped = self._taken_too_early(index, best)
        alike = self._agreeing(event, best) if best is not None else frozenset()
        said = self._words.said(event, but=alike)
        before = self._too_much(event)
        if before:
            yield Statement(said, (*before, ", without this step"))
            return
        right = self._words.right(run, best, but=alike) if best is not None and run is not None else None
        if right is not None and best is not None and merged(event) and best.op == PART:
            same_names = plain_text(said[1:]) == plain_text(right[1])
            if same_names:  # that says nothing
                yield Statement((*said, *self._difference(numbers, best.out)), right[0], likely=True)
                return
        if right is not None and best is not None and score >= GOOD and said != right[1]:
            vague = NO_TENSOR in plain_text(right[0])
            yield Statement((*said, *self._relation(numbers, best.out)), right[0], likely=vague)
        yield from self._varied(index)
        if right is None or best is None or score < FAIR:
            missing = self._next_missing()
            yield Statement(said, missing or (self.found.expected,), likely=True)
            return
        more = self._relation(numbers, best.out) or self._difference(numbers, best.out)
        if (
            said == right[1]
            and best.out.numel() == (numbers.numel() if numbers is not None else 0)
            and self._other_parameters(event, best)
        ):
            more = (", with the wrong parameters",)
        yield Statement((*said, *more), right[0], likely=score < GOOD)

    def _too_much(self, event: Event) -> Phrase:
        """The name of a value that goes into an event, and with which in its place the result is right."""
        numbers = [self.flow.trace.values[v].numbers for v in event.inputs]
        there = [
            x
            for x in numbers
            if x is not None and self._expected is not None and self._words.alike(x, self._expected)
        ]
        name = self._words.label(there[0]) if there else None
        return (name,) if name is not None else ()

    def _taken_too_early(self, index: int, step: Step) -> int | None:
        """The line of a right value that a right operation takes, if what it should take was never computed."""
        event, values = self.flow.events[index], self.flow.trace.values
        if canonical(event.name) != step.op:
            return None
        theirs = [x for x in tensors_in((step.args, step.kwargs)) if x.numel() > 1]
        mine = {v: x for v in event.inputs if (x := values[v].numbers) is not None and x.numel() > 1}
        other = {v: x for v, x in mine.items() if not any(self._words.alike(x, y) for y in theirs)}
        missing = [y for y in theirs if not any(self._words.alike(x, y) for x in mine.values())]
        if len(other) != 1 or len(missing) != 1 or self._words.there(missing[0]):
            return None
        value, numbers = next(iter(other.items()))
        if numbers.numel() != missing[0].numel() or not self._known(numbers):
            return None
        for before in reversed(self.flow.events[:index]):
            held = {ref.value for item in before.names.values() for ref in refs(item)}
            if before.frame == event.frame and before.kind == "line" and value in held:
                return before.place.end_line
        producer = self.flow.producer(value)
        return None if producer is None else self.flow.events[producer].place.end_line

    def _behind(self, index: int) -> int:
        """The event that gave an input with one number everywhere, which counts as right but is no right value."""
        for value in self.flow.events[index].inputs:
            numbers, producer = self.flow.trace.values[value].numbers, self.flow.producer(value)
            if numbers is not None and producer is not None and numbers.numel() > 1 and level(numbers):
                made = self.flow.events[producer]
                if made.kind == "call" and not merged(made) and not self._known(numbers):
                    return producer
        return index

    def _known(self, numbers: Tensor) -> bool:
        """Return whether a right run has this value."""
        return any(self._words.alike(step.out, numbers) for run in self.runs for step in run.steps)

    def _agreeing(self, event: Event, step: Step) -> frozenset[str]:
        """Names of the plain keyword arguments that an operation and a right one have in common."""
        parsed = arguments(event.arguments)
        if parsed is None or canonical(event.name) != step.op:
            return frozenset()
        plain = (int, float, str, bool, type(None))
        return frozenset(
            name
            for name, value in parsed[1].items()
            if isinstance(value, plain) and name not in ("dim", "axis") and step.kwargs.get(name) == value
        )

    def _other_parameters(self, event: Event, step: Step) -> bool:
        mine = [self.flow.trace.values[v].numbers for v in event.inputs]
        return any(
            x is not None and not any(self._words.alike(x, y) for y in tensors_in((step.args, step.kwargs)))
            for x in mine
        )

    def _next_missing(self, used: Sequence[Tensor] | None = None) -> Phrase:
        """The first named step that the wrong run does not have, although it has all that goes into it.

        Args:
            used: values of which at least one goes into it.
        """
        for run in self.runs:
            for step in run.steps:
                ready = all(self._words.there(x) for x in tensors_in(step.args) if x.numel() > 1)
                if used is not None:
                    ready &= any(self._words.alike(x, y) for x in tensors_in(step.args) for y in used)
                if ready and id(step.out) in run.labels and not self._words.there(step.out):
                    return self._words.right(run, step)[0]
        return ()

    def _counterpart(self, event: Event, numbers: Tensor | None) -> tuple[Step | None, int, RightRun | None]:
        """The right step that an operation stands for, and how much the two have in common."""
        mine = [
            x for v in event.inputs if (x := self.flow.trace.values[v].numbers) is not None and x.numel() > 1
        ]
        op = PART if merged(event) else canonical(event.name)
        scored = [
            (self._score(op, mine, numbers, step), run, step)
            for run in self.runs
            for step in run.steps
            if step.op not in SILENT
        ]
        most = max((score for score, _, _ in scored), default=0)
        best = [(run, step) for score, run, step in scored if score == most][:MOST_EQUAL]
        run, found = min(best, key=lambda one: len(plain_text(self._words.say(*one))), default=(None, None))
        return found, most, run

    def _score(self, op: str, mine: Sequence[Tensor], numbers: Tensor | None, step: Step) -> int:
        theirs = [x for x in tensors_in((step.args, step.kwargs)) if x.numel() > 1]
        common = sum(any(self._words.alike(x, y) for y in theirs) for x in mine)
        score = (
            4 if step.op == op else 2 if family(step.op) == family(op) != "" else -2 if op in LAYOUTS else 0
        )
        score += min(3, 2 * common) + (1 if mine and common == len(mine) == len(theirs) else 0)
        if numbers is not None:
            score += (step.out.numel() == numbers.numel()) + (step.out.shape == numbers.shape)
            if step.out.shape == numbers.shape and close_to(
                numbers, step.out.detach().to(torch.float64), 1e-6
            ):
                score -= 8  # then it is no contrast
        if self._expected is not None and self._words.alike(step.out, self._expected):
            score += 5
        elif score >= GOOD - 2 and self._words.there(step.out):
            score -= 3
        return score

    def _relation(self, numbers: Tensor | None, right: Tensor) -> Phrase:
        """Describe a wrong value by the right one: a multiple, its inverse, shifted, less exact."""
        if numbers is None or numbers.shape != right.shape or not numbers.numel():
            return ()
        right = right.detach().to(torch.float64)
        close = max(1e-5, self.flow.right.close)
        if numbers.unique().numel() <= 2 and right.unique().numel() <= 2:
            return (
                (", the inverse of what is right",)
                if numbers.numel() > 1 and close_to(1 - numbers, right, close)
                else ()
            )
        if close_to(numbers, -right, close):
            return (": with the wrong sign",)
        times = factor(right, numbers) if bool((numbers.isfinite() & right.isfinite()).all()) else None
        if times is not None and abs(times) > 1e-6 and abs(times - 1) > 1e-3:
            return (", which is ", self.sizes.number(times), " times the right value")
        apart = (numbers - right)[(numbers - right).isfinite()]
        if apart.numel() > 2 and float(apart.abs().max()) > close and float(apart.std()) < close:
            return (", which is the right value plus ", self.sizes.number(float(apart.mean())))
        for dim in range(numbers.dim()) if numbers.numel() > 4 else ():
            for by, words in ((1, "later"), (-1, "earlier")):
                if numbers.size(dim) > 2:
                    inner = numbers.narrow(dim, 1, numbers.size(dim) - 2)
                    if close_to(inner, right.roll(by, dim).narrow(dim, 1, numbers.size(dim) - 2), close):
                        return (
                            f", which is the right value one position {words} along ",
                            self.sizes.dim(right.shape, dim),
                        )
        for dtype, name in ROUNDED.items():
            if close_to(numbers, right.to(dtype).to(torch.float64), 1e-9) and not close_to(
                numbers, right, 1e-9
            ):
                return (f", rounded to {name}",)
        return ()

    def _difference(self, numbers: Tensor | None, right: Tensor) -> Phrase:
        """One number: how far a wrong value is from the right one, and where."""
        if numbers is None:
            return ()
        if numbers.shape != right.shape and numbers.numel() != right.numel():
            return (f", of shape {list(numbers.shape)} instead of {list(right.shape)}",)
        if numbers.shape != right.shape:
            return ()
        apart = (numbers - right.detach().to(torch.float64)).abs().nan_to_num(math.inf)
        if not apart.numel() or float(apart.max()) == 0:
            return ()
        at = index_of_largest(apart)
        here, there = (float(x[at]) for x in (numbers, right.detach()))
        return (f", for example {here:.4g} at {list(at)} instead of {there:.4g}",)

    # Variants of right steps

    def _varied(self, index: int) -> Iterator[Statement]:
        """Right steps, varied, that give a wrong value at the place or soon after."""
        wrong = [
            (self.flow.trace.values[v].numbers, v)
            for i in range(index, len(self.flow.events))
            if self.flow.events[i].kind == "call" and self.flow.is_right(i) is False
            for v in self.flow.outputs(i)[:1]
        ][:MOST_AFTER]
        wrong = [(x, v) for x, v in wrong if x is not None and x.numel() > 1]
        sizes = {x.numel() for x, _ in wrong if x is not None}
        done = 0
        for run in self.runs:
            for step in run.steps:
                if done >= MOST_VARIED or clock.seconds() > self._deadline:
                    return
                if step.op in SILENT or step.op in LAYOUTS or self._words.there(step.out):
                    continue
                done += 1
                for op, args, kwargs, out, note in altered_steps(step):
                    if out.numel() not in sizes:
                        continue
                    out = out.detach().to(torch.float64)
                    for x, _ in wrong:
                        assert x is not None
                        if (
                            out.numel() == x.numel()
                            and self._words.alike(out, x)
                            and same_layout(x, out, max(1e-6, self.flow.right.close))
                        ):
                            shown = Step(op, args, kwargs, step.out)
                            yield Statement(
                                (*self._words.say(run, shown), note) if note else self._words.say(run, shown),
                                self._words.right(run, step)[0],
                            )
                            return

    # Plain Python

    def _plain(self, event: Event) -> Iterator[Statement]:
        returned = event.kind == "return"
        items = [(event.name, item) for item in event.result] if returned else list(event.names.items())
        for name, item in items:
            if not telling(item) or (not returned and self.flow.right.has_plain(item)):
                continue
            inner = name.startswith("<")
            subject = "the list of this line" if inner else f"`{name}`"
            right = self._nearest(name, item)
            path, here, there = first_difference(item, right[1]) if right else ("", item, None)
            if right and number_text(here) == number_text(there):  # a difference that cannot be seen
                continue
            verb = " returns" if returned and not inner else " is"
            at = f" at {path}" if path else ""
            value: Phrase = (f"{subject}{verb} {number_text(here)}{at}", *self._times(here, there))
            label = next((n for n, v in self.runs[0].plain if right and v == right[1] and " " in n), "")
            yield Statement(value, ((f"{label}: " if label else "") + number_text(there),) if right else ())

    def _times(self, here: Plain, there: Plain) -> Phrase:
        """Return the ratio of a wrong number to the right one."""
        if (
            isinstance(here, float)
            and isinstance(there, float)
            and there
            and here
            and math.isfinite(here / there)
        ):
            times = self.sizes.number(here / there)
            return (
                (", which is ", times, " times the right value") if times.meanings or here == -there else ()
            )
        return ()

    def _nearest(self, name: str, item: Plain) -> tuple[str, Plain] | None:
        """The right plain value that is most like a wrong one; one of the same name before others."""
        best, most = None, LIKE
        for run in self.runs:
            for known, value in run.plain:
                if clock.seconds() > self._deadline:
                    return best
                if kind(value) == kind(item):
                    like = (known == name) + likeness(value, item)
                    if like > most:
                        best, most = (known, value), like
        return best

    def _default(self) -> Iterator[Statement]:
        """An argument's default."""
        begun = [event for event in self.flow.events if event.kind == "given" and not event.callers]
        for event, right in zip(begun, self.flow.right.given, strict=False):
            for name, value in event.names.items():
                known = self.flow.source.default(event.place.line, name) is not None and name in right
                if isinstance(value, (int, float, str)) and known and right[name] != value:
                    yield Statement((f"the default of `{name}` is {value!r}",), (f"{right[name]!r}",))
                    return

    def _raised(self) -> Iterator[Statement]:
        """An exception: what went into the expression, and the step that comes next in a right run."""
        place = self.found.place
        names = {node.id for node in self.flow.source.reads(place) if isinstance(node, ast.Name)}
        shapes: dict[str, str] = {}
        used: list[int] = []
        for event in self.flow.events:
            for name, item in event.names.items():
                if name in names and isinstance(item, Ref):
                    used.append(item.value)
                    shapes[name] = f"`{name}` of shape {list(self.flow.trace.values[item.value].shape)}"
        if self.flow.source.segment(place).lstrip().startswith("raise"):
            yield Statement(("this line raises an error",), ("no error for these arguments",))
            return
        text = f"`{short(self.flow.source.segment(place))}` raises"
        text += f", with {', '.join(shapes.values())}" if shapes else ""
        values = [self.flow.trace.values[v].numbers for v in used]
        yield Statement((text,), self._next_missing([x for x in values if x is not None]))

    def _omitted(self, event: Event) -> Iterator[Statement]:
        """A step that was left out at the end."""
        values = [ref.value for item in (*event.result, *event.names.values()) for ref in refs(item)]
        said: Phrase = self._words.name(values[-1], event, 1) if values else ("the result",)
        numbers = self.flow.trace.values[values[-1]].numbers if values else None
        for run in self.runs:
            missing = [s for s in run.steps if s.op not in SILENT and not self._words.there(s.out)]
            start = [
                s
                for s in missing
                if numbers is not None and any(self._words.alike(x, numbers) for x in tensors_in(s.args))
            ]
            named = [s for s in start or missing if id(s.out) in run.labels] or start
            for step in named[:1]:
                yield Statement((*said, ", without a further step"), self._words.right(run, step)[0])
                return
        calls = [e for e in self.flow.events if e.kind == "call" and e.place.line == event.place.line]
        if calls:
            index = self.flow.events.index(calls[-1])
            yield from self._wrong_call(index, calls[-1])
