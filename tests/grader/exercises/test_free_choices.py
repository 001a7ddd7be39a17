"""What the contracts leave free: how options are taken, what counts as a number or a pair, when parameters are made."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from grader.author.matrix import WITHOUT_TRAINING
from grader.author.proofs import solution_text
from grader.catalog import get_exercise, get_exercises
from grader.core.submission import Submission, SubmissionError
from grader.engine.local import LocalSubmission
from grader.run.session import Session
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from grader.worker import components
from grader.worker.absent import without_compiling
from grader.worker.parts.kinds import PARTS

METHODS = ("__init__", "forward", "encode", "decode")


def by_keyword_only(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with its options keyword-only."""
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return function
    required = sum(one.default is one.empty and one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)

    @functools.wraps(function)
    def strict(*args: Any, **kwargs: Any) -> Any:
        if len(args) > required:
            raise TypeError(f"{function.__name__}() takes {required} positional arguments, got {len(args)}")
        return function(*args, **kwargs)

    return strict


def with_keyword_only_options(namespace: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """The functions and classes of these names, whose options are keyword-only when they are called from outside."""
    changed = {}
    for name in names:
        found = namespace[name]
        if isinstance(found, type):
            methods = [method for method in METHODS if hasattr(found, method)]
            own = {method: by_keyword_only(getattr(found, method)) for method in methods}
            changed[name] = type(name, (found,), own)
        else:
            changed[name] = by_keyword_only(found)
    return changed


@pytest.mark.parametrize("name", get_exercises())
@pytest.mark.sampled(4)
def test_options_may_be_keyword_only(name: str) -> None:
    exercise = get_exercise(name)
    shipped = LocalSubmission.from_source(solution_text(exercise), filename=exercise.file)
    namespace = with_keyword_only_options(dict(shipped._namespace), exercise.components)
    results = Session(exercise, lambda: LocalSubmission(namespace), seed=1).run(WITHOUT_TRAINING)
    assert [(one.name, one.message) for one in results if one.status != "passed"] == []


def test_the_guard_refuses_options_by_position() -> None:
    guarded = by_keyword_only(lambda x, y=2: x + y)
    assert guarded(1, y=3) == 4
    with pytest.raises(TypeError):
        guarded(1, 3)


CODE = """
import collections, dataclasses, enum, fractions
import numpy as np
import torch
from torch import nn

@dataclasses.dataclass(frozen=True)
class Pair:
    output: object
    weights: object
    def __iter__(self):
        return iter((self.output, self.weights))

@dataclasses.dataclass
class Closed:
    output: object

class Level(enum.IntEnum):
    HIGH = 3

def generated(x):
    yield x
    yield x + 1

Named = collections.namedtuple("Named", "output weights")
VALUES = {
    "np.float64": lambda x: np.float64(1.5), "np.float32": lambda x: np.float32(1.5), "np.int64": lambda x: np.int64(3),
    "np.bool": lambda x: np.bool_(True), "fraction": lambda x: fractions.Fraction(3, 2), "enum": lambda x: Level.HIGH,
    "nan": lambda x: np.float64("nan"),
    "dataclass": lambda x: Pair(x, x + 1), "closed": lambda x: Closed(x), "generator": generated,
    "named": lambda x: Named(x, x + 1), "deque": lambda x: collections.deque([x, x + 1]),
    "map": lambda x: map(lambda n: x + n, (0, 1)), "array": lambda x: x.numpy(), "module": lambda x: nn.ModuleList(),
    "text": lambda x: "ab", "class": lambda x: Level, "endless": lambda x: iter(int, 1),
}

def value(which, x):
    return VALUES[which](x)

class Lazy(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second, self.drop = nn.LazyLinear(width), nn.Linear(width, width), nn.Dropout(0.5)
        self.second.eval()
        self.calls = 0
    def forward(self, x):
        self.calls += 1
        return self.second(self.drop(self.first(x)))

class Late(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = None
    def forward(self, x):
        if self.inner is None:
            self.inner = nn.Linear(x.size(-1), x.size(-1))
        return self.inner(x)

class Broken(Late):
    def forward(self, x):
        raise RuntimeError("no call succeeds")

class Unmade(Lazy):
    def forward(self, x):
        raise RuntimeError("no call succeeds")

@torch.compile(fullgraph=True)
def compiled(x):
    return x * 2

class Compiled(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.compile(nn.Linear(2, 2))
        self.compile()
    def forward(self, x):
        return torch.compile(lambda y: y + 1)(self.inner(x))

@torch.jit.script
def scripted(x: torch.Tensor) -> torch.Tensor:
    return x + 1
"""


@pytest.fixture(scope="module", params=["here", "worker"])
def submission(request: pytest.FixtureRequest) -> Iterator[Submission]:
    opened: Submission
    if request.param == "here":
        opened = LocalSubmission.from_source(CODE, filename="part.py")
        opened.first_calls = dict.fromkeys(("Lazy", "Late", "Broken", "Unmade"), _first_call)
        yield opened
        return
    with Sandbox() as sandbox:
        opened = RemoteSubmission(sandbox.worker("cpu"), CODE.encode(), "part.py")
        opened.first_calls = dict.fromkeys(("Lazy", "Late", "Broken", "Unmade"), _first_call)
        yield opened
        opened.close()


def _first_call(width: int) -> list[torch.Tensor]:
    return [torch.zeros(1, width)]


def value(submission: Submission, which: str) -> Any:
    return submission.function("value").call([which, torch.ones(2)]).value


@pytest.mark.parametrize(
    ("which", "expected"),
    [
        ("np.float64", 1.5),
        ("np.float32", 1.5),
        ("np.int64", 3),
        ("np.bool", True),
        ("fraction", 1.5),
        ("enum", 3),
    ],
)
def test_a_number_is_a_number_of_any_kind(submission: Submission, which: str, expected: float) -> None:
    found = value(submission, which)
    assert (found, type(found)) == (expected, type(expected))


def test_nan_of_numpy_stays_nan(submission: Submission) -> None:
    assert value(submission, "nan") != value(submission, "nan")


@pytest.mark.parametrize("which", ["dataclass", "generator", "named", "deque", "map"])
def test_what_unpacks_into_two_is_a_pair(submission: Submission, which: str) -> None:
    first, second = value(submission, which)
    assert (first.tolist(), second.tolist()) == ([1, 1], [2, 2])


@pytest.mark.parametrize(
    ("which", "name"),
    [("closed", "Closed"), ("array", "ndarray"), ("module", "ModuleList"), ("class", "EnumType")],
)
def test_what_is_neither_is_only_named(submission: Submission, which: str, name: str) -> None:
    assert value(submission, which).type_name in (name, name.replace("EnumType", "EnumMeta"))


def test_text_is_text_and_an_endless_result_an_error(submission: Submission) -> None:
    assert value(submission, "text") == "ab"
    with pytest.raises(Exception, match="more than 4,000 parts"):
        value(submission, "endless")


@pytest.mark.parametrize("name", ["Lazy", "Late"])
def test_parameters_may_be_made_by_the_first_call(submission: Submission, name: str) -> None:
    made = submission.construct(name, (3,))
    infos = made.parameters()
    assert {info.value.size(-1) for info in infos.values()} == {3}
    made.load({key: torch.ones_like(info.value) for key, info in infos.items()})
    made.train(False)
    outcome = made.call([torch.ones(2, 3)], grad=[0])
    gradients = made.backward(outcome, [torch.ones_like(outcome.value)])
    assert set(gradients.parameters) == set(infos)
    assert all(g is not None for g in gradients.parameters.values())


def test_a_first_call_that_fails_is_no_error_of_the_constructor(submission: Submission) -> None:
    made = submission.construct("Broken", (3,))
    with pytest.raises(Exception, match="no call succeeds"):
        made.call([torch.ones(2, 3)])


def test_a_first_call_that_makes_no_parameters_says_why(submission: Submission) -> None:
    with pytest.raises(SubmissionError, match="no call succeeds"):
        submission.construct("Unmade", (3,))


def test_a_first_call_leaves_modes_and_records_as_they_were() -> None:
    module = LocalSubmission.from_source(CODE, filename="part.py")._namespace["Lazy"](3)
    module.handed = PARTS["Norm"](3)
    module.register_forward_pre_hook(lambda own, args: own.handed(*args))
    assert components.waits_for_call(module, (3,))
    components.call_first(module, [torch.zeros(1, 3)], "cpu")
    assert not components.waits_for_call(module, (3,))
    assert (module.training, module.second.training, module.drop.training) == (True, False, True)
    assert module.handed.recorded() == []
    assert module.calls == 1


def test_a_first_call_is_made_in_the_dtype_of_what_was_handed() -> None:
    module = LocalSubmission.from_source(CODE, filename="part.py")._namespace["Lazy"](3)
    module.handed = PARTS["Norm"](3).double()
    module.second.double()
    components.call_first(module, [torch.zeros(1, 3)], "cpu")
    assert {p.dtype for p in module.parameters()} == {torch.float64}


def test_only_what_waits_is_called() -> None:
    assert not components.waits_for_call(nn.Linear(2, 2), (2, 2))
    assert components.waits_for_call(nn.LazyLinear(2), (2,))
    assert components.waits_for_call(nn.Identity(), (2,))
    assert not components.waits_for_call(nn.Identity(), (nn.Linear(2, 2),))  # which it has not registered


@pytest.mark.parametrize("name", get_exercises())
def test_first_calls_fit_the_reference(name: str) -> None:
    """By position and by keyword, as scenarios construct, the reference's own class takes its first call."""
    import importlib

    reference = importlib.import_module(get_exercise(name).reference)
    sizes = {
        "d_model": 4, "num_heads": 2, "d_ff": 6, "num_layers": 1, "tgt_vocab": 5, "max_len": 3, "pad": 0, "norm": "pre",
    }  # fmt: skip
    attention, feed_forward = (lambda q, k, v, mask=None: q), nn.Identity()
    handed: dict[str, Any] = {
        "self_attention": _Module(attention), "cross_attention": _Module(attention), "feed_forward": feed_forward,
        "make_layer": lambda: _Module(lambda x, *_rest, **_named: x), "encoder": _Module(lambda x, *_r, **_n: x),
        "decoder": _Module(lambda x, *_r, **_n: x), "src_embed": nn.Embedding(5, 4), "tgt_embed": nn.Embedding(5, 4),
        "positions": nn.Identity(),
    }  # fmt: skip
    namespace = reference.namespace(reference.REFERENCE)
    for component, first in getattr(reference, "FIRST_CALLS", {}).items():
        signature = inspect.signature(namespace[component])
        named = {one: (sizes | handed)[one] for one in signature.parameters if one in sizes | handed}
        required = [named[one.name] for one in signature.parameters.values() if one.default is one.empty]
        for args, kwargs in (((), named), (required, {})):
            namespace[component](*args, **kwargs)(*first(*args, **kwargs))


class _Module(nn.Module):
    def __init__(self, does: Callable[..., Any]) -> None:
        super().__init__()
        self.does = does

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.does(*args, **kwargs)


def test_nothing_is_compiled(submission: Submission) -> None:
    x = torch.ones(1, 2)
    assert submission.function("compiled").call([x]).value.tolist() == [[2, 2]]
    assert submission.function("scripted").call([x]).value.tolist() == [[2, 2]]
    made = submission.construct("Compiled", ())
    assert set(made.parameters()) == {"inner.weight", "inner.bias"}
    assert made.call([x]).value.shape == (1, 2)


def test_compiling_comes_back() -> None:
    compiles = torch.compile
    with without_compiling():
        assert torch.compile(len) is len
        assert torch.compile(mode="default")(len) is len
    assert torch.compile is compiles


@pytest.mark.parametrize(
    ("table", "right"),
    [
        ("self.row.view(self.size).cpu()", True),
        ("self.row.view(self.size[::-1]).T", True),
        ("self.row.view(self.size).flip(0)", False),
        ("self.row.view(self.size[::-1]).T.roll(1, 0)", False),
    ],
    ids=["rows", "columns", "the last row first", "columns, one row further"],
)
def test_positions_may_be_one_vector(table: str, right: bool) -> None:
    exercise = get_exercise("positions")
    text = f"""
class LearnedPositions(nn.Module):
    def __init__(self, d_model, max_len=512):
        super().__init__()
        self.row, self.size = nn.Parameter(torch.randn(max_len * d_model)), (max_len, d_model)

    def forward(self, x):
        if x.shape[1] > self.size[0]:
            raise ValueError(f"{{x.shape[1]}} positions, and max_len={{self.size[0]}}")
        return x + {table}[: x.shape[1]]
"""
    one = LocalSubmission.from_source(f"{solution_text(exercise)}\n{text}", filename=exercise.file)
    results = Session(exercise, lambda: one, seed=1).run(WITHOUT_TRAINING)
    assert all(each.status == "passed" for each in results) == right
