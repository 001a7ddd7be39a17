"""What the text of a file says of its lines."""

from __future__ import annotations

from grader.edits.source_tree import Source

TEXT = '''class Part(Base):
    def __init__(self, size):
        """Make it."""
        self.size = size

    def forward(self, x, cache):
        out = [x]
        out.append(x)
        cache["a"] = x
        if True:
            pass
        if len(out) > self.size:
            out = out[1:]
            (x, out)
        return out, cache

    def abstract(self):
        pass

    def careful(self, x):
        try:
            return x.a
        except AttributeError:
            pass


def made():
    return Part(3)


class Step:
    @staticmethod
    def backward(ctx, given):
        return given
'''


def test_what_is_changed_in_place_counts_as_assigned() -> None:
    assert Source(TEXT).assigned(12) == [8, 7]
    assert Source(TEXT).assigned(15) == [13, 9, 8, 7]


def test_lines_where_nothing_is_done_or_decided() -> None:
    assert Source(TEXT).idle() == [(11, "pass"), (10, "True")]
    assert Source(TEXT).idle([20]) == []


def test_a_class_is_called_where_it_is_made() -> None:
    assert Source(TEXT).callers(4) == [28]


def test_statements_that_a_condition_decides() -> None:
    assert Source(TEXT).decides(12) == [13, 14]


def test_a_tuple_that_nothing_gets_is_unused() -> None:
    assert Source(TEXT).unused == [14]


def test_a_name_that_gets_its_own_value_is_unused() -> None:
    source = Source(
        "n = 3\nn = n\nclass A:\n    n = n\n    def f(self, x):\n        x = y = x\n        return x\n"
    )
    assert source.unused == [2]
    assert [source.in_function(line) for line in (2, 4, 6)] == [False, False, True]


def test_what_torch_gives_and_nothing_gets_is_unused() -> None:
    source = Source(
        "def f(rows, x):\n    torch.stack(rows)\n    F.relu(x)\n    F.relu(x, inplace=True)\n    F.relu_(x)\n"
        "    torch.add(x, 1, out=x)\n    torch.manual_seed(0)\n    rows.sort()\n    torch.sort(x)\n"
    )
    assert source.unused == [2, 3, 9]


def test_functions_for_gradients_are_known() -> None:
    assert Source(TEXT).backward == {33, 34}


ORIGINS = """import torch

EPS = 0.5


def wave(x):
    return x * EPS


rows = torch.vmap(wave)


class First(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 1


class Part:
    width: int = 3

    def __init__(self, size, scale=2.0):
        self.scale = scale
        self.table = rows(size)

    def forward(self, x, cache=None):
        cache = []
        out = x
        for row in x:
            line = []
            for one in row:
                line.append(one * self.scale)
            cache.append(line)
        weights = out
        again = First.apply(weights)
        return self.table[: self.width] + again, cache
"""


def of(part: str) -> int:
    return ORIGINS[: ORIGINS.index(part)].count("\n") + 1


def test_what_a_line_reads_is_followed_to_where_it_was_made() -> None:
    source = Source(ORIGINS)
    assert {of("self.table ="), of("width: int"), of("again =")} <= {*source.origins(of("return self.table"))}
    assert of("return x * EPS") in source.helpers(of("self.table ="))  # by a constant's name
    assert of("return x + 1") in source.helpers(of("again ="))
    assert of("def __init__") in source.made(of("line.append"))  # the default
    assert of("def __init__") in source.made(of("self.scale ="))


def test_what_reads_a_line_is_found_over_two_steps() -> None:
    readers = Source(ORIGINS).readers(of("weights ="))
    assert readers[:2] == [of("again ="), of("return self.table")]


def test_a_name_for_the_value_of_another_one_is_found() -> None:
    source = Source(ORIGINS)
    assert source.renamed(of("again =")) == of("weights =")
    assert source.renamed(of("for row")) is None
    assert Source(ORIGINS.replace("= out\n", "= out + 1\n")).renamed(of("again =")) is None


def test_items_of_lists_in_lists_are_followed_to_where_they_are_computed() -> None:
    assert Source(ORIGINS).listed(of("return self.table")) == of("line.append")


def test_an_argument_that_is_overwritten_is_found() -> None:
    assert Source(ORIGINS).overwritten(()) == ("cache", of("cache = []"))
    assert Source(ORIGINS).overwritten([of("return x + 1")]) is None
    assert Source(ORIGINS.replace("cache = []", "cache = cache or []")).overwritten(()) is None


def test_functions_of_lines_are_whole() -> None:
    found = Source(ORIGINS).functions([of("return x * EPS"), of("EPS = 0.5")])
    assert found == {of("EPS = 0.5"), of("def wave"), of("return x * EPS")}


def test_neighbours_are_statements_of_the_same_function() -> None:
    source = Source(
        "def f(x):\n    a = g(\n        x\n    )\n    b = a\n    return b\n\ndef h():\n    return 1\n"
    )
    assert [source.neighbours(line) for line in (2, 3, 5, 6, 9)] == [[1, 5], [1, 5], [2, 6], [5], [8]]


def test_what_functions_put_into_what_is_made_once_is_state() -> None:
    text = (
        "kept = {}\nlast = None\nTABLE = [1]\n\n"
        "def f(x):\n    if x not in kept:\n        kept[x] = g(x)\n    return kept[x]\n\n"
        "def g(x):\n    global last\n    last = x\n    table = TABLE\n    return table[0] * x\n\n"
        "def h(kept):\n    kept[0] = 1\n    return kept\n"
    )
    source = Source(text)
    assert source.state([6, 8]) == [(7, "kept")]  # also where it was not run now
    assert source.state([12]) == [(12, "last")]
    assert source.state([17]) == []
    table = "class Table:\n    kept: dict = {}\n\n    @classmethod\n    def get(cls, n):\n        cls.kept[n] = f(n)\n"
    assert Source(table).state([6]) == [(6, "cls.kept")]


def test_parameters_in_plain_collections_are_hidden() -> None:
    text = (
        "def weights(n):\n    return {'a': nn.Parameter(zeros(n)), 'b': nn.Parameter(zeros(n))}\n\n"
        "class M(nn.Module):\n    def __init__(self, n):\n        super().__init__()\n        self.config = Config(n)\n"
        "        self.weights = weights(n)\n        self.others = nn.ParameterDict(weights(n))\n"
        "        self.last = [nn.Parameter(zeros(n))]\n"
    )
    assert Source(text).hidden_parameters == [(8, "self.weights"), (2, "self.weights"), (10, "self.last")]
    learning = "def b(n):\n    return zeros(n, requires_grad=True)\n\n"
    learning += "class M:\n    def __init__(self):\n        self.b = b(3)\n"
    assert Source(learning).hidden_parameters == [(6, "self.b"), (2, "self.b")]
    assert Source(text).strings == {"a": [2], "b": [2]}


def test_no_default_stands_for_what_comes_by_position() -> None:
    text = "def f(x, size=0):\n    return x\n\n\ndef g(*parts, size=0):\n    return parts\n"
    assert Source(text).default(1, "size") == 1
    assert Source(text).default(5, "size") is None


def test_what_moves_with_its_module_is_not_on_the_default_device() -> None:
    text = (
        "class A:\n    def __init__(self):\n        self.w = nn.Parameter(torch.randn(2) * 3)\n"
        "        self.b = torch.zeros(2)\n"
    )
    assert Source(text).on_default_device == [4]
