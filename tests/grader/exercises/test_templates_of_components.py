"""Pages of masks, positions, feedforward, norm and loss: what they say is true, and they give nothing away."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from grader.exercises.feedforward import solution as feedforward
from grader.exercises.loss import solution as loss
from grader.exercises.masks import solution as masks
from grader.exercises.norm import solution as norm
from grader.exercises.positions import solution as positions
from tests import ROOT, solution_file, template_file

NAMES = ("masks", "positions", "feedforward", "norm", "loss")
EXERCISES = ROOT / "exercises"


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"page_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def written(module: ModuleType) -> dict[str, Any]:
    """The functions and classes that a file itself defines."""
    return {
        name: one for name, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__
    }


@pytest.mark.parametrize("name", NAMES)
def test_an_exercise_is_its_template(name: str) -> None:
    assert (EXERCISES / f"{name}.py").read_bytes() == template_file(name).read_bytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_page_and_its_solution_import_torch_and_math_only(name: str) -> None:
    for file in (template_file(name), solution_file(name)):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found = {a.name for node in ast.walk(tree) if isinstance(node, ast.Import) for a in node.names}
        found |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {one.partition(".")[0] for one in found} <= {"torch", "math"}


@pytest.mark.parametrize("name", NAMES)
def test_every_stub_of_a_page_says_what_is_to_be_written(name: str) -> None:
    stubs = written(load(template_file(name)))
    assert stubs
    for stub_name, stub in stubs.items():
        called = [stub]
        if inspect.isclass(stub):
            assert stub.__doc__
            called.append(lambda *args, stub=stub: stub.forward(None, *args))
        for one in called:
            required = _required(stub.forward if one is not stub else stub)
            with pytest.raises(NotImplementedError, match=f"{name}: {stub_name}") as caught:
                one(*[2] * required)
            assert len(str(caught.value)) > len(f"{name}: {stub_name} ")


def _required(one: Callable[..., Any]) -> int:
    """How many arguments must be given, `self` of a method not counted."""
    parameters = inspect.signature(one).parameters.values()
    return sum(
        p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD and p.name != "self" for p in parameters
    )


@pytest.mark.parametrize("name", NAMES)
def test_signatures_of_page_and_solution_are_the_same(name: str) -> None:
    stubs, solution = (
        written(load(template_file(name))),
        importlib.import_module(f"grader.exercises.{name}.solution"),
    )
    for stub_name, stub in stubs.items():
        other = getattr(solution, stub_name)
        assert str(inspect.signature(stub)) == str(inspect.signature(other))
        if inspect.isclass(stub):
            assert str(inspect.signature(stub.forward)) == str(inspect.signature(other.forward))


@pytest.mark.parametrize("name", NAMES)
def test_each_stub_has_three_hints(name: str) -> None:
    hints = importlib.import_module(f"grader.exercises.{name}.hints").HINTS
    assert list(hints) == list(written(load(template_file(name))))
    assert {len(each) for each in hints.values()} == {3}


def shown(values: Tensor, places: int = 3) -> str:
    """A row of numbers as the pages print it, as a pattern that takes any spaces between."""
    numbers = (re.escape(f"{value + 0.0:.{places}f}") for value in values.tolist())
    return r"\[ *" + r", +".join(numbers) + r"\]"


def test_the_worked_examples_of_the_pages_are_true() -> None:
    page = {name: template_file(name).read_text(encoding="utf-8") for name in NAMES}
    for d_model in (4, 5):
        for row in positions.SinusoidalPositions(d_model)(torch.zeros(1, 3, d_model))[0]:
            assert re.search(shown(row), page["positions"])
    x = torch.tensor([1.0, 2, 3, 6])
    layer = norm.LayerNorm(4)
    square = _Square()
    examples = [layer(x), norm.PostNorm(layer, square)(x), square(layer(x)), norm.PreNorm(layer, square)(x)]
    layer = norm.LayerNorm(4)
    layer.gain.data[2] = 2
    layer.bias.data[3] = 10
    for row in (*examples, layer(x)):
        assert re.search(shown(row), page["norm"])
    network = feedforward.FeedForward(2, 3)
    network.up.weight.data = torch.tensor([[1.0, 0, -1], [0, 2, 1]]).T
    network.up.bias.data = torch.tensor([0.0, 1, 4])
    network.down.weight.data = torch.tensor([[1.0, 2], [5, 5], [0, 3]]).T
    network.down.bias.data = torch.tensor([0.5, 0])
    assert network(torch.tensor([[[2.0, -1]]])).tolist() == [[[2.5, 7.0]]]
    logits = torch.tensor([[[0.0, 1, 2, 0], [0, 0, 0, 3], [5, 0, 0, 0]]], dtype=torch.float64)
    for smoothing in (0.0, 0.1):
        value = loss.sequence_loss(logits, torch.tensor([[2, 3, 0]]), smoothing=smoothing).item()
        assert re.search(rf"sequence_loss  .* {value:.3f}\b", page["loss"])
        for i, target in enumerate((2, 3)):
            one = loss.sequence_loss(logits[:, [i]], torch.tensor([[target]]), smoothing=smoothing).item()
            assert re.search(rf"{shown(logits[0, i], 0)} .* {one:.3f}\b", page["loss"])
    assert loss.shift_right(torch.tensor([[4, 3, 2, 0]])).tolist() == [[1, 4, 3, 2]]
    for tokens in ([5, 8, 0], [0, 5, 8]):
        drawn = ["".join(" 1" if keep else " ." for keep in row) for row in _decoder_rows(tokens)]
        assert re.search(rf"tokens \[{re.escape(str(tokens))}\].*\n?.*{re.escape(drawn[0])}", page["masks"])
        assert all(row in page["masks"] for row in drawn)


def _decoder_rows(tokens: list[int]) -> list[list[bool]]:
    return masks.decoder_mask(torch.tensor([tokens]))[0, 0].tolist()  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", NAMES)
def test_a_stub_raises_and_does_nothing_else(name: str) -> None:
    tree = ast.parse(template_file(name).read_text(encoding="utf-8"))
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    assert bodies
    assert all(isinstance(one, (ast.Raise, ast.Expr)) for body in bodies for one in body)


class _Square(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.square()
