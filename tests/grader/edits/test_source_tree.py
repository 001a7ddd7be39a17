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


def test_functions_for_gradients_are_known() -> None:
    assert Source(TEXT).backward == {33, 34}
