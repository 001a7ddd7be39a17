"""A name is given on evidence: numbers that a mistake changes, in exactly the scenarios in which it would."""

from __future__ import annotations

import ast
import importlib
import math

import pytest

from grader.catalog import get_exercise, get_exercises
from grader.core.failures import Named
from grader.engine import grading
from grader.engine.grading import Grading
from grader.engine.local import LocalSubmission
from tests import solution_file
from tests.grader.right import right_files


def names(exercise: str, component: str, *changes: tuple[str, str], base: str = "solution") -> list[Named]:
    """What one component of a right file with changes is named."""
    text = right_files(exercise)[base]
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    subject = importlib.import_module(f"{get_exercise(exercise).package}.suite.scenarios").SUBJECT
    submission = LocalSubmission.from_source(text, filename=f"{exercise}.py")
    findings, accounts = Grading(submission, subject, 3).explained(component, math.inf)
    assert findings.wrong
    return [account.named for account in accounts]


POST = (
    ("x = self.norm1(x + self.dropout(", "x = self.norm1(self.dropout("),
    ("x = self.norm2(x + self.dropout(", "x = self.norm2(self.dropout("),
)


@pytest.mark.parametrize(
    ("changes", "name", "condition"),
    [
        (POST, "residual-missing", "Only with norm='post' (also by default): "),
        (
            (("self_attention(x, x, x, src_mask)", "self_attention(x, x, x)"),),
            "mask-not-passed",
            "Only with norm='post'",
        ),
    ],
)
def test_a_mistake_in_one_path_is_named_with_the_path(
    changes: tuple[tuple[str, str], ...], name: str, condition: str
) -> None:
    (named,) = names("encoder", "EncoderLayer", *changes)
    assert named.id == name
    assert named.text.startswith(condition)


@pytest.mark.slow
def test_a_mistake_that_explains_less_than_half_of_where_it_shows_is_not_named() -> None:
    """Over dim 1 is over the heads in some calls alone."""
    (named,) = names("attention", "scaled_dot_product_attention", ("softmax(dim=-1)", "softmax(dim=1)"))
    assert named.id == "rows-do-not-sum-to-one"


KL_DIVERGENCE = """wide = logits.to(torch.promote_types(logits.dtype, torch.float32)).flatten(0, 1)
    ids = target.flatten()
    shares = torch.full_like(wide, smoothing / (wide.size(-1) - 2)).scatter(1, ids[:, None], 1 - smoothing)
    shares[:, pad] = 0
    keep = ids != pad
    each = F.kl_div(wide.log_softmax(-1), shares, reduction="none").sum(-1)
    return (each[keep].sum() / keep.sum()).to(logits.dtype)
    loss = F.cross_entropy("""


def test_two_mistakes_at_once_are_both_named() -> None:
    start = "wide = logits.to(torch.promote_types(logits.dtype, torch.float32))  # bfloat16 has no digits for a sum"
    found = names("loss", "sequence_loss", (f"{start}\n    loss = F.cross_entropy(", KL_DIVERGENCE))
    assert {one.id for one in found} == {"smoothing-shares-differ", "divergence-for-cross-entropy"}


def test_two_mistakes_of_attention_are_both_named() -> None:
    missing = (" / math.sqrt(query.size(-1))", ""), ("if mask is None:", "if True:")
    found = names("attention", "scaled_dot_product_attention", *missing)
    assert {one.id for one in found} == {"missing-scale", "mask-ignored"}


@pytest.mark.parametrize(
    ("exercise", "component", "old", "new"),
    [
        ("norm", "LayerNorm", "x.to(torch.promote_types(x.dtype, torch.float32))", "x.half().float()"),
        ("feedforward", "FeedForward", "self.down(hidden)", "self.down(hidden.half().to(x.dtype))"),
        (
            "attention",
            "scaled_dot_product_attention",
            "return weights @ value, weights",
            "return weights.half().to(value.dtype) @ value, weights.half().to(value.dtype)",
        ),
    ],
)
def test_half_precision_is_no_factor(exercise: str, component: str, old: str, new: str) -> None:
    (named,) = names(exercise, component, (old, new))
    assert named.id == "low-precision"
    assert "3 digits" in named.text


def test_a_small_difference_is_not_called_a_change_in_place() -> None:
    half = ("wide = logits.to(", "wide = logits.half().to(")
    assert "argument-changed-in-place" not in {one.id for one in names("loss", "sequence_loss", half)}


@pytest.mark.parametrize("residual", ["", "x + "])
@pytest.mark.sampled(2)
def test_parameters_too_many_are_described(residual: str) -> None:
    made = "self.down = nn.Linear(d_ff, d_model)"
    (named,) = names(
        "feedforward",
        "FeedForward",
        (made, f"{made}\n        self.inner = nn.LayerNorm(d_model)"),
        ("self.down(hidden)", f"self.inner({residual}self.down(hidden))"),
    )
    assert named.id == "extra-parameters"
    assert "inner: a norm's gain and bias [8]" in named.text


@pytest.mark.parametrize(
    ("old", "new"),
    [("nn.Linear(d_ff, d_model)", "nn.Linear(d_model, d_ff)"), ("self.up(x).relu()", "x.relu()")],
)
def test_errors_alone_are_no_evidence_for_two_mistakes(old: str, new: str) -> None:
    assert names("feedforward", "FeedForward", (old, new)) == []


def test_what_is_wrong_in_train_mode_is_named_by_its_cause() -> None:
    """Not by the mode, where the list has the mistake."""
    dropped = (
        ("x = self.norm1(x + self.dropout(", "x = self.dropout(self.norm1(x + "),
        (
            "x = self.norm2(x + self.dropout(",
            "x = self.dropout(self.norm2(x + ",
        ),
    )
    assert [one.id for one in names("encoder", "EncoderLayer", *dropped)] == ["dropout-on-result"]


def test_a_renamed_argument_hides_no_mistake_and_is_named_as_no_other() -> None:
    """None of the code runs in a call by a keyword that it lacks: any mistake that raises would give that result."""
    renamed = (
        ("cache: Cache | None)", "past: Cache | None)"),
        ("if cache is", "cache = past\n        if cache is"),
    )
    unscaled = (" / math.sqrt(q.size(-1))", "")
    (named,) = names("kv_cache", "CachedAttention", *renamed, unscaled)
    assert named.id == "scale-missing"
    assert not named.text.startswith("Only ")
    assert [one.id for one in names("kv_cache", "CachedAttention", *renamed)] == ["argument-names"]


@pytest.mark.slow
def test_projections_without_plain_names_are_read_by_what_comes_out_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The key goes through the query's projection: no whole result is right, however the four are read."""
    monkeypatch.setattr(grading, "READING_S", 60.0)  # whatever else the processor does
    text = solution_file("attention").read_text(encoding="utf-8")
    order = {"out_proj": "first", "v_proj": "second", "k_proj": "third", "q_proj": "fourth"}
    text = text.replace("self.k_proj(key)", "self.q_proj(key)")
    for old, new in order.items():
        assert f"self.{old}" in text
        text = text.replace(f"self.{old}", f"self.{new}")
    lines = text.splitlines(keepends=True)
    made = [i for i, line in enumerate(lines) if " = nn.Linear(" in line]
    for i, line in zip(made, [lines[i] for i in made][::-1], strict=True):
        lines[i] = line
    subject = importlib.import_module(f"{get_exercise('attention').package}.suite.scenarios").SUBJECT
    submission = LocalSubmission.from_source("".join(lines), filename="attention.py")
    _, accounts = Grading(submission, subject, 3).explained("MultiHeadAttention", math.inf)
    named = [account.named.id for account in accounts]
    assert named in (["key-through-query-projection"], ["query-through-key-projection"])


@pytest.mark.slow
@pytest.mark.parametrize("exercise", list(get_exercises()))
@pytest.mark.parametrize("error", ["TypeError", "ValueError", "IndexError", "RuntimeError", "AttributeError"])
def test_an_error_of_one_s_own_is_called_no_known_mistake(exercise: str, error: str) -> None:
    """Many errors have one type: the message must be the same, too."""
    text = solution_file(exercise).read_text(encoding="utf-8")
    subject = importlib.import_module(f"{get_exercise(exercise).package}.suite.scenarios").SUBJECT
    for function in ast.walk(ast.parse(text)):
        if not isinstance(function, ast.FunctionDef) or function.name.startswith("__"):
            continue
        lines = text.splitlines()
        at = function.body[ast.get_docstring(function) is not None]
        lines.insert(at.lineno - 1, f"{' ' * at.col_offset}raise {error}('a step of my own')")
        submission = LocalSubmission.from_source("\n".join(lines), filename=f"{exercise}.py")
        grading = Grading(submission, subject, 3)
        for component in get_exercise(exercise).components:
            _, accounts = grading.explained(component, math.inf)
            assert [account.named.id for account in accounts] == [], f"{function.name} of {component}"


UP, DOWN = "self.up = nn.Linear(d_model, d_ff)", "self.down = nn.Linear(d_ff, d_model)"
MADE = f"{UP}\n        {DOWN}"
HIDDEN, DROPPED = (
    "self.dropout(self.up(x).relu())",
    "nn.functional.dropout(self.up(x).relu(), self.dropout.p)",
)


@pytest.mark.parametrize(
    ("name", "changes"),
    {
        "parameters-not-registered": (
            (UP, "self.parts = [nn.Linear(d_model, d_ff)]"), ("self.up(", "self.parts[0]("),
        ),
        "starts-at-zero": ((MADE, f"{MADE}\n        [nn.init.zeros_(one) for one in self.parameters()]"),),
        "dropout-in-eval": ((HIDDEN, DROPPED),),
    }.items(),
)  # fmt: skip
def test_weights_elsewhere_weights_of_zero_and_dropout_for_ever(
    name: str, changes: tuple[tuple[str, str], ...]
) -> None:
    assert name in [one.id for one in names("feedforward", "FeedForward", *changes)]


def test_one_layer_may_start_at_zero() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    text = text.replace(DOWN, f"{DOWN}\n        nn.init.zeros_(self.down.weight)")
    subject = importlib.import_module("grader.exercises.feedforward.suite.scenarios").SUBJECT
    submission = LocalSubmission.from_source(text, filename="feedforward.py")
    assert not Grading(submission, subject, 3).explained("FeedForward", math.inf)[0].wrong


def test_only_the_model_itself_in_train_mode_is_not_enough() -> None:
    found = names("training", "train_step", ("model.train()", "model.training = True"))
    assert [one.id for one in found] == ["train-mode-missing"]


def test_one_projection_of_a_packed_matrix_that_is_never_used() -> None:
    packed = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("no")
        self.num_heads, self.dropout = num_heads, nn.Dropout(dropout)
        self.c_attn, self.c_proj = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = self.c_attn.weight.chunk(3)
        bq, bk, bv = self.c_attn.bias.chunk(3)
        pairs = ((query, wq, bq), (key, wk, bk), (value, wk, bk))
        q, k, v = ((x @ w.T + b).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for x, w, b in pairs)
        _, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.c_proj((self.dropout(weights) @ v).transpose(1, 2).flatten(2))
"""
    text = solution_file("attention").read_text(encoding="utf-8")
    text = text[: text.index("class MultiHeadAttention")] + packed
    subject = importlib.import_module("grader.exercises.attention.suite.scenarios").SUBJECT
    submission = LocalSubmission.from_source(text, filename="attention.py")
    _, accounts = Grading(submission, subject, 3).explained("MultiHeadAttention", math.inf)
    assert [account.named.id for account in accounts] == ["value-through-key-projection"]


def test_an_error_on_one_path_alone_is_called_no_known_mistake() -> None:
    change = ("if size == 1 and", "if size == 2 and")
    assert not names("attention", "MultiHeadAttention", change, base="hand_written_backward")
