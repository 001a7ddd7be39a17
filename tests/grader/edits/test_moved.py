"""Statements elsewhere, in another order or in a loop: moved, repeated, sorted, reset."""

from __future__ import annotations

import ast

import pytest

from grader.edits.changed_part import (
    in_another_block,
    in_line,
    in_two_lines,
    made_twice,
    sorts_no_more,
)
from grader.edits.edits import Edits
from grader.edits.moved import partners
from tests.grader.edits.tried import changed, lines, texts_of


def test_two_statements_are_exchanged() -> None:
    text = "def f(x):\n    x = x + 1\n    x = [\n        x * 2]\n    return x\n"
    assert "def f(x):\n    x = [\n        x * 2]\n    x = x + 1\n    return x\n" in changed(text, 2)


def test_only_what_depends_on_its_order_is_exchanged() -> None:
    head = "def f(self, x):\n"
    for one, other, may in (
        ("a = x", "b = x", False),
        ("self.a = x", "self.b = x", False),
        ('"""What it does."""', "a = x", False),
        ("a = x", "b = a", True),
        ("self.a = x", "b = self.a", True),
        ("self.a = x", "b = self.made(x)", True),
        ("a = x", "x.append(1)", True),
        ("self.k += 1", "return self.k", True),
    ):
        text = f"{head}    {one}\n    {other}\n    return x\n"
        exchanged = f"{head}    {other}\n    {one}\n    return x\n"
        assert (exchanged in changed(text, 2) | changed(text, 3)) == may, (one, other)


def test_a_statement_leaves_the_last_branch() -> None:
    text = "def f(x):\n    if x:\n        y = 1\n    else:\n        y = 2\n        x = y\n    return x\n"
    moved = "def f(x):\n    if x:\n        y = 1\n    else:\n        y = 2\n    x = y\n    return x\n"
    assert moved in changed(text, 6)


def test_both_lines_of_an_exchange_are_known() -> None:
    text = "def f(x):\n    x = x + 1\n    y = x\n    return y\n"
    other = "def f(x):\n    y = x\n    x = x + 1\n    return y\n"
    assert other in changed(text, 2) & changed(text, 3)
    assert partners(text, other) == [2, 3]
    assert partners(text, text.replace("+", "-")) == partners(text, text) == []


def test_lines_of_a_change_are_those_of_python() -> None:
    head = "# a\fb\x85c\u2028d\n"
    text = f"{head}def f(x):\n    x = x + 1\n    y = x\n    return y\n"
    other = f"{head}def f(x):\n    y = x\n    x = x + 1\n    return y\n"
    assert partners(text, other) == [3, 4]
    assert in_another_block(text, other, 3) == ("x = x + 1", "this statement after line 4")
    assert in_line(text, text.replace("1", "2").replace("d\n", "e\n"), 3) == text.replace("1", "2")
    assert in_two_lines(text, text.replace("1", "2").replace("= x\n", "= -x\n"), 3) == (
        "x + 1",
        "`x + 2`, and `y = -x` in line 4",
    )
    assert made_twice(text, text.replace("    return", "    x = x + 1\n    return")) == [3]
    assert sorts_no_more(text.replace("x + 1", "sorted(x)"), text, 3)


def test_a_result_that_is_dropped_is_kept() -> None:
    text = "def f(self, x, y):\n    F.relu(x)\n    self.drop(y)\n    x * 2\n    print('a')\n    return x\n"
    first = [new.splitlines()[at - 1].strip() for at, new in Edits(text).among([6], [], range(2, 7))][:3]
    assert first == ["x = F.relu(x)", "y = self.drop(y)", "x = x * 2"]


def test_an_exception_that_is_only_made_is_raised() -> None:
    text = "def f(x):\n    if x:\n        return ValueError('x')\n    return x\n"
    assert "raise ValueError('x')" in lines(text, 3)


def test_moved_statements_of_several_lines_stay_python() -> None:
    text = "def f(x):\n    if x:\n        y = 1\n        z = (x +\n             y)\n    return z\n"
    moved = changed(text, 4)
    assert "def f(x):\n    if x:\n        y = 1\n    z = (x +\n         y)\n    return z\n" in moved
    for one in moved:
        ast.parse(one)


LOOPS = """def f(rows):
    found = []
    for row in rows:
        total = 0
        for x in row:
            kept = []
            kept.append(x)
            total += x
            found.append(kept)
    return found, total
"""


def test_a_first_value_is_set_before_a_loop_or_in_each_round() -> None:
    before = LOOPS.replace("            kept = []\n", "").replace(
        "        for x", "        kept = []\n        for x"
    )
    assert before in changed(LOOPS, 6)
    assert in_another_block(LOOPS, before, 6) == ("kept = []", "this statement before the loop of line 5")
    anew = LOOPS.replace("    found = []\n", "").replace(
        "        total = 0", "        found = []\n        total = 0"
    )
    assert anew in changed(LOOPS, 2)
    assert in_another_block(LOOPS, anew, 2) == (
        "found = []",
        "this statement in each round of the loop of line 3",
    )
    assert in_another_block(LOOPS, LOOPS.replace("total = 0", "total = 1"), 4) is None


def test_what_is_kept_elsewhere_is_not_changed_in_place() -> None:
    text = "def f(x, mask):\n    x &= mask\n    x.masked_fill_(mask, 0)\n    n = 0\n    n += 1\n    return x, n\n"
    assert "x = x & mask" in lines(text, 2)
    assert "x = x.masked_fill(mask, 0)" in lines(text, 3)
    assert not [one for one in lines(text, 5) if one.startswith("n = n +")]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("rows = sorted(rows, key=len)", "rows = (list(rows))"),
        ("rows.sort(key=len)", "None"),
        ("order = rows.argsort()", "order = (__import__('torch').arange(len(rows)))"),
        ("rows, order = rows.sort()", "rows, order = ((rows, __import__('torch').arange(len(rows))))"),
    ],
)
def test_what_is_sorted_keeps_its_order(old: str, new: str) -> None:
    text = f"def f(rows):\n    {old}\n    width = len(rows[0]) + rows[-1][2]\n    return width, rows\n"
    (found,) = [one for one in changed(text, 2) if one.splitlines()[1].strip().strip("()") == new.strip("()")]
    sorts = {
        "rows = sorted(rows, key=len)": "sorted(rows, key=len)",
        "rows.sort(key=len)": "sorted(rows, key=len)",
    }
    if old in sorts:
        assert f"len(({sorts[old]}[0])) + ({sorts[old]}[-1])[2]" in found
    assert sorts_no_more(text, found, 2)
    assert not sorts_no_more(text, text, 2)


def test_a_decorator_takes_the_place_of_another() -> None:
    text = "import torch\n\n\n@torch.enable_grad()\ndef f(x):\n    return x\n"
    right = "@torch.no_grad()\ndef g(x):\n    return x\n"
    assert (4, text.replace("enable_grad", "no_grad")) in set(Edits(text, right=right).among([4], [], [5]))
    text = text.replace("@torch.enable_grad()\n", "@keep(2)\n")
    beside = text.replace("def f", "@torch.no_grad()\ndef f")
    assert (5, beside) in set(Edits(text, right=right).among([4], [], [5])), "one of another module stays"


LOOP = """def search(model, src, many):
    rest = src
    tokens, done = src, src
    for _ in range(many):
        src = model.norm(src)
        best = model(tokens).argmax(-1)
        tokens = tokens[best]
        done = done | best
        done |= best
        src = rest + src
    if many:
        rest = src
    return tokens.repeat(many, 1, 1), tokens.mean()
"""


def test_a_statement_is_repeated_where_it_may_be_missing() -> None:
    missing = LOOP.replace("        src = model", "        rest = src\n        src = model")
    found = {(at, new) for at, new in Edits(LOOP).among([10], [])}
    assert (5, missing) in found
    for _, new in found:
        ast.parse(new)


def test_a_local_takes_the_step_of_another_one() -> None:
    assert "done = (done[best]) | best" in lines(LOOP, 8)
    assert "done = done[best] | best" in {
        new.splitlines()[7].strip() for at, new in Edits(LOOP).among([1], [8]) if at == 8
    }
    assert "done = done[best] | best" in lines(LOOP, 9)


def test_a_repetition_is_by_rows_and_a_mean_over_a_mask() -> None:
    found = lines(LOOP, 13)
    assert "return ((tokens.repeat_interleave(many, 0)), tokens.mean())" not in found
    assert any("(tokens.repeat_interleave(many, 0))" in one for one in found)
    assert any("(tokens[best].mean())" in one for one in found)
    assert any("(tokens.sum() / best.sum())" in one for one in found)


def test_the_last_line_may_have_no_end() -> None:
    assert any(
        new.startswith("def f(x):\n    return x\n    x = 1")
        for new in changed("def f(x):\n    x = 1\n    return x", 2)
    )


SOFTMAX_IN_PARTS = """def add(self, score, value):
    old, new = (self.peak - score).exp(), score.exp()
    self.sum = self.sum * old + new * value
    self.mass = self.mass + new
    self.count += new
    return sum(value * w + self.bias for w in new)
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (4, "self.mass = self.mass * old + new"),
        (5, "self.count = self.count * old + new"),
        (6, "return (sum((value * w for w in new)) + self.bias)"),
    ],
)
def test_sums_that_grow_are_scaled_as_another_one_and_a_term_is_added_once(line: int, wanted: str) -> None:
    assert wanted in lines(SOFTMAX_IN_PARTS, line)


RUNNING = """def total(self, blocks, largest, n):
    peak = largest
    for block in blocks:
        higher = torch.maximum(peak, block.amax(-1))
        share = torch.exp(block - higher).sum(-1)
        whole = whole + share
        peak = higher
    new[:, : n - 1] = self.old[:, : n - 1]
    memory = model.encode(blocks)
    with torch.no_grad():
        for i in range(n):
            model.decode(memory)
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (6, "whole = whole * torch.exp(peak - higher) + share"),
        (8, "new[:, :n] = self.old[:, :n]"),
        (9, "with torch.no_grad():\n        memory = model.encode(blocks)\n        for"),
    ],
)
def test_sums_bounds_and_contexts_that_belong_together(line: int, wanted: str) -> None:
    assert any(wanted in text for text in texts_of(RUNNING, line))


def test_no_decorator_for_a_function_that_has_its_own_context() -> None:
    right = "@torch.no_grad()\ndef f(x):\n    pass\n"
    text = f"import torch\n{RUNNING}\ndef other(x):\n    pass\n"
    tried = {at for at, new in Edits(text, right=right).among([], [], range(1, 20)) if "@torch" in new}
    assert tried == {15}


def test_an_order_is_turned_round_where_it_is_made() -> None:
    text = "def f(rows, order):\n    back = torch.tensor(order)\n    return rows[back]\n"
    assert "back = torch.tensor(order).argsort()" in lines(text, 2)


SEARCHED = """class Search:
    def __init__(self, ids, best):
        self.ids, self.best = ids, best

    @property
    def done(self):
        return len(self.ids) > 9 or bool(self.ended[:, 0].all())

    def way(self, x, trail):
        while not self.done:
            trail.append(self.best)
        drawn = torch.full(x.shape, 0.5)
        return list(trail)
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (7, "return len(self.ids) > 9 or bool((self.ended).all())"),
        (11, "(trail.appendleft(self.best))"),
        (11, "trail.append((self.ids))"),
        (12, "drawn = (torch.full(x.shape, 0.5, dtype=x.dtype))"),
        (13, "return (list(trail)[::-1])"),
    ],
)
def test_ends_indices_attributes_and_dtypes_are_exchanged(line: int, wanted: str) -> None:
    assert wanted in lines(SEARCHED, line)


def test_what_a_condition_of_a_loop_is_made_of_comes_before_other_lines() -> None:
    tried = [at for at, _ in Edits(SEARCHED).among([], [], [12, 11, 7])]
    assert tried.index(7) < len(tried) // 2
    first = {at: [n for n, one in enumerate(tried) if one == at] for at in (7, 12)}
    assert sum(first[7][:20]) < sum(first[12][:20])


def test_the_first_few_of_a_heap_are_those_of_the_heap_sorted() -> None:
    text = "def f(rows, n):\n    heap = []\n    heapq.heappush(heap, rows[0])\n    return heap[:n]\n"
    assert "return (sorted(heap)[:n])" in lines(text, 4)


def test_an_index_of_what_is_left_is_one_of_the_whole() -> None:
    text = "def f(x, rows):\n    for _ in x:\n        y = x[rows]\n        rows = y.nonzero()\n    return x\n"
    assert "rows = rows[y.nonzero()]" in lines(text, 4)
    text = "class A:\n    rows: list\n    def f(self, rows):\n        return A(rows), self.x[rows]\n"
    assert "return A((self.rows[rows])), self.x[rows]" in lines(text, 4)


def test_an_index_is_only_composed_of_indices() -> None:
    text = "def f(x, rows):\n    for _ in x:\n        y = x[0]\n        rows = y.nonzero()\n    return rows\n"
    assert not [one for one in lines(text, 4) if "rows[" in one]


@pytest.mark.parametrize(
    ("text", "due"),
    [
        (
            "names = [f'{a}_to' for a in sizes]",
            "[f'{a}_to_{number_of_round}' for number_of_round, a in enumerate(sizes)]",
        ),
        (
            "names = {f'{a}': b for a, b in sizes if a}",
            "{f'{a}_{number_of_round}': b for number_of_round, (a, b) in enumerate(sizes) if a}",
        ),
    ],
)
def test_names_of_rounds_get_the_number_of_the_round(text: str, due: str) -> None:
    assert any(due in one for one in lines(f"def f(sizes):\n    {text}\n    return names\n", 2))


def test_keywords_that_do_something_are_given_in_the_other_order() -> None:
    text = "def f(x):\n    return Link(rest=g(x), size=3, layer=h())\n"
    assert "return (Link(layer=h(), size=3, rest=g(x)))" in lines(text, 2)


def test_what_only_another_method_sets_is_set_from_the_start() -> None:
    text = (
        "class A:\n    rate = 0.0\n    def __init__(self, p):\n        self.p = p\n"
        "    def train(self, mode=True):\n        self.rate = self.p if mode else 0.0\n"
        "    def set(self, p):\n        self.p = self.size = p\n"
    )
    added = {new.splitlines()[4].strip() for at, new in Edits(text).among([3], []) if at == 4}
    assert "self.rate = self.p if True else 0.0" in added
    assert not [one for one in added if one.startswith("self.size")]


def test_what_is_done_for_its_effects_is_done_in_any_case() -> None:
    assert "if (True):" in lines("def f(x):\n    if not x.training:\n        x.train()\n    return x\n", 2)


def test_a_sum_gets_the_factor_of_another_one_wherever_it_stands() -> None:
    text = (
        "def f(old, new, x):\n    shrink = torch.exp(old - new)\n    half = old / 2\n"
        "    return State(\n        old.total + x,\n        old.mixed * shrink + half * x,\n    )\n"
    )
    found = lines(text, 5)
    assert {"(old.total * shrink + x),", "(old.total + x * shrink),"} <= found
    assert "(old.total * half + x)," not in found


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (10, "return kept[..., :size, :size]"),
        (15, "return cache.keys[:, :(cache.length)]"),
        (18, "k = (cat([old, new * scale], 1))"),
        (21, "self.norm = LayerNorm(8) if place == 'pre' else None"),
    ],
)
def test_buffers_are_cut_and_counted_joined_parts_are_scaled_and_options_are_asked(
    line: int, right: str
) -> None:
    text = """class Cache:
    def __init__(self, keys):
        self.keys, self.length = keys, 0

    def grow(self):
        self.length += 1


def masked(size, kept):
    return kept


class A(Module):
    def f(self, cache):
        return cache.keys[:, :cache.keys.size(1)]

    def g(self, old, new, scale):
        k = cat([old, new], 1) * scale

    def __init__(self, place="post"):
        self.norm = LayerNorm(8)
        self.pre = place == "pre"
"""
    assert right in lines(text, line)


def test_flags_take_the_flat_order_of_other_state() -> None:
    text = (
        "def f(n):\n    x, done = a(n), b(n)\n    for _ in range(n):\n        best = g(x, done)\n"
        "        flat = best.view(-1)\n        x = x.index_select(0, flat)\n        done = done | h(best)\n"
        "    return x, done\n"
    )
    found = {new.splitlines()[6].strip() for _, new in Edits(text).among([7], [])}
    assert "done = done.flatten()[flat.flatten()].view_as(done)" in found


def test_an_order_of_an_order_has_an_inverse() -> None:
    found = lines("def f(x, order):\n    return x[order[order]], x[:, order]\n", 2)
    inverse = "sorted(range(len(order)), key=order.__getitem__)"
    assert f"return (x[order[{inverse}]], x[:, {inverse}])" in found
