"""The values of a right run, with names, and which of a learner's values equal one of them up to layout.

The right values come from the reference, whose steps give them their names, and from the exercise's solution, whose own
smaller steps have none. A value is the same up to layout if whole axes were permuted, if the last axis was split (into
heads, say) or adjacent axes were merged; a merge of axes that were not adjacent gives other numbers at each place, and
is not the same, although it has the same numbers.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, lru_cache, wraps
from itertools import permutations
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from grader.core.value_trace import Odd, Plain, Ref, ValueTrace
from grader.worker.value_trace import EMPTY

STEP = "a step of the reference"
CLOSE = 1e-6  # of the largest number: constants are rounded to float32 on the way
HIDDEN = -1e8  # what is less hides, as -inf does
MOST_OF_ONE = 2**15  # numbers in a value that is looked at
MOST_VALUES = 4_000
MOST_AXES = 5
MOST_ALIKE = 200  # values of one shape, or of one form
MOST_PARTS = 80
MOST_LOOKED_UP = 4  # numbers of a value that may be a part
MOST_COMPARED = 2**16  # numbers, of rows with each row of a value
WHICH = {
    "q": "query", "k": "key", "v": "value", "out": "output", "src": "source", "tgt": "target",
    "self": "self-attention", "cross": "cross-attention", "feed": "feed-forward",
}  # fmt: skip
"""Words for the arguments that say which of several values a step makes."""
OTHER_NAMES = {
    "truediv": "div",
    "itruediv": "div",
    "rtruediv": "rdiv",
    "iadd": "add",
    "radd": "add",
    "isub": "sub",
    "imul": "mul",
    "rmul": "mul",
    "iand": "and",
    "rand": "and",
    "bitwise_and": "and",
    "logical_and": "and",
    "ior": "or",
    "bitwise_or": "or",
    "logical_or": "or",
    "invert": "not",
    "bitwise_not": "not",
    "logical_not": "not",
    "bmm": "matmul",
    "view": "reshape",
    "unflatten": "reshape",
    "flatten": "reshape",
    "swapaxes": "transpose",
    "permute": "transpose",
    "concat": "cat",
    "stack": "cat",
}


Summary = tuple[float, ...]  # see `summarised`


@dataclass(eq=False)
class Right:
    """A right value. `name` is that of the reference's step, or "".

    `order` says when it was computed; `summary` is equal for the same numbers in any order.
    """

    name: str
    numbers: Tensor
    order: int
    summary: Summary


@dataclass(frozen=True, eq=False)
class RightCall:
    """A torch call of a right run. Attributes: name: see `plain_name`; arguments: the plain ones, as text."""

    name: str
    inputs: tuple[Tensor, ...]
    output: Right
    arguments: str = ""

    @cached_property
    def summaries(self) -> list[Summary | None]:
        """Of each input; None for one that says little."""
        return [None if level(one) else summarised(one) for one in self.inputs]


class RightValues:
    """All right values of one scenario. Args: close: how far numbers may be apart, see `CLOSE`."""

    def __init__(self, close: float = CLOSE) -> None:
        self.close = close
        self.values: list[Right] = []
        self.plain_steps: list[
            tuple[int, Plain]
        ] = []  # what steps gave besides tensors, after how many of these
        self._by_size: dict[int, list[Right]] = {}  # in the order of their sums
        self._plain: dict[str, list[tuple[str, Plain]]] = {}  # by form: what gave it, what it is
        self._functions: set[str] = set()  # what gave plain values: functions by name, or `STEP`
        self._stacks: dict[tuple[int, ...], list[Right]] = {}  # by shape
        self._stacked_before: dict[tuple[int, ...], Tensor] = {}  # the same, see `_stacked`
        self.calls: dict[str, list[RightCall]] = {}  # by name
        self._numbers: tuple[int, Tensor] | None = None  # of how many values, all that are in them
        self.given: list[Mapping[str, Plain]] = []  # what the file's functions were called with, defaults too

    def add(self, name: str, value: Any, *, function: str = STEP) -> None:
        """Add a tensor, a plain value, or the tensors in a container. Args: function: gave it, "" for none."""
        if isinstance(value, Tensor):
            self._add_tensor(name, value)
        elif isinstance(value, (float, str)) or (
            isinstance(value, (tuple, list)) and not _holds_tensor(value)
        ):
            listed = _listed(value)
            if function == STEP and len(self.plain_steps) < MOST_VALUES:
                self.plain_steps.append((len(self.values), listed))
            known = self._plain.setdefault(_form(listed), [])
            self._functions.add(function)
            if len(known) < MOST_ALIKE and (function, listed) not in known:
                known.append((function, listed))
        elif isinstance(value, (tuple, list)):
            for one in value[:MOST_AXES]:
                self.add(name, one)

    def _add_tensor(self, name: str, x: Tensor) -> Right | None:
        if not small(x) or len(self.values) >= MOST_VALUES:
            return None
        kept = hidden(in_doubles(x))
        summary = summarised(kept)
        if summary[2] and nothing(kept):
            return None
        return self._add_kept(Right(name, kept, len(self.values), summary))

    def _add_kept(self, found: Right) -> Right | None:
        """Add a value as it is kept. Gives what there is of its numbers."""
        if len(self.values) >= MOST_VALUES:
            return None
        name, kept, summary = found.name, found.numbers, found.summary
        known = self._by_size.setdefault(kept.numel(), [])
        for one in _between(known, summary[0], summary[0]):
            if one.summary == summary and one.numbers.shape == kept.shape and torch.equal(one.numbers, kept):
                if name and not one.name:  # a step's result, met before as that of its last operation
                    one.name = name
                return one
        self.values.append(found)
        insort(known, found, key=_sum_of)
        if len(self._stacks.setdefault(tuple(kept.shape), [])) < MOST_ALIKE:
            self._stacks[tuple(kept.shape)].append(found)
        return found

    def add_call(self, name: str, inputs: Sequence[Tensor], output: Tensor, arguments: str = "") -> None:
        """Add a torch call; its inputs are as they were before it."""
        found = self._add_tensor("", output)
        if found is not None:
            self._add_right_call(RightCall(plain_name(name), tuple(inputs), found, arguments))

    def _add_right_call(self, call: RightCall) -> None:
        calls = self.calls.setdefault(call.name, [])
        if len(calls) < MOST_ALIKE:
            calls.append(call)

    def find(self, numbers: Tensor) -> Right | None:
        """The right value that these numbers are, up to layout: the one of the same shape before all others."""
        numbers = hidden(numbers)
        if not numbers.numel():
            return None
        return self._whole(numbers) or self._joined(numbers)

    def has(self, numbers: Tensor) -> bool:
        """Whether a right run has these numbers in this very layout."""
        numbers = hidden(numbers)
        return any(equal(numbers, one.numbers, self.close) for one in self._by_size.get(numbers.numel(), ()))

    def _whole(self, numbers: Tensor) -> Right | None:
        summary = summarised(numbers)
        size, total = numbers.numel(), summary[0]
        wide = 2 * self.close * (2 + max(abs(total), math.sqrt(summary[1]))) * (1 + size)
        some = _between(self._by_size.get(size, []), total - wide, total + wide)
        near = [one for one in some if self.near(one.summary, summary, size)]
        near.sort(key=lambda one: (one.numbers.shape != numbers.shape, not one.name, one.order))
        return next((one for one in near if same_layout(numbers, one.numbers, self.close)), None)

    def near(self, a: Summary, b: Summary, size: int) -> bool:
        """Whether two values of this size can be the same up to layout."""
        slack = self.close * (2 + max(abs(a[0]), abs(b[0]), math.sqrt(max(a[1], b[1])))) * (1 + size)
        largest = 1 + max(a[3], b[3])
        return abs(a[0] - b[0]) <= slack and abs(a[1] - b[1]) <= slack * largest and a[2] == b[2]

    def find_part(self, numbers: Tensor) -> Right | None:
        """The right value that these numbers are a slice of: one head of several, a third of a packed projection, a
        chunk of positions; or that has room left in them, which nothing was written to."""
        numbers = hidden(numbers)
        if level(numbers) or _whole_numbers(numbers) or not self._has_some(numbers):
            return None
        shape, size = [n for n in numbers.shape if n != 1], numbers.numel()
        flat, bound = numbers.reshape(size), self._bound(numbers)
        for whole, found in self._stacks.items():
            if not 1 < math.prod(whole) / max(size, 1) <= MOST_PARTS:
                continue
            for axis, length in enumerate(whole):
                part = size * length // math.prod(whole)
                if [n for n in (*whole[:axis], part, *whole[axis + 1 :]) if n != 1] != shape:
                    continue
                stack = self._stacked(whole)  # [K, *whole]
                starts = list(dict.fromkeys([*range(0, length - part + 1, part), length - part]))
                corners = (slice(None), *(starts if at == axis else 0 for at in range(len(whole))))
                near = _near(stack[corners], flat[0], bound)  # [K, starts]
                for one, at in near.nonzero().tolist():
                    chunk = stack[one].narrow(axis, starts[at], part)
                    if bool(_near(chunk.reshape(size), flat, bound).all()):
                        return found[int(one)]
        return self._rows(numbers) or self._with_room(numbers)

    def _stacked(self, shape: tuple[int, ...]) -> Tensor:
        """All right values of a shape that are looked at, [K, *shape]."""
        found, known = self._stacks[shape], self._stacked_before.get(shape)
        if known is None or len(known) != len(found):
            known = self._stacked_before[shape] = torch.stack([one.numbers for one in found])
        return known

    def _bound(self, numbers: Tensor) -> Tensor:
        """How far parts of right values may be from these numbers."""
        return self.close * (1e-3 + numbers.abs().nan_to_num(0.0, 0.0, 0.0).max())

    def _rows(self, numbers: Tensor) -> Right | None:
        """The right value that these are some rows of, in its order: tokens or sentences that a mask has picked."""
        rows = numbers.shape[0] if numbers.dim() else 0
        if rows < 2:
            return None
        bound = self._bound(numbers)
        for shape, found in self._stacks.items():
            at = _rows_end(shape, numbers.shape[1:])
            whole = math.prod(shape[:at])
            if not at or not rows < whole or rows * whole * numbers[0].numel() > MOST_COMPARED:
                continue
            every = self._stacked(shape).reshape(len(found), whole, -1)  # [K, N, ...]
            given = numbers.reshape(rows, -1)
            has_first = ((every - given[0]).abs() <= bound).all(-1).any(-1)  # [K]
            for one in has_first.nonzero().flatten().tolist():
                same = ((given[:, None] - every[one]).abs() <= bound).all(-1)  # [n, N]
                if bool(same.any(1).all()) and bool((same.int().argmax(1).diff() > 0).all()):
                    return found[int(one)]
        return None

    def _with_room(self, numbers: Tensor) -> Right | None:
        """The right value that is left without what is zero all along an axis: a buffer that is not full yet."""
        for axis, size in enumerate(numbers.shape):
            rows = numbers.movedim(axis, 0)
            kept = (rows != 0).reshape(size, -1).any(1)  # [n]
            written = rows[kept].movedim(0, axis)
            if not bool(kept.all()) and not level(written):
                found = self._whole(written)
                if found is not None:
                    return found
        return None

    def _joined(self, numbers: Tensor) -> Right | None:
        """Right values side by side: a packed projection, or one value repeated."""
        if level(numbers) or _whole_numbers(numbers):
            return None
        size = numbers.numel()
        for count in (n for n in range(2, 13) if not size % n and size // n in self._by_size):
            for axis in {0, numbers.dim() - 1}:
                if numbers.size(axis) % count == 0:
                    parts = [self._whole(part) for part in numbers.chunk(count, axis)]
                    if all(parts):
                        return parts[0]
        return None

    def has_plain(self, value: Plain, function: str = "") -> bool:
        """Return whether a right run had this list, text or number.

        Args:
            function: gave it; then it must have come from the function of that name, from any if there is none.
        """
        named = function in self._functions
        if any(
            (not function or (by == function if named else bool(by))) and _same_plain(value, known)
            for by, known in self._plain.get(_form(value), ())
        ):
            return True
        if any("f" in form.strip("[]").split(",") for form in self._plain):
            return False
        return self._has_number(value) if isinstance(value, float) else self._has_row(value)

    def _has_number(self, value: float) -> bool:
        """Whether a right tensor has this number: other code may compute singly what right code has in tensors."""
        return self._has_near(value, self.close * (1e-3 + abs(value)))

    def _has_some(self, numbers: Tensor) -> bool:
        """Whether right tensors have a few of these numbers, as they have all that a part of one has."""
        said = numbers[numbers.isfinite() & (numbers != 0)]
        few = said[:: max(1, said.numel() // MOST_LOOKED_UP)].tolist()
        bound = 2 * float(self._bound(numbers))
        return all(self._has_near(one, bound) for one in few)

    def _has_near(self, value: float, bound: float) -> bool:
        if self._numbers is None or self._numbers[0] != len(self.values):
            every = [one.numbers.flatten() for one in self.values if one.numbers.dtype == torch.float64]
            self._numbers = len(self.values), torch.cat([*every, torch.zeros(1)]).unique()
        known = self._numbers[1]
        at = int(torch.searchsorted(known, torch.tensor(value, dtype=known.dtype)))
        near = known[max(0, at - 1) : at + 1]
        return bool(((near - value).abs() <= bound).any())

    def _has_row(self, value: Plain) -> bool:
        """Return whether a list is of numbers that right tensors have."""
        try:
            found = torch.tensor(value, dtype=torch.float64)
        except (TypeError, ValueError, RuntimeError):
            return False
        return found.numel() > 1 and all(map(self._has_number, found.flatten().tolist()))

    def join(self, other: RightValues) -> None:
        """Add all values of another right run."""
        self.given = self.given or other.given
        own: dict[int, Right | None] = {}
        for one in other.values:
            own[id(one)] = self._add_kept(replace(one, order=len(self.values)))
        for call in (one for some in other.calls.values() for one in some):
            output = own[id(call.output)]
            if output is not None:
                self._add_right_call(replace(call, output=output))
        for form, some in other._plain.items():
            self._plain.setdefault(form, []).extend(some)
        self._functions |= other._functions

    def trace(self, found: ValueTrace) -> None:
        """Add all values of a recorded right run, without names."""
        for value in found.values:
            if value.numbers is not None:
                self._add_tensor("", value.numbers)
        for event in found.events:
            given = [found.values[one].numbers for one in event.inputs]
            kept = [hidden(numbers) for numbers in given if numbers is not None]
            for output in event.outputs if event.kind == "call" and len(kept) == len(given) else ():
                numbers = found.values[output].numbers
                if numbers is not None:
                    self.add_call(event.name, kept, numbers, event.arguments)
        self.given = [event.names for event in found.events if event.kind == "given" and not event.callers]
        for event in found.events:
            for item in (*event.names.values(), *event.result):
                if not isinstance(item, (Ref, Odd)) and not _holds_tensor(item):
                    self.add("", item, function=event.name if event.result else "")


class Collector(TorchFunctionMode):
    """While it is entered, the result of every torch call is a right value."""

    def __init__(self, values: RightValues) -> None:
        super().__init__()
        self._values = values

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        given = [x for x in (*args, *(kwargs or {}).values()) if isinstance(x, Tensor)]
        inputs = [hidden(in_doubles(x)) for x in given] if all(map(small, given)) else []
        result = func(*args, **(kwargs or {}))
        if getattr(func, "__name__", "") in EMPTY:
            return result
        self._values.add("", result)
        output = result if isinstance(result, Tensor) else given[0] if result is None and given else None
        if len(inputs) == len(given) and output is not None:
            self._values.add_call(getattr(func, "__name__", ""), inputs, output)
        if result is None and args and isinstance(args[0], Tensor):  # written in place
            self._values.add("", args[0])
        return result


def small(x: Tensor) -> bool:
    """Return whether a value is looked at: not too large, of plain numbers."""
    return x.numel() <= MOST_OF_ONE and not x.is_complex()


def in_doubles(x: Tensor) -> Tensor:
    """A copy in float64."""
    return x.detach().to("cpu", torch.float64, copy=True)


def plain_name(name: str) -> str:
    """An operation's name, the same for a function, an operator and what works in place."""
    name = name.strip("_")
    return OTHER_NAMES.get(name, name)


def labelled(steps: Any, values: RightValues) -> Any:
    """The same steps; what each gives is added to the right values under its name: in `NAMES`, if they have these."""
    if not is_dataclass(steps) or isinstance(steps, type):
        return steps
    changed = {}
    for one in fields(steps):
        step = getattr(steps, one.name)
        if callable(step):
            name = getattr(steps, "NAMES", {}).get(one.name, one.name.replace("_", " "))
            changed[one.name] = _named_step(name, step, values)
    return replace(steps, **changed)


def _named_step(name: str, step: Callable[..., Any], values: RightValues) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        result = step(*args, **kwargs)
        if any(result is one for one in args):  # the step that does nothing
            return result
        words = [WHICH.get(one, one) for one in args if isinstance(one, str)]
        values.add(name.format(*words, ""), result)
        return result

    return wraps(step)(run) if hasattr(step, "__name__") else run


def _near(a: Tensor, b: Tensor, bound: Tensor) -> Tensor:
    """Which numbers are no further apart; what is no number, or infinite in both, is near."""
    return (a - b).abs().nan_to_num(0.0) <= bound


def _rows_end(shape: Sequence[int], row: Sequence[int]) -> int:
    """How many axes come before those of a row; 0 if a value has no such rows."""
    at = len(shape) - len(row)
    return at if at > 0 and tuple(shape[at:]) == tuple(row) else 0


def _sum_of(one: Right) -> float:
    return one.summary[0]


def _between(values: list[Right], least: float, most: float) -> list[Right]:
    """Those of values in the order of their sums whose sum is not less, and not more."""
    begin = bisect_left(values, least, key=_sum_of)
    return values[begin : bisect_right(values, most, begin, key=_sum_of)]


def level(numbers: Tensor) -> bool:
    """Return whether a value says little: one number everywhere, or hardly any."""
    return numbers.numel() < 2 or bool((numbers == numbers.flatten()[0]).all()) or nothing(numbers)


def nothing(numbers: Tensor) -> bool:
    """Return whether a value has no number at all, as what lies in memory before anything is written there."""
    return numbers.numel() > 0 and bool(numbers.isnan().all())


def _whole_numbers(numbers: Tensor) -> bool:
    """Return whether a value is of ids or of truth values: its parts are everywhere."""
    return bool((numbers == numbers.round()).all())


def turned(numbers: Tensor, right: Tensor, close: float) -> bool:
    """Return whether a value that is right up to layout has another layout than the right one."""
    return not equal(hidden(numbers), right, close)


def same_layout(numbers: Tensor, right: Tensor, close: float) -> bool:
    """Return whether two values of as many numbers are the same up to layout."""
    return any(equal(numbers, one, close) for one in _layouts(right, tuple(numbers.shape)))


def batch_first(numbers: Tensor, right: Tensor, close: float) -> bool | None:
    """Whether the first axis of a right value still comes before its second one; None if that is not to be seen."""
    goal, axes = (tuple(n for n in x.shape if n != 1) for x in (numbers, right))
    for factors, order in _orders(axes, goal):
        if len(order) > 1 and equal(
            numbers, right.reshape(factors).permute(order).reshape(numbers.shape), close
        ):
            return order.index(0) < order.index(1)
    return None


def _layouts(right: Tensor, shape: tuple[int, ...]) -> Iterator[Tensor]:
    """The value in all layouts that have this shape."""
    goal = tuple(n for n in shape if n != 1)
    axes = tuple(n for n in right.shape if n != 1)
    if goal == axes:
        yield right.reshape(shape)
    for factors, order in _orders(axes, goal):
        whole, first = right.reshape(factors), order.index(0) if order else 0
        # sentences of a beam for beams of a sentence: of copies, that is another order of what is not alike
        if first and len(goal) < len(factors) and _copies(whole, order[first - 1]):
            continue
        yield whole.permute(order).reshape(shape)


def _copies(whole: Tensor, axis: int) -> bool:
    """Whether all is the same along an axis."""
    return torch.equal(whole, whole.narrow(axis, 0, 1).expand_as(whole))


@lru_cache(maxsize=4096)
def _orders(axes: tuple[int, ...], goal: tuple[int, ...]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Factors of the axes, and orders of these, that give the goal when adjacent ones are merged."""
    ways = [axes]
    if axes and len(axes) < MOST_AXES:
        last = axes[-1]
        for n in {n for n in goal if n < last and not last % n}:
            ways += [(*axes[:-1], n, last // n), (*axes[:-1], last // n, n)]
    found = []
    for factors in ways:
        if len(factors) > MOST_AXES or len(factors) < len(goal):
            continue
        found += [
            (factors, order) for order in permutations(range(len(factors))) if _merges(factors, order, goal)
        ]
    return found


def _merges(factors: tuple[int, ...], order: tuple[int, ...], goal: tuple[int, ...]) -> bool:
    """Whether the factors in this order give the goal, with nothing merged but what was adjacent, or the batch."""
    at = 0
    for n in goal:
        if at == len(order):
            return False
        size, start = factors[order[at]], at
        while size < n and at + 1 < len(order):
            adjacent = order[at + 1] == order[at] + 1 or 0 in (order[0] + start, order[at + 1])
            if not adjacent:
                return False
            at += 1
            size *= factors[order[at]]
        if size != n:
            return False
        at += 1
    return at == len(order)


def equal(a: Tensor, b: Tensor, close: float) -> bool:
    return a.shape == b.shape and bool(alike(a, b, close).all())


def alike(a: Tensor, b: Tensor, close: float) -> Tensor:
    """Which numbers of two tensors of one shape are the same."""
    finite = b[b.isfinite()]
    bound = close * (1e-3 + (float(finite.abs().max()) if finite.numel() else 0.0))
    return (a == b) | (a.isnan() & b.isnan()) | ((a - b).abs() <= bound)


def hidden(numbers: Tensor) -> Tensor:
    """Numbers that hide as -inf does, as -inf."""
    return numbers.masked_fill(numbers < HIDDEN, -math.inf)


def summarised(numbers: Tensor) -> Summary:
    """Sum, sum of squares, number of what is not finite, largest: the same in any order."""
    kept, odd = numbers, 0
    total = float(numbers.sum())
    if not math.isfinite(total):
        kept = numbers[numbers.isfinite()]
        odd, total = numbers.numel() - kept.numel(), float(kept.sum())
    largest = float(kept.abs().max()) if kept.numel() else 0.0
    return total, float(kept.square().sum()), float(odd), largest


def _listed(value: Any) -> Plain:
    return [_listed(one) for one in value] if isinstance(value, (tuple, list)) else value


def _form(value: Plain) -> str:
    """A plain value with its fractions left out."""
    if isinstance(value, list):
        return f"[{','.join(map(_form, value))}]"
    return "f" if isinstance(value, float) and not value.is_integer() else repr(value)


def _holds_tensor(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return any(_holds_tensor(one) for one in value)
    return isinstance(value, (Tensor, Ref))


def _same_plain(a: Plain, b: Plain) -> bool:
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_same_plain, a, b))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        return a == b or math.isclose(a, b, rel_tol=1e-9) or (a != a and b != b)
    return type(a) is type(b) and bool(a == b)
