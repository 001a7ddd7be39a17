"""The template teaches and gives nothing away; its worked example is true of the solution."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest
import torch

from grader.exercises.attention import solution as solution
from tests import ROOT

FOLDER = ROOT / "exercises"
TEMPLATE = FOLDER / "attention.py"


@pytest.fixture(scope="module")
def template() -> ModuleType:
    spec = importlib.util.spec_from_file_location("template_attention", TEMPLATE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_stub_says_what_is_to_be_written(template: ModuleType) -> None:
    x = torch.ones(1, 2, 4)
    with pytest.raises(NotImplementedError, match="attention: scaled_dot_product_attention"):
        template.scaled_dot_product_attention(x, x, x)
    with pytest.raises(NotImplementedError, match="attention: MultiHeadAttention makes"):
        template.MultiHeadAttention(4, 2)
    with pytest.raises(NotImplementedError, match=r"attention: MultiHeadAttention\.forward"):
        template.MultiHeadAttention.forward(None, x, x, x)


def test_signatures_are_those_of_the_solution(template: ModuleType) -> None:
    for name in ("scaled_dot_product_attention", "MultiHeadAttention"):
        assert str(inspect.signature(getattr(template, name))) == str(
            inspect.signature(getattr(solution, name))
        )
    ours, theirs = (inspect.signature(one.MultiHeadAttention.forward) for one in (template, solution))
    assert str(ours) == str(theirs)


def test_the_solution_imports_torch_and_the_standard_library_only() -> None:
    tree = ast.parse(Path(solution.__file__).read_text(encoding="utf-8"))
    imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    imported |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in imported} <= {"torch", "math"}


def test_the_worked_example_is_right() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    query = torch.tensor([[2.0, 0, 0, 0]])
    key = torch.tensor([[1.0, 0, 0, 0], [0, 1, 0, 0], [-1, 0, 0, 0]])
    value = torch.tensor([[1.0], [10], [100]])
    masks = (None, torch.tensor([True, True, False]), torch.tensor([0.0, 0.0, -torch.inf]))
    for mask in masks:
        output, weights = solution.scaled_dot_product_attention(query, key, value, mask)
        shares = ", ".join(f"{share:.3f}" for share in weights[0].tolist())
        assert re.search(rf"weights \[{shares}\] +output \[ ?{output.item():.3f}\]", text)


def test_nothing_in_the_exercises_gives_a_solution_away() -> None:
    code = ast.parse(TEMPLATE.read_text(encoding="utf-8"))
    bodies = [node for node in ast.walk(code) if isinstance(node, ast.FunctionDef)]
    statements = [
        s for body in bodies for s in body.body if not isinstance(s, ast.Expr)
    ]  # docstrings, super().__init__()
    assert all(isinstance(statement, ast.Raise) for statement in statements)
    telling = re.compile(
        r"softmax\(.*dim|transpose\(|masked_fill|\.matmul|q_proj\(|grader.exercises|sqrt\(d_model"
    )
    for file in FOLDER.rglob("*"):
        if file.is_file() and file.suffix in (".py", ".md"):
            assert not telling.search(file.read_text(encoding="utf-8")), file.name


@pytest.mark.parametrize("page", sorted(FOLDER.glob("*.py")), ids=lambda page: page.stem)
def test_the_commands_on_a_page_are_right_in_the_folder_where_it_lies(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert f"zoo grade {page.name}\n" in text
    assert f"`python {page.name}`" in text
    assert "exercises/" not in text
