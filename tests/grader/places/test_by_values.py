"""The place of a mistake, by values: in other styles than the solutions', in helpers, constructors and plain Python."""

from __future__ import annotations

import importlib

import pytest
import torch

from grader.catalog import get_exercise
from grader.core.value_trace import Place
from grader.edits.source_tree import Source
from grader.engine.local import LocalSubmission
from grader.places.by_source import kept, only_wrong
from grader.places.where import Where
from grader.places.wrong_results import Locator
from tests import solution_file
from tests.grader.right import right_files

OWN_STYLE = """import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, d_model, eps=1e-5):
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))
        self.shift = nn.Parameter(torch.zeros(d_model))

    def moments(self, x):
        mu = torch.einsum("...d->...", x) / x.size(-1)
        second = x.pow(2).mean(-1)
        return mu.unsqueeze(-1), (second - mu * mu).unsqueeze(-1)

    def forward(self, x):
        mu, var = self.moments(x.double())
        y = (x - mu) / (var + self.eps) ** 0.5
        y = y * self.gain
        y += self.shift
        return y.to(x.dtype)
"""
"""Moments by the squares, einsum, a helper, a step in place."""


def place(exercise: str, text: str) -> Where | None:
    """The place in the first component that is wrong."""
    submission = LocalSubmission.from_source(text, filename=f"{exercise}.py")
    subject = importlib.import_module(f"{get_exercise(exercise).package}.suite.scenarios").SUBJECT
    locator = Locator(submission, text, subject, seed=0)
    for component in get_exercise(exercise).components:
        wrong = locator.wrong(component) if submission.has(component) else []
        if wrong:
            return locator.place(wrong)
    return None


def line_of(text: str, part: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), start=1) if part in line)


SLOW = ("encoder", "decoder", "transformer", "decoding", "kv_cache")


@pytest.mark.parametrize(
    ("exercise", "old", "new"),
    [
        pytest.param(*case, marks=[pytest.mark.slow] * (case[0] in SLOW))
        for case in (
            ("kv_cache", "softmax(dim=-1)", "softmax(dim=-2)"),
            ("kv_cache", "math.sqrt(q.size(-1))", "q.size(-1)"),
            ("kv_cache", "(weights @ v).transpose(1, 2)", "(weights @ v).transpose(2, 3)"),
            ("masks", "tokens != pad", "tokens == pad"),
            ("masks", ".tril()", ".triu()"),
            ("positions", "10000 **", "1000 **"),  # in the constructor
            ("positions", "angle.cos()", "angle.sin()"),
            ("feedforward", "self.up(x).relu()", "self.up(x).tanh()"),
            ("norm", "centred.square().mean", "centred.square().sum"),
            ("encoder", "self.attention(y, y, y", "self.attention(y, y, x"),
            ("encoder", "self.norm2(x + self", "self.norm1(x + self"),
            ("decoder", "x, memory, memory, src_mask", "x, memory, memory, tgt_mask"),
            ("transformer", "math.sqrt(d_model)", "d_model"),  # an attribute
            ("loss", "sos), target", "sos), target + 1"),
            ("decoding", "[row + [pad]", "[row + [eos]"),
            ("training", "step**-0.5, step", "step**-1.5, step"),  # floats
        )
    ],
)
@pytest.mark.sampled(4)
def test_the_line_that_was_changed_is_shown(exercise: str, old: str, new: str) -> None:
    text = (
        solution_file(exercise).read_text(encoding="utf-8").replace("self.self_attention", "self.attention")
    )
    wrong = text.replace(old, new)
    assert wrong != text
    found = place(exercise, wrong)
    assert found is not None
    assert line_of(text, old) in found.lines
    assert len(found.lines) <= 2


@pytest.mark.usefixtures("hurried")  # no small change of the lines makes this right
def test_the_line_of_a_list_that_was_changed_is_shown() -> None:
    test_the_line_that_was_changed_is_shown("training", "*row[::-1], EOS", "*row[::-1]")


@pytest.mark.parametrize("exercise", ["masks", "feedforward", "norm"])
def test_a_right_file_has_none(exercise: str) -> None:
    assert place(exercise, solution_file(exercise).read_text(encoding="utf-8")) is None


def test_a_call_of_several_lines_is_shown_as_a_whole() -> None:
    text = solution_file("loss").read_text(encoding="utf-8")
    found = place("loss", text.replace("ignore_index=pad", "ignore_index=-1"))
    assert found is not None
    assert found.place.line < line_of(text, "ignore_index=pad") < found.place.end_line


def test_a_right_file_of_another_style_has_none() -> None:
    assert place("norm", OWN_STYLE) is None


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ("/ x.size(-1)", "/ x.size(-2)", {13}),  # in the helper
        ("y * self.gain", "y + self.gain", {20}),
        ("** 0.5", "** 0.25", {19}),
        ("y = y * self.gain", "y * self.gain", {20}),  # the result is dropped
    ],
)
@pytest.mark.sampled(4)
def test_a_step_of_its_own_is_not_blamed(old: str, new: str, lines: set[int]) -> None:
    found = place("norm", OWN_STYLE.replace(old, new))
    assert found is not None
    assert found.place.line in lines


@pytest.mark.slow
def test_a_missing_step_lies_between_two_lines() -> None:
    text = solution_file("decoder").read_text(encoding="utf-8")
    missing = "            x = self.norm3(x + self.dropout(self.feed_forward(x)))\n"
    found = place("decoder", text.replace(missing, ""))
    assert found is not None
    assert found.why == "omitted"
    assert line_of(text, "self.norm3(x + ") in range(min(found.lines), max(found.lines) + 2)


def test_a_value_put_right_proves_the_place() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8").replace(".relu()", ".sigmoid()")
    found = place("feedforward", text)
    assert found is not None
    assert found.proved


@pytest.mark.slow
def test_a_loop_over_positions_that_gives_nothing_back_is_recorded_where_it_is_short() -> None:
    """Of one over hundreds of positions not all is recorded: the line where nothing is returned would be unknown."""
    text = solution_file("feedforward").read_text(encoding="utf-8")
    begin, end = text.index("        hidden ="), text.index("        return output")
    loop = (
        "        rows = []\n        for t in range(x.size(1)):\n            hidden = self.up(x[:, t])\n"
        "            rows.append(self.down(self.dropout(hidden.relu())))\n        torch.stack(rows, 1)\n"
    )
    text = text[:begin] + loop + text[end:].replace("        return output", "")
    found = place("feedforward", text)
    assert found is not None
    assert line_of(text, "torch.stack(rows") in found.lines


@pytest.mark.slow
def test_a_step_too_many_is_proved_by_leaving_it_out() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    begin, end = text.index("        hidden ="), text.index("        return output")
    loop = "        for part in (self.up, self.down):\n            x = self.dropout(part(x).relu())\n"
    text = text[:begin] + loop + text[end:].replace("output", "x")
    found = place("feedforward", text)
    assert found is not None
    assert (found.place.line, found.proved, found.iteration) == (line_of(text, "part(x).relu()"), True, 2)


@pytest.mark.slow
def test_a_part_that_the_formula_does_not_have_is_shown_where_it_is_made() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    wide = "nn.Conv1d(d_model, d_ff, 3, padding=1)"
    text = text.replace("nn.Linear(d_model, d_ff)", wide).replace("self.up(x)", "self.up(x.mT).mT")
    found = place("feedforward", text)
    assert found is not None
    assert found.lines == (line_of(text, wide),)
    text = solution_file("positions").read_text(encoding="utf-8")
    made = "        self.norm = nn.LayerNorm(d_model)\n"
    text = text.replace("        self.table = nn.Param", f"{made}        self.table = nn.Param")
    begin, end = text.rsplit("return x +", 1)
    text = f"{begin}x = x +{end.rstrip()}\n        return self.norm(x)\n"
    found = place("positions", text)
    assert found is not None
    assert line_of(text, made.strip()) in found.lines


@pytest.mark.slow
def test_a_copy_of_what_was_made_without_torch_is_no_proof() -> None:
    text = solution_file("positions").read_text(encoding="utf-8")
    begin, end = text.index("        # Angles in"), text.index("        self.register_buffer")
    rows = "[[angle(t, j, d_model) for j in range(d_model)] for t in range(max_len)]"
    helper = (
        "def angle(t, j, d):\n    t = t / 10000 ** (2 * j // 2 / d)\n"
        "    return math.cos(t) if j % 2 else math.sin(t)\n\n\n"
    )
    text = f"{text[:begin]}        table = torch.tensor({rows})\n{text[end:]}"
    text = text.replace("class Sinusoidal", f"{helper}class Sinusoidal").replace(
        "import torch\n", "import math\nimport torch\n", 1
    )
    found = place("positions", text.replace("self.table[: x.size(1)]", "self.table[: x.size(1)].clone()", 1))
    assert found is not None
    assert found.place.line == line_of(text, "2 * j // 2")


def test_a_call_that_does_not_fit_is_placed_at_the_signature() -> None:
    text = solution_file("positions").read_text(encoding="utf-8")
    wrong = text.replace("d_model: int, max_len: int = 512", "dim: int, max_len: int = 512")
    wrong = wrong.replace("randn(max_len, d_model)", "randn(max_len, dim)")
    found = place("positions", wrong)
    assert found is not None
    assert found.place.line == line_of(wrong, "__init__(self, dim")
    assert found.value == "the arguments of `__init__` are `dim, max_len`"
    assert found.expected == "an argument `d_model`"


@pytest.mark.parametrize(
    ("exercise", "old", "new", "evidence"),
    [
        ("loss", "[:, :-1]], dim=1)", "[:, :-1]], dim=0)", "edited"),
        ("positions", "if length > max_len:", "if length < max_len:", "edited"),  # a condition
        ("masks", "    return torch.ones", "    torch.ones", "edited"),  # a forgotten return
        ("positions", "self.table = nn", "table = nn", "edited"),
        ("norm", "torch.rsqrt(variance + self.eps)", "torch.rsqrt(variance + self.eps).pow(3)", "edited"),
        ("positions", "10000 **", "1000 **", "edited"),  # a constant of right code
        ("attention", "heads.transpose(1, 2).flatten(2)", "heads.flatten(2).transpose(1, 2)", "edited"),
        pytest.param(
            "positions",
            "angle.sin()",
            "angle.sin().square().mul(2).add(0.1).exp()",
            "patched",
            marks=pytest.mark.slow,
        ),
    ],
)
@pytest.mark.sampled(3)
def test_what_proves_a_place(exercise: str, old: str, new: str, evidence: str) -> None:
    text = solution_file(exercise).read_text(encoding="utf-8")
    wrong = text.replace(old, new)
    assert wrong != text
    found = place(exercise, wrong)
    assert found is not None
    assert (found.proved, found.evidence) == (True, evidence)
    assert line_of(text, old) in found.lines


def test_a_value_is_traced_back_to_where_it_went_wrong() -> None:
    text = solution_file("attention").read_text(encoding="utf-8")
    found = place("attention", text.replace("else mask == 0", "else mask < 0"))
    assert found is not None
    assert found.place.line == line_of(text, "else mask == 0")


def test_one_of_several_calls_of_a_helper_is_shown() -> None:
    text = solution_file("attention").read_text(encoding="utf-8")
    found = place(
        "attention", text.replace("self._split(self.k_proj(key))", "self._split(self.k_proj(key).flip(1))")
    )
    assert found is not None
    assert line_of(text, "self._split(self.k_proj(key))") in found.lines


def test_a_condition_that_lets_an_error_be_raised_is_shown() -> None:
    text = solution_file("attention").read_text(encoding="utf-8")
    found = place("attention", text.replace("if d_model % num_heads != 0:", "if d_model % num_heads == 0:"))
    assert found is not None
    assert line_of(text, "if d_model % num_heads != 0:") in found.lines


def test_a_gradient_is_cut_where_it_is_cut() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    found = place(
        "feedforward",
        text.replace("self.dropout(self.up(x).relu())", "self.dropout(self.up(x).relu().detach())"),
    )
    assert found is not None
    assert found.place.line == line_of(text, ".relu()")
    assert found.why == "gradient"


def test_a_gradient_is_cut_after_the_weights_got_their_first_values() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    text = text.replace(
        "    def forward(",
        "        self.start()\n\n    def start(self):\n        nn.init.normal_(self.down.weight.data.view(-1))\n\n"
        "    def forward(",
    )
    found = place("feedforward", text.replace("self.up(x).relu()", "self.up(x).detach().relu()"))
    assert found is not None
    assert found.place.line == line_of(text, ".relu()")


NORM = """

class Norm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.gain, self.bias = nn.Parameter(torch.ones(width)), nn.Parameter(torch.zeros(width))

    def forward(self, x):
        y = x - x.mean(-1, keepdim=True)
        y = y / (y.square().mean(-1, keepdim=True) + 1e-5).sqrt()
        return self.gain * y + self.bias
"""


@pytest.mark.usefixtures("hurried")
@pytest.mark.slow
def test_a_helper_that_is_right_for_other_calls_is_shown_with_its_call() -> None:
    text = solution_file("decoder").read_text(encoding="utf-8").replace("nn.LayerNorm", "Norm")
    text = text.replace("from torch import", "import torch\nfrom torch import", 1)
    wrong = text.replace("x = self.norm3(x + ", "x = self.norm2(x + ") + NORM
    assert wrong != text + NORM
    found = place("decoder", wrong)
    assert found is not None
    assert set(found.lines) == {line_of(wrong, "return self.gain"), line_of(wrong, "self.feed_forward(x)))")}


def test_an_argument_that_is_changed_is_changed_there() -> None:
    text = solution_file("feedforward").read_text(encoding="utf-8")
    found = place(
        "feedforward", text.replace("        hidden =", "        x.add_(1).sub_(1)\n        hidden =")
    )
    assert found is not None
    assert (found.place.line, found.why) == (line_of(text, "hidden ="), "in place")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "old", "new", "first", "last"),
    [
        (
            "attention",
            " / math.sqrt(query.size(-1))",
            "",
            "scores = query @",
            "return scores.softmax(dim=-1)",
        ),
        (
            "norm",
            "centred * torch.rsqrt(variance + self.eps)",
            "centred",
            "normed = centred",
            "self.gain * normed",
        ),
    ],
)
def test_a_step_that_is_missing_lies_between_two_lines(
    exercise: str, old: str, new: str, first: str, last: str
) -> None:
    text = solution_file(exercise).read_text(encoding="utf-8").replace(old, new)
    found = place(exercise, text)
    assert found is not None
    assert (found.why, found.other, found.place.line) == (
        "omitted",
        line_of(text, first),
        line_of(text, last),
    )


@pytest.mark.slow
def test_a_line_that_is_right_at_first_says_when_it_is_wrong() -> None:
    text = solution_file("kv_cache").read_text(encoding="utf-8")
    wrong = text.replace("math.sqrt(q.size(-1))", "math.sqrt(q.size(-1) + (k.size(2) > 1))")
    found = place("kv_cache", wrong)
    assert found is not None
    assert line_of(text, "math.sqrt(q.size(-1))") in found.lines
    assert found.iteration == 2


def test_a_step_that_is_missing_is_proved_by_that_of_right_code() -> None:
    text = solution_file("masks").read_text(encoding="utf-8")
    found = place("masks", text.replace(".tril()", ""))
    assert found is not None
    assert found.proved
    assert line_of(text, ".tril()") in found.lines


@pytest.mark.slow
def test_two_statements_in_the_wrong_order_are_found() -> None:
    text = solution_file("decoder").read_text(encoding="utf-8")
    first = (
        "            x = self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))\n"
    )
    second = "            x = self.norm3(x + self.dropout(self.feed_forward(x)))\n"
    found = place("decoder", text.replace(first + second, second + first))
    assert found is not None
    assert found.proved
    assert line_of(text, first.strip()) in found.lines


@pytest.mark.usefixtures("hurried")
def test_a_name_of_the_wrong_type_is_found_where_it_got_it() -> None:
    text = """import torch

def padding_mask(tokens, pad=0):
    return (tokens != pad)[:, None, None]

def causal_mask(size, device=None):
    out = 1
    for i in range(size):
        for j in range(i + 1):
            out[0, 0, i, j] = True
    return out

def decoder_mask(tokens, pad=0):
    return padding_mask(tokens, pad) & causal_mask(tokens.size(1), tokens.device)
"""
    found = place("masks", text)
    assert found is not None
    assert set(found.lines) == {line_of(text, "out[0, 0, i, j]"), line_of(text, "out = 1")}


@pytest.mark.slow
def test_memory_that_is_never_filled_is_found() -> None:
    text = solution_file("norm").read_text(encoding="utf-8")
    torch.use_deterministic_algorithms(True)  # what is not filled is NaN then, whatever the memory had before
    try:
        found = place("norm", text.replace("nn.Parameter(torch.ones(", "nn.Parameter(torch.empty("))
    finally:
        torch.use_deterministic_algorithms(False)
    assert found is not None
    assert line_of(text, "nn.Parameter(torch.ones(") in found.lines


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["with torch.no_grad():", "try:"])
def test_a_wrong_result_that_leaves_a_block_is_found_where_it_leaves(ends: str) -> None:
    after = "    finally:\n        torch.is_grad_enabled()\n" if ends == "try:" else ""
    text = f"""import torch

def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    {ends}
        memory = model.encode(src)
        return model
{after}"""
    found = place("decoding", text)
    assert found is not None
    assert found.lines == (5, 6)  # nothing reads what is made in line 5


@pytest.mark.slow
def test_weights_are_read_as_they_were_where_something_is_right() -> None:
    """A decoder's layer has three norms alike: they are not read in all orders again for each small change."""
    text = solution_file("decoder").read_text(encoding="utf-8")
    old = "self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))"
    assert old in text
    found = place("decoder", text.replace(old, old.removeprefix("self.norm2")))
    assert found is not None
    assert (found.place.line, found.evidence) == (line_of(text, old), "edited")


def test_a_line_outside_of_functions_is_found() -> None:
    text = solution_file("masks").read_text(encoding="utf-8")
    last = "padding_mask, causal_mask = causal_mask, padding_mask"
    found = place("masks", f"{text}\n\n{last}\n")
    assert found is not None
    assert found.proved
    assert line_of(f"{text}\n\n{last}\n", last) in found.lines


@pytest.mark.usefixtures("hurried")
def test_an_error_before_a_value_is_needed_is_shown_where_it_is_raised() -> None:
    """Memory that is not filled yet when a constructor raises is none of its causes."""
    text = solution_file("positions").read_text(encoding="utf-8")
    wrong = text.replace(
        "        self.table = nn", "        spare = torch.empty(max_len)\n        self.table = nm"
    )
    found = place("positions", wrong)
    assert found is not None
    assert line_of(wrong, "= nm") in found.lines


def test_a_constructor_without_that_of_its_base_is_shown_where_it_begins() -> None:
    text = (
        solution_file("feedforward").read_text(encoding="utf-8").replace("super().__init__()", "width = d_ff")
    )
    found = place("feedforward", text)
    assert found is not None
    assert set(found.lines) == {line_of(text, "width = d_ff"), line_of(text, "self.up = ")}


@pytest.mark.slow
def test_two_mistakes_have_a_line_each() -> None:
    text = solution_file("encoder").read_text(encoding="utf-8")
    first, second = "self.feed_forward(self.norm2(x))", "self.norm1(x + self.dropout(self.self_attention("
    wrong = text.replace(first, "self.feed_forward(x)").replace(second, second.removeprefix("self.norm1"))
    assert text.count(first) == text.count(second) == 1
    found = place("encoder", wrong)
    assert found is not None
    assert set(found.lines) == {line_of(text, first), line_of(text, second)}
    assert found.evidence == "edited"


@pytest.mark.slow
def test_a_change_that_helps_only_in_part_proves_a_line_that_the_values_show() -> None:
    """The last norm takes no mask, so that no one small change of the call is right."""
    text = right_files("encoder")["sequential_subclass_stack"]
    old = "module(x, src_mask) if number < self.num_layers else module(x)"
    assert old in text
    found = place("encoder", text.replace(old, "module(x)"))
    assert found is not None
    assert (found.place.line, found.evidence, found.proved) == (line_of(text, old), "edited", False)


@pytest.mark.slow
def test_dropout_of_another_value_has_its_line() -> None:
    text = solution_file("encoder").read_text(encoding="utf-8")
    old = "self.norm2(x + self.dropout(self.feed_forward(x)))"
    wrong = text.replace(old, "self.dropout(self.norm2(x + self.feed_forward(x)))")
    assert wrong != text
    found = place("encoder", wrong)
    assert found is not None
    assert line_of(text, old) == found.place.line


@pytest.mark.usefixtures("hurried")  # no small change of the lines makes this right
def test_dropout_by_hand_that_does_not_scale_has_its_line() -> None:
    text = (
        solution_file("feedforward")
        .read_text(encoding="utf-8")
        .replace("from torch", "import torch\nfrom torch")
    )
    old = "hidden = self.dropout(self.up(x).relu())"
    by_hand = (
        "hidden = self.up(x).relu()\n        if self.training:\n"
        "            keep = torch.rand(hidden.shape) > self.dropout.p\n            hidden = hidden * keep"
    )
    assert old in text
    found = place("feedforward", text.replace(old, by_hand))
    assert found is not None
    assert line_of(text.replace(old, by_hand), "torch.rand(") in found.lines


BY_HAND = """import torch
from torch import nn


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up, self.down, self.p = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), dropout

    def forward(self, x):
        y = self.up(x).relu()
        shift = torch.zeros(y.size(-1), dtype=y.dtype)
        y = y + shift
        if self.training and self.p:
            keep = torch.rand_like(y) > self.p
            y = y * keep / (1 - self.p)
        return self.down(y)
"""


def test_the_line_behind_a_dtype_is_shown() -> None:
    """The error comes in the last line."""
    shown_by_hand(", dtype=y.dtype", "")


@pytest.mark.usefixtures("hurried")  # no small change of the lines makes this right
def test_the_line_behind_random_numbers_is_shown() -> None:
    """Any of them are right."""
    shown_by_hand("y * keep / (1 - self.p)", "y * keep")


def shown_by_hand(old: str, new: str) -> None:
    wrong = BY_HAND.replace(old, new)
    assert wrong != BY_HAND
    found = place("feedforward", wrong)
    assert found is not None
    assert line_of(BY_HAND, old) in found.lines


@pytest.mark.usefixtures("hurried")  # no small change would help
def test_a_return_inside_of_with_is_shown_itself() -> None:
    """Python reports the line of `with` once more when a function leaves it."""
    text = solution_file("training").read_text(encoding="utf-8")
    old = "    return loss.item()"
    assert old in text
    wrong = text.replace(
        old,
        "    with torch.no_grad():\n        again = model(src, tgt)\n        return again.exp().mean().item()",
    )
    found = place("training", wrong)
    assert found is not None
    assert line_of(wrong, "again.exp") in found.lines
    assert line_of(wrong, "with torch") not in found.lines


@pytest.mark.slow
def test_a_line_that_only_wrong_runs_have() -> None:
    """A whole sublayer is left out in one path, which no small change mends."""
    text = right_files("decoder")["norms_of_a_layer_stacked"]
    changed = text.replace("return self.norm(i, x + self.drop(sublayer(x)))", "return self.norm(i, x)")
    assert changed != text
    found = place("decoder", changed)
    assert found is not None
    assert (found.place.line, found.other) == (line_of(changed, "return self.norm(i, x)"), None)
    assert "only in cases that come out wrong" in found.value


@pytest.mark.parametrize(
    ("lines", "known", "shown"),
    [
        ((), None, []), ((4,), None, [4]), ((4, 7), None, [4, 7]), ((4, 7), 7, [7, 4]), ((4, 5, 6), 5, []),
        ((3, 4, 5), 4, [3, 5]), ((3, 4), None, [3, 4]),
    ],
)  # fmt: skip
def test_few_lines_of_wrong_runs(lines: tuple[int, ...], known: int | None, shown: list[int]) -> None:
    best = None if known is None else Where(Place(known, known), "value")
    text = "def f(x):\n    if x:\n        a = 1\n        b = 2\n        x = a + b\n    y = x\n    return y\n"
    found = only_wrong(Source(text), lines, best)
    assert (list(found.lines) if found else []) == shown


WRITTEN_AFTER = """import torch


def reverse_words(words):
    width = max(map(len, words))
    src = torch.zeros(len(words), width, dtype=torch.int64)
    tgt = torch.zeros(len(words), width + 1, dtype=torch.int64)
    for row, word in enumerate(words):
        for column, letter in enumerate(word):
            src[row, column] = ord(letter) - 94
            tgt[row, len(word) - 1 - column] = ord(letter) - 94
    tgt[:, width] = 2
    return src, tgt
"""
LEFT_OUT = """import math

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        t = torch.arange(max_len, dtype=torch.float64)
        table = torch.zeros(max_len, d_model, dtype=torch.float64)
        pairs = d_model // 2
        for i in range(pairs):
            angle = t * math.exp(-math.log(10000.0) * 2 * i / d_model)
            table[:, 2 * i] = torch.sin(angle)
            table[:, 2 * i + 1] = torch.cos(angle)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)].to(x.dtype)
"""
NAN_BEFORE = """import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    if mask is not None:
        scores = scores + mask
    biggest = scores.amax(-1, keepdim=True).detach()
    weights = torch.exp(scores - biggest)
    weights = weights / weights.sum(-1, keepdim=True)
    weights = torch.nan_to_num(weights, nan=0.0)
    return weights @ value, weights
"""
SHORT_WAY = """import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up, self.down, self.p = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), dropout

    def forward(self, x):
        if not self.training:
            hidden = self.up(x).relu()
            return hidden @ self.down.weight.T
        hidden = F.dropout(self.up(x).relu(), self.p)
        return self.down(hidden)
"""
BIAS_IN_EACH_ROUND = """import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up, self.down, self.p = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), dropout

    def forward(self, x):
        parts = [one.chunk(4) for one in (self.up.weight, self.up.bias)]
        out = torch.zeros_like(x)
        for up, b, down in zip(*parts, self.down.weight.chunk(4, dim=1)):
            hidden = F.dropout(F.linear(x, up, b).relu(), self.p, self.training)
            out = out + F.linear(hidden, down, self.down.bias)
        return out
"""
MEAN_OF_MEANS = """import torch
from torch.nn import functional as F

ROWS = 2


def shift_right(target, sos=1):
    return torch.cat((torch.full_like(target[:, :1], sos), target[:, :-1]), dim=1)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    total, count = 0.0, 0
    for some, ids in zip(logits.split(ROWS), target.split(ROWS)):
        if (ids == pad).all():
            continue
        total = total + F.cross_entropy(
            some.flatten(0, 1), ids.flatten(), ignore_index=pad, label_smoothing=smoothing
        )
        count = count + 1
    return total / count
"""
UNSCALED_SUMS = """import math

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    top = query.new_full((*query.shape[:-1], 1), -1e9)
    total, mixed, every = 0.0, 0.0, []
    for start in range(0, key.size(-2), 4):
        some, values = key[..., start : start + 4, :], value[..., start : start + 4, :]
        scores = query @ some.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            allowed = mask if mask.dtype == torch.bool else mask > -1.0
            allowed = allowed.expand(*allowed.shape[:-1], key.size(-2))[..., start : start + 4]
            scores = scores.masked_fill(~allowed, -1e9)
        every.append(scores)
        top = torch.maximum(top, scores.detach().amax(-1, keepdim=True))
        shares = torch.exp(scores - top)
        total = total + shares.sum(-1, keepdim=True)
        mixed = mixed + shares @ values
    return mixed / total, torch.exp(torch.cat(every, dim=-1) - top) / total
"""
METER = """

class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def add(self, value):
        self.sum += value
        self.count += 1
        return self.sum / self.count


METER = Meter()
"""
ONE_DROPOUT = """import torch
from torch import nn
from torch.nn import functional as F


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.attend, self.feed_forward, self.p, self.pre = self_attention, feed_forward, dropout, norm == "pre"
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])

    def kept(self, x):
        return F.dropout(torch.ones_like(x), self.p, self.training)

    def forward(self, x, src_mask=None):
        kept = self.kept(x)
        for norm, step in zip(self.norms, (lambda h: self.attend(h, h, h, src_mask), self.feed_forward)):
            x = x + kept * step(norm(x)) if self.pre else norm(x + kept * step(x))
        return x


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
        return self.norm(x)
"""
COUNTED = """import torch


def padding_mask(tokens, pad=0):
    mask = torch.zeros(tokens.size(0), 1, 1, tokens.size(1), dtype=torch.bool)
    for row in range(tokens.size(0)):
        count = 0
        for column in range(tokens.size(1)):
            if int(tokens[row, column]) != pad:
                count = count + 1
        mask[row, 0, 0, :count] = True
    return mask
"""
MADE_ONCE = """import torch


def decoder_mask(tokens, pad=0):
    size, found = tokens.size(1), []
    rows = [[j <= i for j in range(size)] for i in range(size)]
    for sentence in tokens.tolist():
        for j in range(size):
            if sentence[j] == pad:
                for i in range(size):
                    rows[i][j] = False
        found.append(torch.tensor([rows]))
    return torch.stack(found)
"""
KEPT_TRIANGLE = """import torch

triangles = {}


def causal_mask(size, device=None):
    if size not in triangles:
        triangles[size] = torch.ones(1, 1, size, size, dtype=torch.bool).tril()
    return triangles[size].to(device)


def decoder_mask(tokens, pad=0):
    mask = causal_mask(tokens.size(1), tokens.device)
    mask = mask[0]
    found = []
    for sentence in tokens:
        mask &= sentence != pad
        found.append(mask.clone())
    return torch.stack(found)
"""
COUNTER = """import math
import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len, self.position = d_model, max_len, -1

    def row(self):
        self.position += 1
        angles = [self.position / 10000 ** (i // 2 * 2 / self.d_model) for i in range(self.d_model)]
        return [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        rows = [self.row() for _ in range(x.size(1))]
        return x + torch.tensor(rows, dtype=x.dtype, device=x.device)
"""
IN_PIECES = """import torch
from torch.nn import functional as F


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    logits, target = logits.flatten(0, 1), target.flatten()
    loss, pieces = 0.0, 0
    for i in range(0, len(target), 3):
        part, wanted = logits[i : i + 3], target[i : i + 3]
        if bool((wanted == pad).all()):
            continue
        loss = loss + F.cross_entropy(part, wanted, ignore_index=pad, label_smoothing=smoothing)
        pieces = pieces + 1
    return loss / pieces
"""
SORTED = """import torch


def reverse_words(words):
    words = sorted(words, key=len, reverse=True)
    width = len(words[0])
    src = torch.zeros(len(words), width, dtype=torch.int64)
    tgt = torch.zeros(len(words), width + 1, dtype=torch.int64)
    for i, word in enumerate(words):
        ids = torch.tensor([ord(letter) - ord("a") + 3 for letter in word])
        src[i, : len(ids)] = ids
        tgt[i, : len(ids)] = ids.flip(0)
        tgt[i, len(ids)] = 2
    return src, tgt
"""
SHARES = """import torch


def shift_right(target, sos=1):
    return torch.cat((torch.full_like(target[:, :1], sos), target[:, :-1]), dim=1)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    kept = target != pad
    logs = logits[kept].log_softmax(-1)
    wanted = torch.full_like(logs, smoothing / (logs.size(-1) - 2))
    wanted = wanted.scatter(1, target[kept].unsqueeze(1), 1 - smoothing)
    wanted[:, pad] = 0.0
    return -(wanted * logs).sum(-1).mean()
"""
MIXED = OWN_STYLE.replace(
    "        mu, var = self.moments(x.double())\n",
    "        shape = x.shape\n        x = x.double().reshape(x.size(-1), -1)\n        x = x.transpose(0, 1)\n"
    "        mu, var = self.moments(x)\n",
).replace("return y.to(x.dtype)", "return y.transpose(0, 1).reshape(shape).to(self.gain.dtype)")


CACHED = """
import torch
from torch import nn

LIMIT = 0


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(d_model)
        self.heads, self.d = num_heads, d_model // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))
"""
PAGES = (
    CACHED.replace("LIMIT = 0", "PAGE = 4")
    + """
    def put(self, pages, slot, new):
        last = pages[-1].clone()
        last[:, slot] = new
        return [*pages[:-1], last]

    def forward(self, x, cache):
        if cache is None:
            cache = [], [], 0
        q, k, v = (
            proj(x).reshape(x.shape[0], self.heads, self.d) for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        keys, values, t = cache
        slot = t % PAGE
        if slot == 0:
            blank = k.new_zeros(x.shape[0], PAGE, self.heads, self.d)
            keys, values = [*keys, blank], [*values, blank]
        keys, values = self.put(keys, slot, k), self.put(values, slot, v)
        used = slot + 1
        k, v = (torch.cat(pages, 1)[:, :used] for pages in (keys, values))
        weights = torch.einsum("bhd,bthd->bht", q, k).div(self.d**0.5).softmax(-1)
        mixed = torch.einsum("bht,bthd->bhd", weights, v)
        return self.out_proj(mixed.flatten(1)[:, None]), (keys, values, t + 1)
"""
)
RING = (
    CACHED.replace("LIMIT = 0", "ROOM = 32")
    + """
    def forward(self, x, cache):
        q, k, v = (
            proj(x).reshape(x.shape[0], 1, self.heads, self.d).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        if cache is None:
            room = k.new_zeros(x.shape[0], self.heads, ROOM, self.d)
            cache = room, room, 0
        keys, values, t = cache
        keys, values = keys.clone(), values.clone()
        keys[:, :, t % ROOM], values[:, :, t % ROOM] = k[:, :, 0], v[:, :, 0]
        filled = min(t + 1, ROOM)
        weights = (q @ keys[:, :, :filled].transpose(-1, -2) / self.d**0.5).softmax(-1)
        mixed = weights @ values[:, :, :filled]
        return self.out_proj(mixed.transpose(1, 2).flatten(2)), (keys, values, t + 1)
"""
)
MADE_TOO_RARELY = """
import torch

TRIANGLES = {}


def triangle(size, device):
    held = TRIANGLES.get(device)
    if held is None:
        held = torch.ones(size, size, dtype=torch.bool, device=device).tril()
        TRIANGLES[device] = held
    return held[:size, :size]


def padding_mask(tokens, pad=0):
    return tokens.ne(pad)[:, None, None]


def causal_mask(size, device=None):
    return triangle(size, torch.get_default_device() if device is None else torch.device(device)).clone()[None, None]


def decoder_mask(tokens, pad=0):
    return padding_mask(tokens, pad) & triangle(tokens.size(1), tokens.device)


def to_additive(mask, dtype=torch.float32):
    return mask.to(dtype).log()
"""
BIAS_OF_EACH_HEAD = """
import torch
import torch.nn.functional as F
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if mask is None:
        weights = scores.softmax(-1)
    else:
        ok = mask if mask.dtype is torch.bool else mask == 0.0
        weights = torch.where(ok, torch.where(ok, scores, -1e30).softmax(-1), 0.0)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(d_model)
        self.heads, self.d, self.dropout = num_heads, d_model // num_heads, dropout
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None and mask.dim() == 4:
            mask = mask.expand(-1, self.heads, -1, -1)
        out = 0
        for h in range(self.heads):
            own = slice(h * self.d, (h + 1) * self.d)
            m = mask if mask is None or mask.dim() == 2 else mask[:, h]
            _, weights = scaled_dot_product_attention(q[..., own], k[..., own], v[..., own], m)
            head = F.dropout(weights, self.dropout, self.training) @ v[..., own]
            out = out + F.linear(head, self.out_proj.weight[:, own], self.out_proj.bias)
        return out
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "text", "lines"),
    [
        ("training", WRITTEN_AFTER, ["tgt[:, width] = 2"]),
        ("positions", LEFT_OUT, ["for i in range", "pairs = d_model"]),
        ("attention", NAN_BEFORE, ["scores - biggest"]),
        ("feedforward", SHORT_WAY, ["self.down.weight.T"]),
        ("norm", MIXED, ["reshape(x.size(-1), -1)"]),
        ("feedforward", BIAS_IN_EACH_ROUND, ["self.down.bias"]),
        ("loss", MEAN_OF_MEANS, ["count = count + 1", "total = total +"]),
        ("attention", UNSCALED_SUMS, ["total = total +", "mixed = mixed +"]),
        ("loss", SHARES, ["torch.full_like(logs"]),
        ("encoder", ONE_DROPOUT, ["kept = self.kept(x)"]),
        ("masks", COUNTED, ["mask[row, 0, 0, :count]"]),
        ("masks", MADE_ONCE, ["rows = [["]),
        ("masks", KEPT_TRIANGLE, ["mask &= sentence"]),
        ("positions", COUNTER, ["self.position += 1"]),
        ("loss", IN_PIECES, ["pieces = pieces + 1", "loss = loss +"]),
        ("training", SORTED, ["sorted(words", "return src, tgt"]),
        ("kv_cache", PAGES, ["used = slot + 1"]),
        ("kv_cache", RING, ["ROOM = 32"]),
        ("attention", BIAS_OF_EACH_HEAD, ["self.out_proj.bias"]),
        ("masks", MADE_TOO_RARELY, ["if held is None"]),
    ],
    ids=[
        "written after a loop",
        "never written",
        "NaN on the way",
        "a branch",
        "axes mixed up",
        "a bias in each round",
        "a mean of means",
        "sums of another scale",
        "rows that a mask picks",
        "one dropout for all",
        "written up to a count",
        "made before the loop",
        "changed where it is kept",
        "counted on",
        "the whole in each round",
        "sorted, and not put back",
        "counted in the page alone",
        "room for 32 positions",
        "a bias for each head",
        "made for the first size alone",
    ],
)
def test_mistakes_of_several_lines_have_theirs(exercise: str, text: str, lines: list[str]) -> None:
    found = place(exercise, text)
    assert found is not None
    assert {line_of(text, line) for line in lines} <= {*found.lines}


@pytest.mark.slow
def test_a_helper_that_keeps_a_mask_is_shown() -> None:
    text = solution_file("attention").read_text(encoding="utf-8")
    old, call = "    def forward(", "(q, k, mask)"
    assert text.count(old) == 1
    assert call in text.partition(old)[2]
    helper = (
        "    def kept(self, mask):\n        if not hasattr(self, 'known'):\n            self.known = {}\n"
        "        if mask is not None and mask.shape not in self.known:\n"
        "            self.known[mask.shape] = mask\n        return mask if mask is None else self.known[mask.shape]\n\n"
    )
    before, _, after = text.partition(old)
    wrong = before + helper + old + after.replace(call, "(q, k, self.kept(mask))")
    found = place("attention", wrong)
    assert found is not None
    first = line_of(wrong, "def kept(self, mask)")
    assert {*range(first, first + helper.count("\n"))} & {*found.lines}


def test_what_an_object_of_the_file_keeps_is_shown() -> None:
    text = solution_file("training").read_text(encoding="utf-8")
    returned, first = "    return loss.item()\n", "\n\ndef noam("
    assert text.count(returned) == text.count(first) == 1
    wrong = text.replace(returned, "    return METER.add(loss.item())\n").replace(first, METER + first)
    found = place("training", wrong)
    assert found is not None
    assert line_of(wrong, "return METER.add") in found.lines


def test_state_of_an_object_that_is_called_once_is_not_blamed() -> None:
    text = OWN_STYLE.replace("        mu, var", "        self.calls = self.eps\n        mu, var")
    line = line_of(text, "self.calls")
    assert kept(Source(text), [line], of_objects=False, of_file=True) is None
    found = kept(Source(text), [line], of_objects=True, of_file=False)
    assert found is not None
    assert found.place.line == line
