"""Changes of several lines at once, or of what other lines read; loops, blocks and orders."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pytest
import torch

from grader.edits.changed_part import cut_no_more, several_at_once
from grader.edits.code import Code
from grader.edits.edits import Edits
from grader.edits.never_called import NeverCalled
from tests.grader.edits.tried import changed, lines, plain, texts_of


def test_two_lines_with_the_same_slip_are_changed_together() -> None:
    padded = (
        "def f(k, v, n):\n    k = F.pad(k, (0, 0, n, 0))\n    v = F.pad(v, (0, 0, n, 0))\n    return k, v\n"
    )
    assert plain(padded.replace("n, 0)", "0, n)")) in texts_of(padded, 2)
    cut = "def f(x, y, rows):\n    x = x[: rows.numel()]\n    y = y[: rows.numel()]\n    return x, y\n"
    assert plain(cut.replace(": rows.numel()", "rows")) in texts_of(cut, 3)


def test_another_name_is_tried_wherever_a_function_reads_one() -> None:
    text = "def f(a, b, c):\n    x = g(a)\n    y = h(a) + c\n    return x, y, c\n"
    found = texts_of(text, 2)
    assert plain(text.replace("(a)", "(b)")) in found
    exchanged = text.replace("(a)", "(c)").replace("+ c", "+ a").replace("y, c", "y, a")
    assert plain(exchanged) in found


NEVER_CALLED = """
class Meter:
    def __init__(self):
        self.total = 0

    def reset(self):
        self.total = 0

    def add(self, x):
        self.total = self.total + x

METER = Meter()

def halved(x):
    return x / 2

def loss(x):
    METER.add(x)
    y = x + METER.total
    return y
"""


def with_more_calls(text: str) -> set[str]:
    return {new for _, new in NeverCalled(Code(text, right="def loss(x): pass")).called_after_all()}


def test_functions_that_are_never_called_are_called() -> None:
    texts = with_more_calls(NEVER_CALLED)
    assert any("def loss(x):\n    METER.reset()\n" in text for text in texts)
    assert any("y = halved(x + METER.total)" in text for text in texts)
    assert not any("halved(x / 2)" in text for text in texts)
    edits = Edits(NEVER_CALLED, right="def loss(x): pass")
    assert texts <= {text for _, text in edits.among([], [], range(1, 21))}
    assert with_more_calls(NEVER_CALLED.replace("y = x +", "METER.reset(); y = halved(x) +")) == set()


def test_several_statements_are_moved_past_the_end_of_a_loop() -> None:
    rounds = "        x = g(row)\n        h(x)\n        n += 1\n"
    loop = f"def f(x, rows):\n    n = 0\n    for row in rows:\n{rounds}    k(n)\n"
    after = loop.replace("        h(x)\n        n += 1\n", "    h(x)\n    n += 1\n")
    found = {(at, text) for at, text in Edits(loop).among([3], [])}
    assert (5, after) in found
    assert (7, loop.replace("    k(n)", "        k(n)")) in found
    assert (5, loop) in set(Edits(after).among([3], []))
    ending = after.replace("    k(n)\n", "    return n\n")
    assert not any("        return n" in text for _, text in Edits(ending).among([3], []))


def test_a_slice_that_is_taken_whole_says_what_its_bounds_read() -> None:
    old = "def f(x, i, n):\n    y = x[:, i : i + n]\n    return y\n"
    assert cut_no_more(old, old.replace("x[:, i : i + n]", "x")) == {"i", "n"}
    assert cut_no_more(old, old.replace("i + n", "n")) == set()
    both = old.replace("y = x", "y, z = x[:2], x")
    assert cut_no_more(both, both.replace("x[:2], x[:, i : i + n]", "x, x")) == {"i", "n"}
    assert cut_no_more(old, old.replace("x[:, i : i + n]", "n")) == set()


TURNED = """def turned(sine, cosine, a, b):
    for _ in range(3):
        sine = sine * a + cosine * b
        cosine = (
            cosine * a - sine * b
        )
    return sine, cosine
"""
GROWN = """class Rows:
    def __init__(self, like):
        self.keys = like.new_zeros(2, 4)

    def grow(self):
        self.keys = self.keys.new_zeros(2, 2 * self.keys.size(1))
        self.rest = 0
        self.values = torch.zeros(2, 8)
"""


def test_two_updates_are_made_at_once() -> None:
    (found,) = (text for text in changed(TURNED, 3) if "sine, cosine = " in text.partition("return")[0])
    assert len(found.splitlines()) == len(TURNED.splitlines())
    known: dict[str, Any] = {}
    exec(found, known)
    assert known["turned"](0, 1, 0, 1) == (-1, 0)  # a quarter turn, three times
    assert several_at_once(TURNED, found, 3) == (
        "sine = sine * a + cosine * b",
        "`sine` and `cosine` at once, from the values before",
    )
    own = re.sub(r"\b(?=(co)?sine\b)", "self.", TURNED.replace("sine, cosine, a", "self, a", 1))
    (found,) = (
        text for text in changed(own, 3) if "self.sine, self.cosine = " in text.partition("return")[0]
    )
    assert several_at_once(own, found, 3) == (
        "self.sine = self.sine * a + self.cosine * b",
        "`self.sine` and `self.cosine` at once, from the values before",
    )
    assert not any("sine, cosine = " in text.partition("return")[0] for text in changed(TURNED, 4))


def test_what_reads_an_updated_value_reads_the_old_one_too() -> None:
    text = """def variance(rows):
    mean = total = 0
    for i, x in enumerate(rows):
        mean = mean + (x - mean) / (i + 1)
        delta = x - mean
        total += delta * delta
    return total / len(rows)
"""
    found = [one for one in changed(text, 5) if one.splitlines()[3].strip() == "delta = x - mean"]
    variances = []
    for one in found:
        known: dict[str, Any] = {}
        exec(one, known)
        variances.append(known["variance"]([1, 2, 6]))
        assert len(one.splitlines()) == len(text.splitlines())
    assert variances.count(14 / 3) == 2
    said = several_at_once(text, found[variances.index(14 / 3)], 5)
    assert said == (
        "delta = x - mean",
        "this statement before line 4, and `x - mean` for one `delta` in line 6",
    )


def test_new_room_keeps_what_was_there() -> None:
    (found,) = (text for text in changed(GROWN, 6) if "lambda old, new" in text)
    assert [one for one in found.splitlines() if "lambda" in one] == found.splitlines()[5:8:2]
    said = several_at_once(GROWN, found, 6)
    assert said is not None
    assert said[1] == "the same, with what `self.keys` had"
    known: dict[str, Any] = {"torch": torch}
    exec(found, known)
    rows = known["Rows"](torch.ones(1))
    rows.keys, rows.values = torch.ones(2, 4), torch.ones(2, 4)
    rows.grow()
    kept = torch.tensor([[1.0] * 4 + [0.0] * 4] * 2)
    assert torch.equal(rows.keys, kept)
    assert torch.equal(rows.values, kept)
    assert not any("lambda" in text for text in changed(GROWN, 3))


def test_copies_that_a_helper_makes_are_each_made_anew() -> None:
    text = "def stack(make, size):\n    first = make()\n    layers = copies(first, size)\n    return layers\n"
    wanted = "layers = (torch.nn.ModuleList([make() for _ in range(size)]))"
    assert wanted in {one.replace("__import__('torch')", "torch") for one in lines(text, 3)}


def test_heads_are_put_first_before_they_are_merged() -> None:
    text = "def fold(mask, b, h):\n    return mask.reshape(b * h, -1)\n"
    assert "return (mask.transpose(0, 1).reshape(b * h, -1))" in lines(text, 2)


def test_means_of_rounds_are_weighted() -> None:
    text = """def loss(rows):
    total = 0
    count = 0
    for row in rows:
        size = len(row)
        total = total + mean(
            row,
        )
        count += 1
    return total / count
"""
    found = changed(text, 9)
    (new,) = (one for one in found if "count += (size)" in one)
    assert "total = total + (mean(row) * size" in new
    assert len(new.splitlines()) == len(text.splitlines())
    known: dict[str, Any] = {"mean": lambda row: sum(row) / len(row)}
    exec(new, known)
    assert known["loss"]([[1, 2, 3], [4]]) == 2.5
    assert not any("(total)" in one.partition("count +=")[2] for one in found)
    other = text.replace("count += 1", "count += 2")
    assert not any("total + (" in one for one in changed(other, 9))


RANGES = """
def more(self, have, need, groups):
    rows = self.rows(0, need - have)
    rest = rows[: need - have]
    used = have + 1
    count = range(need - have)
    return [p for p in groups[0]["params"]], used % 32, count
"""


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (3, "rows = self.rows(have, need)"),
        (4, "rest = rows[have:need]"),
        (5, "used = (need) + 1"),
        (6, "count = range(have, need)"),
        (7, "[p for p in [each for one in groups for each in one['params']]], used % 32, count"),
    ],
)
def test_a_range_a_count_and_the_first_of_all(line: int, right: str) -> None:
    early = list(itertools.islice(Edits(RANGES).among([line], []), 150))
    found = {new.splitlines()[line - 1].replace("(", "").replace(")", "") for at, new in early if at == line}
    assert any(
        one.strip().removeprefix("return ") == right.replace("(", "").replace(")", "") for one in found
    )


def test_a_number_that_may_be_a_limit_is_made_much_larger() -> None:
    found = dict(Edits(RANGES).with_more_room())
    assert list(found) == [7]
    assert "used % 1024" in found[7]


def test_calls_side_by_side_have_each_others_argument() -> None:
    early = list(
        itertools.islice(Edits("def f(q, k):\n    return g(part(k, 0), part(q, 1))\n").among([2], []), 60)
    )
    assert any("part(q, 0), part(k, 1)" in new for _, new in early)


def test_rows_are_put_back_in_their_order() -> None:
    text = "def f(a, b, order):\n    return a[order], b[order]\n"
    early = list(itertools.islice(Edits(text).among([2], []), 60))
    (found,) = (new for _, new in early if new.count("__getitem__") == 2)
    known: dict[str, Any] = {}
    exec(found, known)
    order = torch.tensor([2, 0, 3, 1])
    rows = torch.arange(4)[order]
    assert known["f"](rows, rows, order)[0].tolist() == [0, 1, 2, 3]
    assert known["f"](rows, rows, order.tolist())[1].tolist() == [0, 1, 2, 3]


LATE = [
    (
        "self.f = partial(F.dropout, training=self.on)",
        "self.f = lambda *rest: F.dropout(*rest, training=self.on)",
    ),
    ("empty = ~x.any(dim=-1).all()", "empty = ~x.any(dim=-1, keepdim=True)"),
    ("x = x.argmax(-1, keepdim=False).max()", "x = x.argmax(-1, keepdim=True)"),
    ("x = torch.arange(9, dtype=y.dtype)", "x = torch.arange(9, dtype=torch.float32)"),
    ("x = y or z", "x = z if y is None else y"),
    (
        "x = y.param_groups[0]['params']",
        "x = [one for group in y.param_groups for one in group['params']]",
    ),
    ("x = {one: z for one in y}", "x = dict(enumerate([z for one in y]))"),
    ("x = dict(zip(y, z))", "x = dict(enumerate(z))"),
    ("x = set(y)", "x = list(y)"),
    ("x = {f(one) for one in y}", "x = [f(one) for one in y]"),
    ("x[y][:, 1] = z", "x[y, 1] = z"),
    ("x[y][1] = z", "x[y, 1] = z"),
    ("x[y].zero_()", "x[y] = 0"),
    ("x.data.mul_(y)", "x = x.mul(y)"),
    ("x /= math.sqrt(y)", "x /= math.sqrt(max(y, z))"),
    ("x = y + 1", "x = min(y, z) + 1"),
    ("x = (x.sum() > 0).sum()", "x = (y != z).sum()"),
    ("x.sum().backward()", "(x.sum() / y).backward()"),
    ("x = y.parameters()", "x = list(y.parameters())"),
    ("x = (one for one in y)", "x = [one for one in y]"),
    ("x = y / z.mean()", "x = y / (1 - y)"),
]


@pytest.mark.parametrize(("wrong", "right"), LATE)
def test_what_is_read_too_early_reduced_too_far_or_not_limited_is_changed(wrong: str, right: str) -> None:
    text = "def f(self, x, y, z):\n    {}\n    return x\n"
    assert plain(text.format(right)) in texts_of(text.format(wrong), 2)


def test_keys_tell_the_rounds_of_outer_loops_apart() -> None:
    text = """def f(rows):
    best = {}
    for row in rows:
        for name, value in row:
            if name not in best or value > best[name]:
                best[name] = value
    return best
"""
    wider = "name, id(row)"
    new = text.replace("name not in best", f"({wider}) not in best").replace("best[name]", f"best[{wider}]")
    assert plain(new) in texts_of(text, 6)


def test_a_step_is_made_before_another_one() -> None:
    text = "def f(x, k):\n    top, ids = x.view(-1).topk(k)\n    y = top.log_softmax(-1)\n    return y, ids\n"
    new = text.replace("x.view(-1)", "x.view(-1).log_softmax(-1)").replace("= top.log_softmax(-1)", "= top")
    assert plain(new) in texts_of(text, 3)
    text = "def f(x, k):\n    best = x.topk(k)\n    return best.values.exp().tolist(), best.indices\n"
    new = text.replace("x.topk", "x.exp().topk").replace("values.exp()", "values")
    assert plain(new) in texts_of(text, 3)


def test_what_a_helper_gives_is_copied_before_it_is_changed() -> None:
    text = "def kept(n):\n    return KEPT[n]\n\n\ndef f(n):\n    x = kept(n)\n    x[0] = 1\n    return x\n"
    assert plain(text.replace("kept(n)\n    x[", "kept(n).clone()\n    x[")) in texts_of(text, 6)


def test_a_local_is_computed_again_from_an_attribute_that_has_changed() -> None:
    text = "def f(self, x):\n    d = x - self.mean\n    self.mean = self.mean + d\n    return d * d\n"
    assert plain(text.replace("d * d", "d * (x - self.mean)")) in texts_of(text, 4)


def test_no_limits_are_tried_for_tensors() -> None:
    text = "def f(x, y):\n    x = x * y.size(0)\n    return x\n"
    assert not any("max(" in one for one in texts_of(text, 2))


STATE = """from dataclasses import dataclass

KEPT = ("rows", "sums")


class Rows:
    pass


@dataclass
class State:
    rows: Rows = Rows()
    sums: Rows = Rows()
    size: int = 0
"""


def test_a_list_of_attributes_gets_another_one() -> None:
    assert plain(STATE.replace('"sums")', '"sums", "size")')) in texts_of(STATE, 3)
    assert not any("'sums', 'size'" in one for one in texts_of(STATE.replace('"rows"', '"row"'), 3))


def test_defaults_of_a_dataclass_are_made_for_each_object() -> None:
    new = STATE.replace(" = Rows()", " = __import__('dataclasses').field(default_factory=lambda: Rows())")
    assert plain(new) in texts_of(STATE, 12)
    known: dict[str, Any] = {}
    exec(new, known)
    assert known["State"]().rows is not known["State"]().rows
