"""The place of a mistake, by values: in other styles than the solutions', in helpers, constructors and plain Python."""

from __future__ import annotations

import pytest
import torch

from grader.core.value_trace import Place
from grader.edits.source_tree import Source
from grader.places.by_source import mode_set, only_wrong
from grader.places.where import Where
from tests import solution_file
from tests.grader.places.placed import OWN_STYLE, line_of, place
from tests.grader.right import right_files

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
@pytest.mark.sampled(8)
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


@pytest.mark.slow
def test_a_helper_that_is_right_for_other_calls_is_shown_with_its_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for limit in ("ALL_S", "LEAST_S"):  # no change is tried: one would help
        monkeypatch.setattr(f"grader.places.undoing.{limit}", 0.0)
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


def test_the_last_line_that_sets_a_mode() -> None:
    text = "def f(model):\n    model.eval()\n    y = model(1)\n    model.train()\n    return y\n"
    found = mode_set(Source(text), {2, 3, 4, 5})
    assert found is not None
    assert (found.place.line, found.other, found.value) == (4, 2, "`model.train()` sets the mode")
    assert mode_set(Source(text), {3, 5}) is None


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
