"""Steps of right code, and statements elsewhere: changes for what was left out, or is in the wrong place."""

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
from grader.edits.fragments import Fragments
from grader.edits.moved import partners
from tests.grader.edits.tried import changed, lines

TEXT = """import math
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.Identity(size)

    def forward(self, x, mask=None):
        total = 0
        for row in x:
            total = total + row
            return total
        if mask is None:
            x = x + 1
        x = x * 2
        return x
"""
RIGHT = """
class Right(nn.Module):
    def __init__(self, size: Tensor | None) -> None:
        self.norm = nn.LayerNorm(size)

    def forward(self, x, scores):
        a: Tensor = x.tril() / math.sqrt(x.size(-1))
        return self.norm(a)[:, None] + scores.exp()
"""


def test_a_step_of_right_code_is_put_around_an_expression() -> None:
    found = lines(TEXT, 19, RIGHT)
    assert {"return (x.tril())", "return (x / math.sqrt(x.size(-1)))", "return (self.norm(x))"} <= found
    assert "return (x[:, None])" in found


def test_a_step_whose_names_are_not_known_there_is_left_out() -> None:
    assert not any("scores" in line for line in lines(TEXT, 19, RIGHT))
    step = Fragments(ast.parse("def f(x, y):\n    return x + y\n"))
    inner = ast.parse("z", mode="eval").body
    assert [ast.unparse(one) for one in step.around(inner, ["z", "y"], [])] == ["z + y"]


def test_types_are_no_steps() -> None:
    assert not any("Tensor" in line or "None |" in line for line in lines(TEXT, 19, RIGHT))


def test_another_module_of_right_code_is_tried() -> None:
    assert "self.norm = (nn.LayerNorm(size))" in lines(TEXT, 9, RIGHT)


def test_two_statements_are_exchanged() -> None:
    text = "def f(x):\n    x = x + 1\n    x = [\n        x * 2]\n    return x\n"
    assert "def f(x):\n    x = [\n        x * 2]\n    x = x + 1\n    return x\n" in changed(text, 2)


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


def test_parentheses_around_the_last_two_of_three() -> None:
    assert "return (2 * (x // 2))" in lines("def f(x):\n    return 2 * x // 2\n", 2)


def test_what_is_unpacked_is_exchanged() -> None:
    assert "((b, a)) = x.shape" in lines("def f(x):\n    a, b = x.shape\n    return a\n", 2)


def test_a_statement_leaves_the_loop_that_it_ends() -> None:
    out = TEXT.replace("            return total\n", "        return total\n")
    assert out in changed(TEXT, 15)


def test_a_statement_goes_into_the_block_above() -> None:
    into = TEXT.replace(
        "            x = x + 1\n        x = x * 2\n", "            x = x + 1\n            x = x * 2\n"
    )
    assert into in changed(TEXT, 18)


def test_moved_statements_of_several_lines_stay_python() -> None:
    text = "def f(x):\n    if x:\n        y = 1\n        z = (x +\n             y)\n    return z\n"
    moved = changed(text, 4)
    assert "def f(x):\n    if x:\n        y = 1\n    z = (x +\n         y)\n    return z\n" in moved
    for one in moved:
        ast.parse(one)


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


def test_a_branch_of_a_condition_gets_another_operand() -> None:
    text = TEXT.replace("x = x * 2", "x = self.norm(x) if mask is None else x")
    assert any("self.norm(x) + x if mask" in line for line in lines(text, 18))


def test_a_condition_that_is_a_constant_asks_a_name() -> None:
    assert {"if not mask:", "if mask:"} <= lines(TEXT.replace("if mask is None:", "if True:"), 16)


def test_a_tensor_becomes_a_buffer() -> None:
    text = TEXT.replace("self.norm = nn.Identity(size)", "self.table = torch.ones(size)")
    assert "self.register_buffer('table', torch.ones(size))" in lines(text, 9)


def test_a_list_becomes_a_module() -> None:
    text = TEXT.replace("nn.Identity(size)", "[nn.Identity(size) for _ in range(3)]")
    assert "self.norm = nn.ModuleList([nn.Identity(size) for _ in range(3)])" in lines(text, 9)


def test_an_index_is_off_by_one_or_another_one_is_right() -> None:
    text = "def f(x, i):\n    x[0, i] = x[:, i]\n    return x[i]\n"
    assert "(x[0, i + 1]) = x[:, i]" in lines(text, 2)
    assert "return (x[:, -1])" in lines(text, 3, "def right(y):\n    return y[:, -1]\n")


LACKING = """
import torch.nn.functional as F
from torch import nn


class Part(nn.Module):
    def __init__(self, size, eps=1e-5):
        self.eps = 1e-6
        self.layers = nn.Sequential(
            nn.GELU(),
        )

    def forward(self, x, mask=None, used=1):
        y = self.attend(query=x, key=x, mask=mask)
        y = self.attend(query=y, key=y)
        y = F.dropout(y, p=0.5)
        k, v = y[:, :, 0], x[:, :, 0]
        y, k = self.pair, k
        y = y + F.relu(self.norm(x))
        y[y.le(0) & (x > 0)] = torch.finfo(y.dtype).min
        y = y if used < x.size(0) else x
        return k.view(2, 3), F.scaled_dot_product_attention(x, k, v, dropout_p=0.5)
"""


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (8, "self.eps = eps"),
        (10, "(nn.ReLU()),"),
        (15, "y = (self.attend(query=y, key=y, mask=mask))"),
        (16, "y = (F.dropout(y, p=0.5, training=self.training))"),
        (17, "k, v = (y[:, :used, 0], x[:, :used, 0])"),
        (18, "y, k = v"),
        (19, "y = (self.norm(y + F.relu(x)))"),
        (20, "y[y.le(0) & (x > 0)] = (float('-inf'))"),
        (20, "y[(y.eq(0)) & (x > 0)] = torch.finfo(y.dtype).min"),
        (20, "y[y.le(0) & ((x != 0))] = torch.finfo(y.dtype).min"),
        (21, "y = y if (used != x.size(0)) else x"),
        (
            22,
            "return (k.transpose(1, 2).reshape(2, 3)), F.scaled_dot_product_attention(x, k, v, dropout_p=0.5)",
        ),
        (
            22,
            "return k.view(2, 3), (F.scaled_dot_product_attention(x, k, v, "
            "dropout_p=0.5 if self.training else 0.0))",
        ),
    ],
)
def test_what_a_call_or_a_constant_lacks_is_tried(line: int, new: str) -> None:
    assert new in lines(LACKING, line)


@pytest.mark.parametrize("made", ["nn.Sequential", "", "OrderedDict"])
def test_layers_are_exchanged_at_the_line_of_the_later_one(made: str) -> None:
    begin, end = f"layers = {made}({'' if made else '['}\n", f"\n{'' if made else ']'})\n"
    layers = ["a=A()", "b=B()", "c=C()"] if made == "OrderedDict" else ["A()", "B()", "C()"]
    text, wanted = (begin + ",\n".join(some) + end for some in (layers, [layers[i] for i in (0, 2, 1)]))
    same = ast.dump(ast.parse(wanted))
    assert [at for at, new in Edits(text).among([1], []) if ast.dump(ast.parse(new)) == same] == [4]


def test_rarer_functions_become_usual_ones() -> None:
    text = "import torch\n\n\ndef f(x):\n    y = nn.Softplus()(x)\n    return y.median(-1)\n"
    assert "y = (nn.ReLU())(x)" in lines(text, 5)
    assert any("(y.mean(-1))" in one for one in lines(text, 6))


def test_signs_are_for_values() -> None:
    text = "import torch\n\n\ndef f(x):\n    y = torch.exp(x)\n    return y.sum()\n"
    assert "y = torch.exp((-x))" in lines(text, 5)
    assert "return (~y).sum()" in lines(text, 6)
    assert not [
        one for one in {*lines(text, 5), *lines(text, 6)} if "(-torch" in one and "(-torch.exp(x))" not in one
    ]


def test_numpy_makes_floats_unless_told() -> None:
    assert "return (np.ones(n, dtype=bool))" in lines(
        "import numpy as np\n\n\ndef f(n):\n    return np.ones(n)\n", 5
    )


def test_an_index_may_lack_a_dimension() -> None:
    assert "return (x[:, None])" in lines("def f(x):\n    return x[:]\n", 2)


def test_an_operation_that_right_code_has_and_the_file_has_not_comes_early() -> None:
    every = [list(Edits(TEXT, right=RIGHT, lacking=names).among([19], [])) for names in ((), ("exp", "tril"))]
    first = [next(i for i, (_, new) in enumerate(some) if "return (x.tril())" in new) for some in every]
    assert first[1] < first[0]
    assert sorted(every[0]) == sorted(every[1])


def test_a_module_of_right_code_is_tried_for_one_that_does_nothing_before_others() -> None:
    tried = [new for _, new in Edits(TEXT, right=RIGHT).among([19], [], [9])]
    other = next(i for i, new in enumerate(tried) if "self.norm = (nn.LayerNorm(size))" in new)
    assert other < len(tried) / 2


def test_an_argument_that_is_overwritten_is_kept_where_it_is_not_none() -> None:
    text = "def f(x, cache=None):\n    cache = []\n    return g(x, cache)\n"
    assert any("cache = [] if cache is None else cache" in one for one in lines(text, 2))
    read = text.replace("cache = []", "cache = [cache]")
    assert not any("is None" in one for one in lines(read, 2))


def test_all_of_an_axis_is_bounded_by_a_name() -> None:
    assert "return x[:n]" in lines("def f(x, n):\n    return x[:]\n", 2)


def test_an_attribute_that_nothing_reads_is_tried_for_another_one() -> None:
    text = TEXT.replace("return x\n", "return self.scale(x)\n").replace(
        "self.norm =", "self.scale = nn.ReLU()\n        self.norm ="
    )
    line = text.splitlines().index("        return self.scale(x)") + 1
    tried = [new for at, new in Edits(text).among([line], []) if at == line]
    assert any("return (self.norm)(x)" in new for new in tried[:40])


@pytest.mark.parametrize(("wrong", "right"), [("sigmoid", "exp"), ("enable_grad", "no_grad")])
def test_functions_that_right_code_has_more_often_are_tried_for_others(wrong: str, right: str) -> None:
    assert f"return (torch.{right}(x))" in lines(f"import torch\ndef f(x):\n    return torch.{wrong}(x)\n", 3)


def test_a_module_that_does_nothing_and_gets_arguments_is_replaced_first() -> None:
    tried = [new for _, new in Edits(TEXT, right=RIGHT).among([19], [9])]
    assert "self.norm = (nn.LayerNorm(size))" in tried[0]


def test_what_is_returned_loses_its_first_or_last_column_or_row() -> None:
    text = "def f(rows):\n    out = rows.clone()\n    return out\n"
    new = [one.splitlines()[2].strip() for line, one in Edits(text).among([2], [], [3]) if line == 3]
    assert {"return out[:, 1:]", "return out[:, :-1]", "return out[1:]", "return out[:-1]"} <= set(new)


def test_a_move_of_a_likely_line_comes_before_steps_of_right_code() -> None:
    text = "def f(x, used):\n    pair = x[:, :used] + x\n    used += 1\n    return pair, used\n"
    tried = [one for _, one in Edits(text, right=RIGHT, lacking={"exp", "tril"}).among([2], [3], [4])]
    moved = "def f(x, used):\n    used += 1\n    pair = x[:, :used] + x\n    return pair, used\n"
    assert tried.index(moved) < min(i for i, one in enumerate(tried) if ".exp()" in one or ".tril()" in one)


def test_no_operation_works_on_self() -> None:
    text = "class A:\n    def f(self, x):\n        return self.g(x) + self.size\n"
    tried = [one for _, one in Edits(text, right=RIGHT, lacking={"exp"}).among([3], [], [])]
    assert any("x.exp()" in one for one in tried)
    assert not any("(self.exp())" in one for one in tried)


STATE = """class A:
    def __init__(self):
        self.empty = {"k": []}

    def f(self, x, y, cache=None, rows=[]):
        if cache is None:
            cache = self.empty
        cache["k"].append(x)
        rows.append(y)
        return cache, rows
"""


def test_what_is_made_once_and_can_be_written_to_is_made_anew() -> None:
    changed = {(line, one.splitlines()[line - 1].strip()) for line, one in Edits(STATE).among([7], [9], [])}
    assert (7, "cache = ({'k': []})") in changed
    assert (9, "([]).append(y)") in changed


def test_another_name_is_handed_to_a_call_made_for_what_it_does() -> None:
    tried = [(line, one.splitlines()[line - 1].strip()) for line, one in Edits(STATE).among([9], [8], [])]
    assert (8, 'cache["k"].append((y))') in tried
    assert (9, "rows.append((x))") in tried


def test_no_operation_works_on_what_is_called_or_on_a_statement() -> None:
    tried = [one for _, one in Edits(STATE, right=RIGHT, lacking={"exp"}).among([8], [], [])]
    assert any("(x.exp())" in one for one in tried)
    assert not any(").exp()" in one or ".append.exp" in one for one in tried)


def test_a_backward_pass_gets_a_factor_that_was_saved() -> None:
    text = "def backward(ctx, grad):\n    hat, gain = ctx.saved_tensors\n    pull = grad\n    return pull * hat\n"
    assert "pull = (grad * gain)" in lines(text, 3)
    assert "pull = (grad * gain)" not in lines(text.replace("ctx.saved_tensors", "ctx"), 3)


@pytest.mark.parametrize(
    ("text", "line", "wanted"),
    [
        ("@dataclass\nclass Norm(nn.Module):\n    gain: int\n", 1, "@(dataclass(eq=False))"),
        (
            "@dataclass(repr=False)\nclass Norm(nn.Module):\n    gain: int\n",
            1,
            "@(dataclass(repr=False, eq=False))",
        ),
        ("Ids = IntEnum('Ids', 'PAD SOS EOS')\n", 1, "Ids = (IntEnum('Ids', 'PAD SOS EOS', start=0))"),
        ("class Ids(IntEnum):\n    PAD = auto()\n    SOS = auto()\n", 2, "PAD = (0)"),
    ],
)
def test_enumerations_begin_at_0_and_data_classes_compare_nothing(text: str, line: int, wanted: str) -> None:
    assert wanted in lines(text, line)


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


def test_an_order_is_turned_round_where_it_is_made() -> None:
    text = "def f(rows, order):\n    back = torch.tensor(order)\n    return rows[back]\n"
    assert "back = torch.tensor(order).argsort()" in lines(text, 2)


PORTED = """LOWEST = sys.float_info.min
RATE = "linear * square_root"
KINDS = {"linear": 1, "square": 2, "square_root": 3}


def regroup(ids, ended, order):
    old = ids[:]
    was = ended
    key = extend(cache, "k", order) * scale
"""


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        (1, "LOWEST = (float('-inf'))"),
        (2, "RATE = 'linear * square'"),
        (7, "old = (__import__('copy').deepcopy(ids))"),
        (8, "was = (__import__('copy').deepcopy(ended))"),
        (9, 'key = (extend(cache, "k", order * scale))'),
    ],
)
def test_what_ports_from_other_libraries_get_wrong(line: int, wanted: str) -> None:
    assert wanted.replace('"', "'") in {one.replace('"', "'") for one in lines(PORTED, line)}


def test_two_names_beside_each_other_are_copied_at_once() -> None:
    wanted = [
        f"    {name} = (__import__('copy').deepcopy({of}))" for name, of in (("old", "ids"), ("was", "ended"))
    ]
    assert any(new.splitlines()[6:8] == wanted for new in changed(PORTED, 7))


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


def test_another_key_of_the_same_dictionary_is_looked_up() -> None:
    text = "def f(x):\n    of = {'lowest': x.min(), 'min': x.abs()}\n    return of['min']\n"
    assert "return (of['lowest'])" in lines(text, 3)


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("x = x.sum().add_(y)", "x = (x.sum().add(y))"),
        ("x.scatter_(0, y, 0.5)", "(x.scatter_(0, y, 0.5, reduce='add'))"),
        ("x = x.scatter(0, y, z)", "x = (x.scatter_add(0, y, z))"),
        ("x = y.numel() / y.sum() * torch.rand(3)", "x = (1 / (1 - p)) * torch.rand(3)"),
        ("x = [norm(x), y.softmax(0)][kind]", "x = [norm(x), y.softmax(0)][(p)]"),
        ("x = Both(norm, y)", "x = Both((lambda *given: norm(*given, p=p)), y)"),
        ("x = 'norm drop, add'.split()", "x = 'drop norm, add'.split()"),
    ],
)
def test_what_is_written_drawn_listed_or_handed_on_otherwise(wrong: str, right: str) -> None:
    text = f"def norm(x, p=1):\n    return x\n\ndef f(x, y, z, p, kind):\n    {wrong}\n    return x\n"
    assert right in lines(text, 5)


def test_a_sum_gets_the_factor_of_another_one_wherever_it_stands() -> None:
    text = (
        "def f(old, new, x):\n    shrink = torch.exp(old - new)\n    half = old / 2\n"
        "    return State(\n        old.total + x,\n        old.mixed * shrink + half * x,\n    )\n"
    )
    found = lines(text, 5)
    assert {"(old.total * shrink + x),", "(old.total + x * shrink),"} <= found
    assert "(old.total * half + x)," not in found


def test_one_of_two_equal_attributes_is_another_one() -> None:
    text = "class A:\n    def f(self):\n        self.k, self.v = g(self.k), g(self.k)\n"
    assert "self.k, self.v = g(self.k), g((self.v))" in lines(text, 3)


def test_of_two_arguments_that_are_the_same_a_third_one_is_too() -> None:
    text = "def f(query, key, value):\n    if query is key:\n        return value\n    return key\n"
    assert "if query is key is value:" in {one.replace("(", "").replace(")", "") for one in lines(text, 2)}


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


OF_OTHERS = """class Model(Module):
    def __init__(self, rows=ModuleList()):
        self.rows = rows

    def encode(self, src):
        self.mask = self.masked(src)
        return self.norms("first", src)

    def decode(self, tgt, memory, src):
        kept = tgt
        for step in self.rows:
            tgt = step(kept, tgt)
        memory = self.encode(src)
        with torch.no_grad():
            best = self.mask + memory
        return tgt.unflatten(-1, (self.width, self.heads)).movedim(-1, 1)
"""


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (3, "self.rows = (ModuleList())"),
        (7, "return (src)"),
        (15, "best = (self.masked(src)) + memory"),
        (16, "return (tgt.unflatten(-1, (self.heads, self.width)).transpose(1, 2))"),
    ],
)
def test_what_was_made_for_others_is_made_for_this_call(line: int, right: str) -> None:
    assert right in lines(OF_OTHERS, line)


@pytest.mark.parametrize("line", [10, 13])
def test_a_statement_goes_into_the_loop_or_the_context_after_it(line: int) -> None:
    rows = OF_OTHERS.splitlines()
    wanted = [*rows[: line - 1], rows[line], "    " + rows[line - 1], *rows[line + 1 :]]
    assert "\n".join(wanted) + "\n" in changed(OF_OTHERS, line)


def test_a_value_of_arguments_that_this_method_lacks_is_not_made_here() -> None:
    text = OF_OTHERS.replace("memory, src", "memory, source")
    assert "best = (self.masked(src)) + memory" not in lines(text, 15)


SIDE_BY_SIDE = """def step(self, x, kept):
    n = self.norm(x)
    y = self.attend(n, x, x)
    k, v = self.k(y), self.v(y)
    keys, values = k, cat([kept, v])
    columns = slice(h, h + self.width)
    first = x[:, h : self.width + h]
    self.keep(keys, values)
    return first, (k, v)
    back = order
"""


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (3, "y = (self.attend(n, n, n))"),
        (6, "columns = (slice(h * self.width, h * self.width + self.width))"),
        (7, "first = x[:, h * self.width:h * self.width + self.width]"),
        (8, "(self.keep(k, v))"),
        (9, "return first, ((keys, values))"),
        (10, "back = sorted(range(len(order)), key=order.__getitem__)"),
    ],
)
def test_names_side_by_side_and_blocks_are_changed_together(line: int, right: str) -> None:
    assert right in lines(SIDE_BY_SIDE, line)
