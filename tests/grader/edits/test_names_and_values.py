"""Another name, value, index, key or attribute, and what is made once, made anew."""

from __future__ import annotations

import pytest

from grader.edits.edits import Edits
from tests.grader.edits.tried import RIGHT, changed, is_python, lines, plain, texts_of


def test_what_is_unpacked_is_exchanged() -> None:
    assert "((b, a)) = x.shape" in lines("def f(x):\n    a, b = x.shape\n    return a\n", 2)


def test_an_index_is_off_by_one_or_another_one_is_right() -> None:
    text = "def f(x, i):\n    x[0, i] = x[:, i]\n    return x[i]\n"
    assert "(x[0, i + 1]) = x[:, i]" in lines(text, 2)
    assert "return (x[:, -1])" in lines(text, 3, "def right(y):\n    return y[:, -1]\n")


def test_signs_are_for_values() -> None:
    text = "import torch\n\n\ndef f(x):\n    y = torch.exp(x)\n    return y.sum()\n"
    assert "y = torch.exp((-x))" in lines(text, 5)
    assert "return (~y).sum()" in lines(text, 6)
    assert not [
        one for one in {*lines(text, 5), *lines(text, 6)} if "(-torch" in one and "(-torch.exp(x))" not in one
    ]


def test_an_argument_that_is_overwritten_is_kept_where_it_is_not_none() -> None:
    text = "def f(x, cache=None):\n    cache = []\n    return g(x, cache)\n"
    assert any("cache = [] if cache is None else cache" in one for one in lines(text, 2))
    read = text.replace("cache = []", "cache = [cache]")
    assert not any("is None" in one for one in lines(read, 2))


def test_all_of_an_axis_is_bounded_by_a_name() -> None:
    assert "return x[:n]" in lines("def f(x, n):\n    return x[:]\n", 2)


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


KEPT = """def table(x, size, dtype):
    key = size
    if key not in TABLES:
        TABLES[key] = x.new_zeros(size, dtype=dtype)
    if size in OTHERS:
        return OTHERS[size]
    return drop(TABLES[key], keep=rate)
"""


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (2, "key = (size, dtype)"),
        (2, "key = (size, x.device)"),
        (5, "if (size, dtype) in OTHERS:\n        return OTHERS[size, dtype]"),
        (7, "return drop(TABLES[key], keep=1 - rate)"),
    ],
)
def test_keys_get_longer_and_shares_are_what_is_left_of_them(line: int, right: str) -> None:
    assert any(right in text for text in texts_of(KEPT, line))


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


def test_one_of_two_equal_attributes_is_another_one() -> None:
    text = "class A:\n    def f(self):\n        self.k, self.v = g(self.k), g(self.k)\n"
    assert "self.k, self.v = g(self.k), g((self.v))" in lines(text, 3)


def test_of_two_arguments_that_are_the_same_a_third_one_is_too() -> None:
    text = "def f(query, key, value):\n    if query is key:\n        return value\n    return key\n"
    assert "if query is key is value:" in {one.replace("(", "").replace(")", "") for one in lines(text, 2)}


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


LEFT_OUT = """
class Layer:
    def __init__(self, norm):
        self.pre = norm != "pre"

    def forward(self, x):
        return x if self.pre else -x

    def read(self):
        return self.keys[:, : self.used]

    def rate(self, step: int, size: float):
        falling = 1
        return min(step, falling) * 2**0.5

    def search(self, rows):
        k, v = self.read()
        self.values = v
        for token, value in enumerate(rows):
            pool.append((total, token))
"""


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (7, 'self.pre = norm == "pre"'),
        (10, "return (self.keys[:, :self.used], self.values[:, :self.used])"),
        (13, "falling = step ** -0.5"),
        (20, "pool.append((total + value, token))"),
    ],
)
def test_what_is_denied_and_what_lacks_beside_its_like(line: int, right: str) -> None:
    found = Edits(LEFT_OUT, right="def right(step):\n    return 2 * step**-0.5").among([line], [])
    assert any(plain(right) in new for new in (plain(new) for _, new in found if is_python(new)))


def test_whole_numbers_are_no_exponents() -> None:
    found = lines(LEFT_OUT, 14)
    assert "return min(step, falling) * 2**size" in found
    assert "return min(step, falling) * 2**step" not in found


IN_PART = """
class Layer:
    def __init__(self, stages):
        self.layers = [Linear(*stage) for stage in stages]

    def mask(self, ids):
        return self.kept(partial(self.keys, ids), ids.shape)

    def drawn(self, x):
        batch, steps, width = x.shape
        return torch.rand(batch, 1, width, dtype=torch.float16)

    def step(self, logits):
        loss = logits.log_softmax(-1).mean()
        shifted[:] = 1
        loss.backward()
        return max(-(loss / 2))
"""


@pytest.mark.parametrize(
    ("line", "right"),
    [
        (4, "Linear(*stage[:2])"),
        (7, "return self.keys(ids)"),
        (11, "torch.rand(batch, steps, width, dtype=torch.float16)"),
        (11, "torch.rand(batch, 1, width, dtype=x.dtype)"),
        (15, "shifted[:, 0] = 1"),
        (16, "loss = -logits.log_softmax(-1).mean()"),
        (17, "max(loss / 2)"),
    ],
)
def test_signs_sizes_and_what_is_handed_on_in_part(line: int, right: str) -> None:
    found = Edits(IN_PART).among([line], [])
    assert any(plain(right) in new for new in (plain(new) for _, new in found if is_python(new)))


@pytest.mark.parametrize("right", ["a + b", "a - 1", "a < b", "a != b", "a | b", "a / b", "a"])
def test_operators_are_taken_for_each_other(right: str) -> None:
    wrong = {"a + b": "a - b", "a - 1": "a + 1", "a < b": "a <= b", "a != b": "a == b"}
    wrong |= {"a | b": "a & b", "a / b": "a * b", "a": "a - 1"}
    assert f"return {right}" in {
        one.replace("(", "").replace(")", "") for one in lines(_run(wrong[right]), 2)
    }


def _run(value: str) -> str:
    return f"def run(a, b):\n    return {value}\n"


def test_numbers_one_after_the_other_are_no_mask() -> None:
    text = "def rows(n):\n    return torch.arange(n)\n\n\ndef f(n):\n    return rows(n) <= heads(n)\n"
    tried = lines(text, 6)
    assert "return rows(n) <= (~heads(n))" in tried
    assert not any("~rows" in one or "-rows" in one for one in tried)
