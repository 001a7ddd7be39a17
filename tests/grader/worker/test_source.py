"""Changed copies are compiled by statement, and run as the whole file would."""

from __future__ import annotations

import traceback
import types

import pytest

from grader.catalog import get_exercises
from grader.worker import source
from tests.grader.right import right_files

TEXT = b"""import math

@staticmethod
def f(x):
    # a comment
# at the margin
    return x + \\
math.pi

if math.pi > 3:
    big = True
else:
    big = False
try:
    import nothing_of_this_name
except ImportError:
    nothing = None
finally:
    done = [
1,
    ]
text = '''
def g(x):
    pass
'''

@staticmethod

class C:
    def m(self):
        return 1 / 0
"""


def positions(code: types.CodeType) -> set[tuple[int | None, ...]]:
    """Where in the text the instructions of a program, and of what it defines, come from."""
    inner = [positions(one) for one in code.co_consts if isinstance(one, types.CodeType)]
    found = {(line,) for _, _, line in code.co_lines() if line}
    return found.union(*inner)


def test_a_program_of_odd_statements_runs_as_a_whole() -> None:
    whole, copy = (vars(source.load(TEXT, "part.py", is_copy=one)) for one in (False, True))
    assert copy["f"](1) == whole["f"](1)
    assert (copy["big"], copy["nothing"], copy["done"]) == (True, None, [1])
    assert copy["text"] == whole["text"]
    assert set(copy) == set(whole)
    with pytest.raises(ZeroDivisionError) as caught:
        copy["C"].__func__().m()
    frame = traceback.extract_tb(caught.tb)[-1]
    assert (frame.lineno, frame.line) == (
        TEXT.splitlines().index(b"        return 1 / 0") + 1,
        "return 1 / 0",
    )


def test_an_error_has_its_line_after_a_form_feed() -> None:
    module = source.load(b"# a\fb\xe2\x80\xa8c\n\ndef f():\n    return 1 / 0\n", "part.py")
    with pytest.raises(ZeroDivisionError) as caught:
        module.f()
    assert traceback.extract_tb(caught.tb)[-1].line == "return 1 / 0"


def test_what_is_compiled_once_is_not_compiled_again() -> None:
    source._compiled.cache_clear()
    text = b"import math\n\ndef f(x):\n    return x\n\ny = %d\n"
    source.load(text % 1, "part.py", is_copy=True)
    before = source._compiled.cache_info().misses
    assert source.load(text % 2, "part.py", is_copy=True).y == 2
    assert source._compiled.cache_info().misses == before + 1
    assert source.load(b"\n" + text % 2, "part.py", is_copy=True).f.__code__.co_firstlineno == 4


@pytest.mark.parametrize(
    "text",
    [b"from __future__ import annotations\nx: Nothing = 1\n", b"# coding: latin-1\nx = '\xe9'\n"],
    ids=["future", "encoding"],
)
def test_what_is_said_of_all_statements_holds_for_all(text: bytes) -> None:
    assert source.load(text, "part.py", is_copy=True).x == source.load(text, "part.py").x


@pytest.mark.parametrize("text", [b"def f(:\n", b"x = (\n", b"\n@decorated\n"])
def test_what_does_not_compile_is_no_python(text: bytes) -> None:
    with pytest.raises(source.NotPythonError):
        source.load(text, "part.py", is_copy=True)


@pytest.mark.parametrize("exercise", get_exercises())
def test_the_lines_of_right_files_stay_theirs(exercise: str) -> None:
    for title, text in right_files(exercise).items():
        parts = source._parts(text.encode(), "part.py")
        assert parts or "__future__" in text, title
        whole = positions(compile(text, "part.py", "exec", dont_inherit=True))
        if parts:
            assert set().union(*map(positions, parts)) == whole, title
