"""`--format html`: what it says is what JSON says, all text stays text, and it works in a browser."""

from __future__ import annotations

import html
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner

from grader.catalog import get_exercises
from grader.core.failures import Matrices
from grader.core.results import Grade
from grader.core.spots import Lines, Spot
from grader.core.submission import SubmissionError
from grader.engine.local import LocalSubmission
from grader.engine.matrices import LARGEST, MOST, axes_of, matrices_of
from grader.engine.scenario import Observation, Scenario
from grader.engine.subject import AnswerKey
from grader.reports.html import page
from grader.reports.json import as_object
from tests import solution_file
from tests.browser import OpenPage
from tests.grader.grades import graded
from tests.grader.reports.test_reports import BROKEN, FAILED, PASSED, SCALE, SKIPPED, make
from zoo.cli.root import make_cli
from zoo.core.plugins import load_plugins

TAKEN = "</title></script></style></pre><script>document.title = 'taken'</script><img src=x onerror=alert(1)>"
HOSTILE = f"{TAKEN}\u202e\x00\x1b[31m{{{{ 7 * 7 }}}}"
SOURCE = "import torch\n\ndef f(x):\n    return x.tan()  # wrong\n"
WEIGHTS = Matrices(
    "weights[0]",
    "f, a case",
    ((0.5, 0.5), (1.0, 0.0)),
    ((0.5, 0.5), (0.0, math.nan)),
    size=(2, 2),
    axes=("query", "key"),
)
MASK = Matrices("keys", "True where seen", ((True, False),), ((False, False),), (4, 0), (9, 2))


def placed(spot: Spot, source: str = SOURCE) -> Spot:
    found = Lines(source).placed(spot)
    assert found is not None
    return found


HERE = placed(Spot(4, 4, 11, 18, value="tan(x)", expected="sin(x)"))
WRONG = replace(FAILED, mistakes=(replace(SCALE, where=HERE),), where=HERE, matrices=(WEIGHTS, MASK))
UNNAMED = replace(FAILED, mistakes=(), where=HERE, title="another", picture="x .\n. x")


def text_of(page: str) -> str:
    """A page's text, blanks aside."""
    return " ".join(
        html.unescape(re.sub(r"<(style|script)>.*?</\1>|<[^>]*>", " ", page, flags=re.DOTALL)).split()
    )


def rows_of(page: str) -> list[list[str]]:
    """The cells of each row of a table."""
    rows = re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)
    return [[text_of(cell) for cell in re.split(r"</t[dh]>", row)[:-1]] for row in rows]


def agrees_with_json(shown: str, grade: Grade) -> None:
    said = as_object(grade)
    text = text_of(shown)
    for one in said["tests"]:
        status = {"error": "grader error"}.get(one["status"], one["status"])
        title = next(result.title for result in grade.results if result.name == one["name"])
        (row,) = [cells for cells in rows_of(shown) if cells[:1] == [status] and cells[1].startswith(title)]
        assert row[2] == f"{one['points']:g}/{one['max_points']:g}"
        assert " ".join(one["message"].split()) in text
        if one["where"]:
            assert f"line-{one['where']['line']}" in shown
    for mistake in said["mistakes"]:
        assert mistake["id"] in text
        assert " ".join(mistake["text"].split()) in text
    assert f"{said['points']:g}/{said['max_points']:g} points" in text
    for key in ("exercise", "device", "seed"):
        assert str(said[key]) in text


def test_the_page_says_what_json_says() -> None:
    for results in ((PASSED,), (PASSED, WRONG, SKIPPED, BROKEN), (UNNAMED, PASSED), (SKIPPED,)):
        grade = make(*results, source=SOURCE, sandbox="strict")
        agrees_with_json(page([grade]), grade)


def test_the_place_is_marked_and_the_diagnosis_stands_below_it() -> None:
    shown = page([make(WRONG, source=SOURCE)])
    assert re.findall(r"<mark>(.*?)</mark>", re.sub(r"</?span[^>]*>|</mark><mark>", "", shown)) == ["x.tan()"]
    after = shown.partition('id="file-1-line-4"')[2]
    assert text_of("<" + after.partition('<div class="note">')[0]) == "4 return x.tan() # wrong"
    assert text_of(after.partition('<div class="note">')[2].partition("</div>")[0]).startswith(SCALE.id)
    assert 'href="#file-1-line-4"' in shown
    other = page([make(UNNAMED, source=SOURCE)]).partition('<div class="note">')[2].partition("</div>")[0]
    assert text_of(other) == "failed: another line 4 Yours: tan(x) Right: sin(x)"


def test_a_place_between_two_lines_marks_both_and_no_text() -> None:
    spot = placed(Spot(3, 3, 4, 5, why="omitted", other=4))
    shown = page([make(replace(UNNAMED, where=spot), source=SOURCE)])
    assert len(re.findall(r'class="line marked"', shown)) == 2
    assert "<mark>" not in shown


def test_hints_are_folded_each_in_the_one_before() -> None:
    shown = page(
        [make(WRONG, source=SOURCE, components=("scaled_dot_product_attention", "MultiHeadAttention"))]
    )
    assert re.search(
        rf"<details[^>]*data-spoiler>\s*<summary>Hint</summary>\s*<p>{re.escape(SCALE.hint)}", shown
    )
    first = shown.partition("Hint 1 of 3")[2]
    assert first.index("Hint 2 of 3") < first.index("</details>")
    assert "Hint 1 of" not in page([make(PASSED, source=SOURCE)])


def test_pictures_show_expected_and_got_and_frame_what_differs() -> None:
    shown = page([make(WRONG, source=SOURCE)])
    assert shown.count("<figure") == 4
    assert shown.count('class="differs"') == 3
    assert "weights[0], yours: query 0: 0.5, 0.5. query 1: 0, nan. " in shown
    assert "<title>query 1, key 0: 0</title>" in shown
    assert "<title>row 4, column 1: False</title>" in shown
    assert "Rows 4 to 4 of 9, columns 0 to 1 of 2." in shown
    assert WRONG.picture not in shown  # drawn in place of the one in text
    assert "<pre>x .\n. x</pre>" in page([make(UNNAMED, source=SOURCE)])


def test_several_files_are_one_page_with_an_index_and_ids_of_their_own() -> None:
    shown = page([make(WRONG, source=SOURCE), make(PASSED, source=SOURCE, file="other.py")])
    ids = re.findall(r'\bid="([^"]*)"', shown)
    assert len(ids) == len(set(ids))
    assert ["other.py", "passed", "2/2", ""] in rows_of(shown)
    for target in re.findall(r'href="#([^"]*)"', shown):
        assert target in ids


def hostile() -> Grade:
    """A grade in which everything that a submission has a say in is hostile."""
    source = f"{HOSTILE}\r\n{HOSTILE}\n\t{HOSTILE}\n"
    spot = placed(
        Spot(2, 2, 3, 9, other=1, last_right=3, last_value=HOSTILE, value=HOSTILE, expected=HOSTILE), source
    )
    named = replace(SCALE, text=HOSTILE, formula=HOSTILE, hint=HOSTILE, where=spot)
    results = (
        replace(WRONG, message=HOSTILE, mistakes=(named,), where=spot).cleaned(),
        replace(UNNAMED, message=HOSTILE, title=HOSTILE, where=spot, picture=HOSTILE).cleaned(),
        replace(SKIPPED, message=HOSTILE).cleaned(),
    )
    return make(
        *results, file=f"{HOSTILE}.py", source=source, components=("f", HOSTILE), exercise="attention"
    )


def test_what_is_hostile_stays_text() -> None:
    shown = page([hostile()])
    assert shown.count("<script") == shown.count("</script") == 1
    assert "<img src" not in shown
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069]", shown)
    assert r"\u202e\x00\x1b[31m{{ 7 * 7 }}.py" in shown


# What there is to draw.


def scenario() -> Scenario:
    return Scenario("a case", "f", "group", lambda _: {})


def test_rows_and_columns_are_named_where_they_are_known() -> None:
    right = Observation({"output": torch.zeros(2, 3, 4), "keys": torch.zeros(2, 3), "gain": torch.zeros(4)})
    got = Observation({name: torch.ones_like(x) for name, x in right.values.items()})
    axes = {"f, a case: *t": ("sentence", "query", "feature"), "f, *": ("", "position", "feature")}
    for given, named in (
        ({}, {"keys": ("sentence", "key", ""), "output[0]": ("", "", ""), "gain": ("", "", "")}),
        (
            axes,
            {
                "keys": ("sentence", "key", ""),
                "output[0]": ("query", "feature", "sentence 0"),
                "gain": ("", "feature", ""),
            },
        ),
        (
            {"f, *": axes["f, *"]},
            {
                "keys": ("sentence", "key", ""),
                "output[0]": ("position", "feature", ""),
                "gain": ("", "feature", ""),
            },
        ),
    ):
        drawn = matrices_of(scenario(), right, got, given)
        assert {one.title: (*one.axes, one.place) for one in drawn} == named
    assert page([make(WRONG, source=SOURCE)]).count("Rows: query; columns: key.") == 1
    known = make(replace(WRONG, matrices=(replace(WEIGHTS, place="sentence 1, head 0"),)), source=SOURCE)
    assert "Rows: query; columns: key. This is sentence 1, head 0, counted from 0." in text_of(page([known]))
    assert "Rows:" not in page([make(replace(WRONG, matrices=(MASK,)), source=SOURCE)])


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(get_exercises()))
def test_every_value_of_an_exercise_has_named_columns(name: str) -> None:
    subject = get_exercises()[name].subject()
    key = AnswerKey(subject, 1)
    unnamed = {
        (one.title, value)
        for one in key.scenarios
        for value, x in key.right(one, ()).values.items()
        if x.dim() and not axes_of(subject.axes, one, value)
    }
    # the author gives all outputs in one row no axes
    assert {(title, value) for title, value in unnamed if not title.endswith("in turns")} == set()


def test_maps_come_first_and_errors_and_other_shapes_have_none() -> None:
    right = Observation(
        {name: torch.zeros(2, 3, 4) for name in ("output", "weights", "more", "influence of x")}
    )
    got = Observation({name: torch.ones(2, 3, 4) for name in right.values})
    drawn = matrices_of(scenario(), right, got, {})
    assert [one.title for one in drawn] == ["influence of x[0]", "output[0]", "weights[0]"]
    assert len(drawn) == MOST
    assert drawn[1].legend == "f, a case"
    assert matrices_of(scenario(), right, Observation(error=SubmissionError("exception", "no")), {}) == ()
    wrong = Observation({"output": torch.ones(2, 4, 3), "weights": torch.tensor(1.0)})
    assert [*matrices_of(scenario(), right, wrong, {})] == []
    assert [*matrices_of(scenario(), right, right, {})] == []


def test_of_a_large_matrix_the_part_with_the_largest_difference_is_drawn() -> None:
    right, got = torch.zeros(2, 40, 70), torch.zeros(2, 40, 70)
    got[1, 39, 35] = float("nan")
    (drawn,) = matrices_of(scenario(), Observation({"output": right}), Observation({"output": got}), {})
    assert (drawn.title, drawn.first, drawn.size) == (
        "output[1]",
        (40 - LARGEST, 35 - LARGEST // 2),
        (40, 70),
    )
    assert len(drawn.got) == len(drawn.got[0]) == len(drawn.right) == LARGEST
    assert math.isnan(drawn.got[39 - drawn.first[0]][35 - drawn.first[1]])


def test_vectors_integers_and_what_is_not_finite_can_be_drawn() -> None:
    for right, got in (
        (torch.zeros(5), torch.full((5,), float("inf"))),
        (torch.zeros(5, dtype=torch.long), torch.ones(5, dtype=torch.long)),
        (torch.zeros(1, 5, dtype=torch.bool), torch.ones(1, 5, dtype=torch.bool)),
        (torch.full((2, 2), float("-inf")), torch.zeros(2, 2)),
        (torch.zeros(2, 2, dtype=torch.bool), torch.zeros(2, 2)),
    ):
        (drawn,) = matrices_of(scenario(), Observation({"x": right}), Observation({"x": got}), {})
        shown = page([make(replace(WRONG, matrices=(drawn,)), source=SOURCE)])
        assert shown.count('class="differs"') == (0 if right.dtype != got.dtype else right.numel())


def test_a_gradebook_keeps_neither_source_nor_matrices() -> None:
    lean = make(WRONG, PASSED, source=SOURCE).lean()
    assert lean.source == ""
    assert lean == make(replace(WRONG, matrices=()), PASSED)


# Whole.

RAISES = f"""# {TAKEN}
def padding_mask(tokens, pad=0):
    raise ValueError({HOSTILE!r})
class causal_mask:  # \u202e reversed
    def __init__(self, size, device=None): self.x = "\x00"
def decoder_mask(tokens, pad=0): return {TAKEN!r}
def to_additive(mask, dtype=None): raise type({TAKEN!r}, (Exception,), {{}})("x" * 5000)
"""


@pytest.mark.slow
def test_files_as_they_are_graded(open_page: OpenPage, tmp_path: Path) -> None:
    """One page for a right file, a wrong one, a hostile one and two that cannot be loaded; the same in JSON."""
    right = solution_file("masks").read_text(encoding="utf-8")
    texts = {
        "right.py": right,
        "wrong.py": right.replace("tokens != pad", "tokens == pad"),
        "h<img src=x onerror=alert(1)>\u202e\x01.py": RAISES,
        "nul.py": f"def f(:\n\x00 {TAKEN}\n",
        "large.py": "# " + "x" * (1 << 20),
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    cli = make_cli(load_plugins())
    shown = {}
    for form in ("html", "json"):
        words = [
            "grade",
            *(str(tmp_path / name) for name in texts),
            "--exercise",
            "masks",
            "--quick",
            "--seed",
            "1",
        ]
        done = CliRunner().invoke(cli, [*words, "--format", form, "-o", str(tmp_path / f"page.{form}")])
        assert done.exit_code == 1, done.output
        shown[form] = (tmp_path / f"page.{form}").read_text(encoding="utf-8")
    said = json.loads(shown["json"])
    index = [cells for cells in rows_of(shown["html"]) if cells[0].startswith(str(tmp_path))]
    assert [cells[1:] for cells in index] == [
        [
            "passed" if one["passed"] else "failed",
            f"{one['points']:g}/{one['max_points']:g}",
            ", ".join(mistake["id"] for mistake in one["mistakes"]),
        ]
        for one in said
    ]
    for one in said:
        for test in one["tests"]:
            assert " ".join(test["message"].split()) in text_of(shown["html"])
    page = open_page(tmp_path / "page.html")
    assert page.title() == "5 files graded"
    assert page.locator("script, img").count() == 1
    assert page.get_by_role("link", name=r"onerror=alert(1)>\u202e\x01.py").count() == 1
    marked = page.locator("#file-2-report mark")
    assert marked.all_inner_texts() == ["tokens == pad"]
    page.locator("#file-2-report article a").first.click()
    assert page.url.endswith("#file-2-line-9")
    hint = page.locator("#file-2-report article details")
    assert not hint.locator("p").is_visible()
    hint.locator("summary").press("Enter")
    assert hint.locator("p").is_visible()


@pytest.mark.slow
def test_a_page_of_made_up_grades_in_a_browser(open_page: OpenPage, tmp_path: Path) -> None:
    for name, grades in {
        "hostile": [hostile()],
        "many": [make(PASSED, WRONG, UNNAMED, SKIPPED, BROKEN, source=SOURCE), make(PASSED), hostile()],
    }.items():
        (tmp_path / f"{name}.html").write_text(page(grades), encoding="utf-8")
        opened = open_page(tmp_path / f"{name}.html")
        assert "taken" not in (opened.title().split("document.title")[0], opened.title())
        assert opened.locator("script, img").count() == 1


@pytest.mark.slow
def test_attention_without_its_scale_has_its_weights_drawn() -> None:
    text = solution_file("attention").read_text(encoding="utf-8").replace(" / math.sqrt(query.size(-1))", "")
    results = graded("attention", LocalSubmission.from_source(text, filename="attention.py"))
    drawn = [one.title for result in results if result.status == "failed" for one in result.matrices]
    assert any(re.fullmatch(r"weights\[\d, \d\]", title) for title in drawn)
    grade = make(*results, source=text)
    agrees_with_json(page([grade]), grade)
