"""What a wrong value is, in words made of the right run: operations, axes, sizes, the names of steps."""

from __future__ import annotations

import pytest
import torch

from grader.core.submission import SubmissionError
from grader.edits.changed_part import changed_part, exchanged, only_more_room
from grader.edits.source_tree import Source
from grader.engine.local import LocalSubmission
from grader.places.altered_steps import altered_steps
from grader.places.common_explanation import in_common
from grader.places.explainer import Statement
from grader.places.right_runs import Step
from grader.places.unknown_names import unknown
from grader.places.value_names import short_pair
from grader.places.vocabulary import Sizes, Slot, arguments
from tests import solution_file
from tests.grader.places.placed import place


def explained(exercise: str, old: str, new: str) -> tuple[str, str]:
    """What is said of a solution with one change."""
    text = solution_file(exercise).read_text(encoding="utf-8")
    assert old in text
    found = place(exercise, text.replace(old, new))
    assert found is not None
    return found.value, found.expected


@pytest.mark.parametrize(
    ("exercise", "old", "new", "value", "expected"),
    [
        (
            "feedforward",
            "self.up(x).relu()",
            "nn.functional.softplus(self.up(x))",
            "softplus(x W1 + b1)",
            "hidden layer: relu(x W1 + b1)",
        ),
        (
            "norm",
            "centred.square().mean",
            "centred.square().sum",
            "sum of deviations squared over dim -1 (features), which is ",
            "variance: mean of deviations squared over dim -1 (features)",
        ),
        (
            "attention",
            "scores.softmax(dim=-1)",
            "scores.softmax(dim=-2)",
            "softmax of scaled scores over dim -2 (queries)",
            "weights: softmax of scaled scores over dim -1 (keys)",
        ),
        (
            "attention",
            " / math.sqrt(query.size(-1))",
            "",
            "softmax of Q K^T over dim -1 (keys)",
            "weights: softmax of scaled scores over dim -1 (keys)",
        ),
        (
            "masks",
            "tokens != pad",
            "tokens == pad",
            "tokens == 0, the inverse of what is right",
            "padding mask: tokens != 0",
        ),
        (
            "masks",
            "tokens: Tensor, pad: int = 0",
            "tokens: Tensor, pad: int = 1",
            "the default of `pad` is 1",
            "0",
        ),
        (
            "loss",
            "ignore_index=pad",
            "ignore_index=-100",
            "cross_entropy(logits, target, ignore_index=-100)",
            "cross_entropy(logits, target, ignore_index=0)",
        ),
        ("positions", "10000 **", "1000 **", "1000 ** ", "10000 ** "),  # in a constructor
    ],
)
@pytest.mark.sampled(4)
def test_operations_are_said_with_names_and_axes(
    exercise: str, old: str, new: str, value: str, expected: str
) -> None:
    found = explained(exercise, old, new)
    assert found[0].startswith(value)
    assert found[1].startswith(expected) or found[1].endswith(expected)


@pytest.mark.usefixtures("hurried")  # no small change of the lines makes this right
def test_a_list_is_said_too() -> None:
    value, expected = explained("training", "*row[::-1], EOS", "*row[::-1]")
    assert value.startswith("the list of this line is [")
    assert expected.endswith(", 2]")


@pytest.mark.slow
def test_no_value_is_explained_by_its_own_name() -> None:
    attended = "self.dropout(self.cross_attention(x, memory, memory, src_mask))"
    _, expected = explained("decoder", f"self.norm2(x + {attended})", f"x + self.norm2({attended})")
    assert expected == "layer norm of normalized x + cross-attention"


def test_a_gradient_that_ends_is_said_with_the_expression() -> None:
    value, _ = explained("feedforward", ".relu())", ".relu().detach())")
    assert value == "`self.up(x).relu().detach()` stops the gradient"


@pytest.mark.usefixtures("hurried")  # no small change of the lines makes this right
@pytest.mark.slow
def test_a_softmax_by_hand_is_seen_as_one() -> None:
    """Nothing that goes before the last step is in a right run: a right step is varied until it fits."""
    by_hand = "(scores.exp() / scores.exp().sum(-2, keepdim=True))"
    value, expected = explained("attention", "scores.softmax(dim=-1)", by_hand)
    assert "over dim -2 (queries)" in value
    assert "over dim -1 (keys)" in expected


def test_words_are_those_that_fit_in_all_scenarios() -> None:
    sizes = [
        Sizes({"x": (2, 5, 4)}, {"d_model": 4, "heads": 2}, ["x [B, T, D]"]),
        Sizes({"x": (3, 9, 6)}, {"d_model": 6, "heads": 36}, ["x [B, T, D]"]),
    ]
    statements = [
        [Statement(("x / ", one.number(one.numbers["d_model"] ** 0.5)), ("sum over ", one.dim(x, -1)))]
        for one, x in zip(sizes, [(2, 5, 4), (3, 9, 6)], strict=True)
    ]
    assert in_common(statements)[1] == "sum over dim -1 (features)"
    assert in_common([[Statement((Slot("16", ("a", "b")),), ())], [Statement((Slot("9", ("b",)),), ())]])[
        0
    ] == ("16 (b)")


def test_a_size_with_several_meanings_has_none() -> None:
    square = Sizes({}, {"d_model": 9, "num_heads": 3}, [])
    number = Statement((square.number(3.0**0.5),), (square.dim((2, 3, 5, 3), 1),))
    assert in_common([[number]]) == ("1.732", "dim 1")
    oblong = Sizes({}, {"d_model": 12, "num_heads": 3}, [])
    number = Statement((oblong.number(3.0**0.5),), (oblong.dim((2, 3, 5, 4), 1),))
    assert in_common([[number]]) == ("1.732 (sqrt(num_heads))", "dim 1 (heads)")


def test_only_the_first_axis_is_called_the_batch() -> None:
    sizes = Sizes({"x": (2, 5, 8)}, {"num_heads": 2}, ["x [B, T, D]"])
    assert [sizes.axis((2, 2, 5, 4), dim) for dim in (0, 1)] == [("batch",), ("heads",)]
    assert Sizes({"x": (2, 5, 8)}, {}, ["x [B, T, D]"]).axis((2, 2, 5, 4), 1) == ()


def test_right_steps_are_varied() -> None:
    x = torch.tensor([[1.0, 2.0, 9.0], [4.0, -1.0, 3.0]])
    step = Step("mean", (x,), {"dim": -1}, x.mean(-1))
    said = {(op, kwargs.get("dim")) for op, _, kwargs, _, _ in altered_steps(step)}
    assert {("mean", -2), ("median", -1), ("sum", -1), ("std", -1)} <= said
    negated = [out for *_, out, note in altered_steps(step) if note == ", with the wrong sign"]
    assert [torch.equal(one, -x.mean(-1)) for one in negated] == [True]


@pytest.mark.parametrize("text", ["_, dim=", "_, '", "_, " + "(" * 200])
def test_arguments_that_were_cut_off_are_none(text: str) -> None:
    assert arguments(text) is None


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("x = norm(a, dim=-2) * gain", "x = norm(a, dim=-1) * gain", ("norm(a, dim=-2)", "norm(a, dim=-1)")),
        ("x = f(g(a) & m(t))", "x = f(g(a) & m(t, pad))", ("m(t)", "m(t, pad)")),
        ("x = y", "x = z", ("x = y", "x = z")),
        ("x = a.view(2)", "x = a.view(2).T", ("a.view(2)", "a.view(2).T")),
        ("x = 1\nf(x)", "x = 1", ("f(x)", "")),
        ("def f():\n  x = 1", "def f():\n  x = 1\n  g(x)", ("", "g(x)")),
        ("if a:\n  x = 1\n  g(x)", "if a:\n  x = 1\n  pass", ("g(x)", "")),
        ("x = 1\ny = 2", "y = 2\nx = 1", ("x = 1; y = 2", "y = 2; x = 1")),
    ],
)  # fmt: skip
def test_a_change_is_shown_with_the_expression_around_it(old: str, new: str, parts: tuple[str, str]) -> None:
    assert changed_part(old, new) == parts


def test_a_much_larger_number_is_only_more_room() -> None:
    assert only_more_room("slots = 8", "slots = 128")
    assert only_more_room("f(x)[:64]", "f(x)[:1000]")
    for old, new in (("x = 8", "x = 9"), ("f(x, 1)", "f(x, 16)"), ("x = 8", "y = 128"), ("x = 8", "x = 8.5")):
        assert not only_more_room(old, new)


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ("x = 1\ny = 2", "y = 2\nx = 1", 1, ("x = 1", "this statement after line 2")),
        ("x = 1\ny = 2", "y = 2\nx = 1", 2, ("y = 2", "this statement before line 1")),
        ("x = 1\nif a:\n  b()", "if a:\n  b()\nx = 1", 1, ("x = 1", "this statement after the `if` block of line 2")),
        ("x = 1\nif a:\n  b()", "if a:\n  b()\nx = 1", 2, ("if a:", "this statement before line 1")),
        ("def f():\n  a()\n  b()\n  c()", "def f():\n  a()\n  c()\n  b()", 4, ("c()", "this statement before line 3")),
        ("if a:\n  b()\nc()", "if a:\n  b()\n  c()", 3, None),
        ("x = 1", "x = 2", 1, None),
    ],
)  # fmt: skip
def test_a_statement_in_another_place_is_said_in_words(
    old: str, new: str, line: int, said: tuple[str, str] | None
) -> None:
    assert exchanged(old, new, line) == said


@pytest.mark.parametrize(
    ("line", "value", "expected"),
    [
        ("y = hiden.relu()", "`hiden` is not defined", "`hidden`"),
        ("y = hidden.rellu()", "`Tensor` has no attribute `rellu`", "`relu`"),
        ("y = torch.sofmax(hidden, -1)", "`torch` has no attribute `sofmax`", "`softmax`"),
        ("y = self.dwn(hidden)", "`self.dwn` is never assigned", "`self.down`"),
        ("y = self.third(hidden)", "`self.third` is never assigned", "`self.third = ...` in `__init__`"),
        (
            "y = self.seen; self.seen = x",
            "`self.seen` is assigned in line 25, which has not run",
            "a value that is always there",
        ),
        ("y = output", "`output` has no value yet", "a line before that gives `output` a value"),
    ],
)
def test_a_name_that_is_not_there_is_said_with_the_nearest_one(line: str, value: str, expected: str) -> None:
    text = (
        solution_file("feedforward")
        .read_text(encoding="utf-8")
        .replace("from torch", "import torch\nfrom torch")
    )
    text = text.replace("output: Tensor = self.down", f"{line}\n        output: Tensor = self.down")
    module = LocalSubmission.from_source(text).construct("FeedForward", [4, 8])
    with pytest.raises(SubmissionError) as raised:
        module.call([torch.ones(1, 2, 4)])
    assert raised.value.line is not None
    assert unknown(Source(text), raised.value.line, raised.value.message) == (value, expected)


def test_two_long_pieces_of_code_are_told_apart() -> None:
    """Each shortened alone they may read the same."""
    begin = "attend(" + ", ".join(["a_long_argument"] * 5)
    assert short_pair(f"{begin}, last=1)", f"{begin}, last=2)") == ("..., last=1)", "..., last=2)")
    assert short_pair("a + b", "a") == ("a + b", "a")
