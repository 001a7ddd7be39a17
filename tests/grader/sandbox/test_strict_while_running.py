"""`--strict` while a submission runs: torch's own attention is noted by whatever route it is reached."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
import torch

import grader.exercises.attention.solution
from grader.catalog import get_exercise
from grader.core.policy import Uses, library_attention, library_attention_seen
from grader.core.results import Grade
from grader.core.submission import SubmissionError
from grader.run.run import Request, grade_file
from grader.run.session import no_progress
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from tests.grader.right import right_files
from tests.grader.wrong.attention import CALL, RIGHT

HEAD = "import torch, torch.nn.functional as F\nfrom torch import nn\n"
SDPA = '"scaled_dot" + "_product_attention"'
MHA = '"multi_head_" + "attention_forward"'


def used(sandbox: Sandbox, body: str, *, strict: bool = True) -> Uses:
    """What is noted of a function `go` with this body in line 4, whose gradient is asked for too."""
    source = f"{HEAD}def go(q):\n  {body}\n"
    assert library_attention(source) == ""  # disguised: the source alone does not tell
    uses: Uses = set()
    file = RemoteSubmission(sandbox.worker("cpu"), source.encode(), "a.py", uses=uses if strict else None)
    try:
        go = file.function("go")
        outcome = go.call([torch.randn(2, 3, 4, 8)], grad=[0])
        go.backward(outcome, [torch.ones_like(outcome.value)])
    finally:
        file.close()
    return uses


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (f"return getattr(F, {SDPA})(q, q, q)", "scaled_dot_product_attention"),
        (f"return vars(torch._C._nn)[{SDPA}](q, q, q)", "scaled_dot_product_attention"),
        (f"return getattr(torch.ops.aten, {SDPA})(q, q, q)", "scaled_dot_product_attention"),
        (f"return getattr(torch.ops.aten, {SDPA}).default(q, q, q)", "scaled_dot_product_attention"),
        ('return eval("F.scaled_dot_product" + "_attention(q, q, q)")', "scaled_dot_product_attention"),
        (
            f"return getattr(torch, '_' + {SDPA} + '_math')(q, q, q)[0]",
            "_scaled_dot_product_attention_math",
        ),
        (
            'return getattr(torch.ops.aten, "_scaled_dot_" + "product_flash_attention_for_cpu")(q, q, q)[0]',
            "_scaled_dot_product_flash_attention_for_cpu",
        ),
        (
            f"a = torch._C.DisableTorchFunction(); a.__enter__(); return getattr(F, {SDPA})(q, q, q)",
            "_scaled_dot_product_flash_attention_for_cpu",
        ),
        (
            f"w = torch.eye(8); return getattr(F, {MHA})(q[0], q[0], q[0], 8, 2, w.repeat(3, 1), None, None, None,"
            " False, 0.0, w, None)[0]",
            "multi_head_attention_forward",
        ),
        ('return getattr(nn, "Multihead" + "Attention")(8, 2)(q[0], q[0], q[0])[0]', "MultiheadAttention"),
        ('getattr(nn, "Trans" + "former")(8, 2, 1, 1); return q * 2', "Transformer"),
        (
            'type("Mine", (getattr(nn, "TransformerDecoder" + "Layer"),), {})(8, 2); return q * 2',
            "TransformerDecoderLayer",
        ),
    ],
)
def test_disguised_uses_are_noted_with_their_line(sandbox: Sandbox, body: str, name: str) -> None:
    assert used(sandbox, body) == {(4, name)}


@pytest.mark.parametrize(
    "body",
    [
        "return (q @ q.mT / 8**0.5).softmax(-1) @ q",
        "return torch.ops.aten.softmax(q @ q.mT, -1) @ q",
        "return torch.vmap(lambda x: (x @ x.mT).softmax(-1) @ x)(q)",
        "return torch.utils.checkpoint.checkpoint(lambda x: x @ x.mT, q, use_reentrant=False)",
        "return nn.LayerNorm(8)(q) + F.dropout(q, 0.5) + torch.einsum('...ij,...kj->...ik', q, q) @ q",
    ],
)
def test_own_attention_is_left_in_peace(sandbox: Sandbox, body: str) -> None:
    assert used(sandbox, body) == set()


@pytest.mark.slow  # it compiles
def test_flex_attention_is_noted_whether_it_compiles_or_not(sandbox: Sandbox) -> None:
    body = "import importlib; m = importlib.import_module('torch.nn.attention.flex_' + 'attention'); x = q.detach()"
    uses: Uses = set()
    source = f"{HEAD}def go(q):\n  {body}\n  return getattr(m, 'flex_' + 'attention')(x, x, x)\n"
    assert library_attention(source) == ""
    with (
        contextlib.closing(
            RemoteSubmission(sandbox.worker("cpu"), source.encode(), "a.py", uses=uses)
        ) as file,
        contextlib.suppress(SubmissionError),
    ):
        file.function("go").call([torch.randn(2, 2, 16, 16)])
    assert uses == {(5, "flex_attention")}


def test_without_strict_nothing_is_looked_for(sandbox: Sandbox) -> None:
    assert used(sandbox, f"return getattr(F, {SDPA})(q, q, q)", strict=False) == set()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (f"x = torch.ones(1, 1, 2, 4)\ngetattr(F, {SDPA})(x, x, x)", {(4, "scaled_dot_product_attention")}),
        (
            f"x = torch.ones(1, 1, 2, 4)\ngetattr(F, {SDPA})(x, x, x)\nraise ValueError",
            {(4, "scaled_dot_product_attention")},
        ),
        (f"go = getattr(F, {SDPA})", {(0, "scaled_dot_product_attention")}),
        ("eval('nn.Multihead' 'Attention(8, 2)')", {(3, "MultiheadAttention")}),
    ],
    ids=["on-import", "before-a-failure", "no-line", "eval"],
)
def test_import_failures_and_calls_without_a_line(sandbox: Sandbox, source: str, found: Uses) -> None:
    uses: Uses = set()
    x = torch.ones(1, 1, 2, 4)
    try:
        file = RemoteSubmission(sandbox.worker("cpu"), (HEAD + source).encode(), "a.py", uses=uses)
        with contextlib.closing(file):
            file.function("go").call([x, x, x])
    except SubmissionError:
        pass
    assert uses == found


# A whole grade.


def graded(sandbox: Sandbox, text: str, *, strict: bool = True, categories: str = "shape masking") -> Grade:
    asked = Request(
        get_exercise("attention"), "attention.py", text.encode(), "cpu", 5, frozenset(categories.split()), strict,
        sandbox,
    )  # fmt: skip
    return grade_file(asked, no_progress)


DISGUISED = RIGHT.replace(
    CALL,
    "weights, theirs = None, getattr(F, 'scaled_dot_' + 'product_attention')\n"
    "        return self.w_o(self.join(theirs(q, k, v, mask), B))",
).replace(
    "    def forward(",
    "    def join(self, x, B):\n        return x.transpose(1, 2).reshape(B, -1, self.h * self.d_k)\n\n    def forward(",
)


def test_a_disguised_file_fails_with_the_line_and_no_further_test_runs(sandbox: Sandbox) -> None:
    line = next(i for i, text in enumerate(DISGUISED.splitlines(), 1) if "theirs(q" in text)
    grade = graded(sandbox, DISGUISED)
    assert not grade.passed
    failed = [result for result in grade.results if result.status == "failed"]
    assert [result.name for result in failed] == ["rules"]
    assert f"  line {line}: scaled_dot_product_attention was called\n" in failed[0].message
    after = grade.results[grade.results.index(failed[0]) + 1 :]
    assert after
    assert {result.status for result in after} == {"skipped"}


def test_the_same_file_is_graded_like_any_other_without_strict(sandbox: Sandbox) -> None:
    grade = graded(sandbox, DISGUISED, strict=False)
    assert "rules" not in {result.name for result in grade.results}
    assert grade.results[0].status == "passed"


OWN = {title: text for title, text in right_files("attention").items() if not library_attention(text)}


@pytest.mark.slow
@pytest.mark.parametrize("name", OWN)
def test_right_files_in_unusual_styles_pass_strict(sandbox: Sandbox, name: str) -> None:
    grade = graded(sandbox, OWN[name], categories="shape masking gradients")
    assert [result.message for result in grade.results if result.status != "passed"] == []


def test_the_solution_passes_strict(sandbox: Sandbox) -> None:
    text = Path(grader.exercises.attention.solution.__file__).read_text(encoding="utf-8")
    assert graded(sandbox, text).passed


def test_the_sentence_names_what_was_called() -> None:
    assert library_attention_seen(set()) == ""
    said = library_attention_seen({(12, "flex_attention"), (0, "MultiheadAttention")})
    assert said.splitlines()[1:3] == [
        "  MultiheadAttention was called",
        "  line 12: flex_attention was called",
    ]
