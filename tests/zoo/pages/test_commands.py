"""The pages of `zoo list`, `zoo train` and `zoo compare`: what is on them, and that they work in a browser."""

from __future__ import annotations

import errno
import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.browser import OpenPage
from tests.zoo.cli.conftest import Zoo
from tests.zoo.cli.conftest import plugin as plugin  # fixtures
from tests.zoo.cli.conftest import shell as shell
from tests.zoo.cli.conftest import zoo as zoo
from tests.zoo.cli.test_train import QUICK
from tests.zoo.training.test_record import SMALL
from zoo.cli.compare_tables import page_of_rows
from zoo.core.plugins import get_registry
from zoo.pages import gallery
from zoo.pages.runs import run_page
from zoo.training.record import Record, read_record

HOSTILE = "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>\u202e"
PLUGIN = f"""
from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant
BAD = {HOSTILE!r}
@hookimpl
def zoo_variants():
    option = Option("share", float, 0.5, BAD)
    return [
        Variant("schedule", "hostile", "zoo_parts:Hostile", BAD, BAD, BAD, (option,)),
        Variant("schedule", "gone", "nowhere:Gone", "cannot be found"),
    ]
class Hostile:
    'A class with a </script><script>alert(2)</script> in it.'
    def __init__(self, steps, warmup, share=0.5):
        raise SystemExit(3)
"""

pytestmark = pytest.mark.usefixtures("timed_once")


def one_line(text: str) -> str:
    return " ".join(text.split())


def test_every_variant_is_in_the_gallery_with_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gallery, "find_spec", lambda _name: None)  # as without matplotlib
    monkeypatch.chdir(tmp_path)
    variants = get_registry().variants()
    page = gallery.gallery(variants)
    for one in variants:
        assert f'id="{one.axis}-{one.name}"' in page
        assert html.escape(one.summary, quote=False).replace("'", "&#39;") in page
    assert re.search(r"(?<![/\w])zoo/parts/attention/eager\.py:\d+", page)  # true on every machine
    assert page.count("<pre") == len(variants)
    assert page.count("data-item ") == len(variants)
    assert "They need matplotlib" in page or "they need matplotlib" in page
    assert "<img" not in page
    assert len(page) < 1_500_000


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        (["list", "presets", "--html", "x.html"], "--html writes a page of variants"),
        (["list", "--json", "--html", "x.html"], "--html writes a page of variants"),
        (["list", "--like", "q*q", "--html", "x.html"], "No name matches --like 'q*q'"),
        (["list", "--html", "."], "'.' is a folder. Name a file in it, such as page.html."),
        (["train", "--html", "no/where.html"], "there is no folder 'no'"),
        (["train", "--html", "/dev/fd/x.html"], "The page cannot be written to '/dev/fd/x.html'"),
        (["compare", "--html", f"{'x' * 250}.html"], "The page cannot be written to 'xxx"),
        (["list", "--html", f"{'x' * 250}.html"], "The page cannot be written to 'xxx"),
    ],
)
def test_what_cannot_be_a_page_is_a_sentence(args: list[str], reason: str, zoo: Zoo) -> None:
    done = zoo(*args)
    assert (done.code, done.out) == (2, "")
    assert reason in one_line(done.err)


def test_a_page_of_a_training_and_how_to_repeat_it(zoo: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    args = [*QUICK, "--norm=post", "--seed=4", "--html", str(path)]
    done = zoo(*args, "--json")
    assert f"Wrote {path}." in one_line(done.err)
    page = html.unescape(path.read_text())
    assert f"zoo train {' '.join(args[1:])} --json" in page
    for part in ("Unseen texts right", "pandering", "post", "torch", "Loss. reverse: from"):
        assert part in page
    assert page.count("<polyline") >= 3
    assert not list(tmp_path.glob("zoo*"))  # the record was temporary


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_the_score_is_printed_though_the_page_cannot_be_written(
    more: list[str], zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run.html"

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr("zoo.pages.rendering.write_whole", full)
    done = zoo(*QUICK, "--html", str(path), *more)
    assert done.code == 2
    assert "the disk is full" in one_line(done.err)
    assert "of 1,000 right" in done.out or json.loads(done.out)["total"] == 1000
    assert not list(tmp_path.iterdir())  # the check beforehand left nothing


def test_a_training_that_diverged_has_a_page_too(zoo: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    assert zoo(*QUICK, "--lr=1e30", "--html", str(path)).code == 1
    assert "failed: The loss became nan at step 2" in path.read_text()


def test_the_texts_of_a_record_stay_text(tmp_path: Path) -> None:
    about = {
        "task": HOSTILE,
        "state": "failed",
        "problem": HOSTILE,
        "command": HOSTILE,
        "examples": [{"text": HOSTILE, "got": HOSTILE, "expected": HOSTILE, "right": False}],
        "machine": {"processor": HOSTILE, "device": "cpu"},
    }
    page = run_page(Record(HOSTILE, [1], [2.0], [0.1], {HOSTILE: [1.0]}, [(1, 3.0)], HOSTILE, about=about))
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "\u202e" not in page


def hostile_comparison() -> str:
    """A page of a comparison in which everything that a part or a record has a say in is hostile."""
    numbers: dict[str, tuple[str, float | None]] = {HOSTILE: (HOSTILE, 2.0), "none": ("-", None)}
    run = Record(HOSTILE, [1, 2], [2.0, 1.0], [0.1, 0.1], {HOSTILE: [1.0, 1.0]}, [(2, 3.0)], HOSTILE)
    rows = [([HOSTILE], numbers, HOSTILE), (["eager"], numbers, "")]
    return page_of_rows([HOSTILE], rows, {HOSTILE: 2.0}, [HOSTILE], [run], HOSTILE, {HOSTILE: HOSTILE})


def test_the_texts_of_a_comparison_stay_text() -> None:
    page = hostile_comparison()
    assert page.count("<script") == page.count("</script") == 1
    assert "<img" not in page
    assert "\u202e" not in page


def test_a_file_with_a_hostile_name_and_error_in_a_comparison(zoo: Zoo, tmp_path: Path) -> None:
    part, page = tmp_path / "a<img src=x onerror=alert(1)>\u202e.py", tmp_path / "compare.html"
    part.write_text(
        "from torch import nn\n"
        "class Own(nn.Module):\n"
        "    def __init__(self, d_model, num_heads, dropout=0.0):\n"
        "        super().__init__()\n"
        "        self.p = nn.Linear(d_model, d_model)\n"
        "    def forward(self, query, key, value, mask=None):\n"
        f"        raise ValueError({HOSTILE!r})\n"
    )
    done = zoo("compare", *SMALL, f"--attention=eager,{part}:Own", "--html", str(page))
    assert done.code == 0, done.err
    text = page.read_text(encoding="utf-8")
    assert "document.title=" in text  # the error
    assert text.count("<script") == 1
    assert "<img" not in text
    assert "\u202e" not in text


# In a browser.


@pytest.mark.slow
def test_a_hostile_comparison_in_a_browser(open_page: OpenPage, tmp_path: Path) -> None:
    path = tmp_path / "compare.html"
    path.write_text(hostile_comparison(), encoding="utf-8")
    page = open_page(path)
    assert page.title().startswith("Comparison by </script><script>")
    assert page.locator("img").count() == 0
    page.get_by_role("button", name="none").click()


@pytest.mark.slow
def test_the_gallery_in_a_browser(open_page: OpenPage, zoo: Zoo, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pictures need matplotlib")
    path = tmp_path / "list.html"
    assert zoo("list", "--html", str(path)).code == 0
    assert path.stat().st_size < 3_000_000
    page = open_page(path)
    count = len(get_registry().variants())
    assert page.locator("article:visible").count() == count
    pictures = page.locator("article img").evaluate_all(
        "all => all.map((one) => one.complete && one.naturalWidth)"
    )
    drawn = [one for one in get_registry().variants() if one.axis in gallery.PICTURES]
    assert len(pictures) == len(drawn)
    assert all(pictures)
    page.get_by_label("Search variants").fill("softmax cacheable fused")
    names = page.locator("article:visible h3").all_inner_texts()
    assert "fused" in names
    assert len(names) < 5
    assert page.locator("section:visible h2").all_inner_texts() == ["attention"]
    page.get_by_label("Search variants").fill("")
    assert page.locator("article:visible").count() == count
    source = page.locator("#variants details", has_text="Source of rmsnorm")
    assert not source.locator("pre").is_visible()
    source.locator("summary").click()
    assert source.locator("pre").inner_text().startswith("class RMSNorm")
    assert page.locator("math").count() >= count - 5
    assert page.locator("math").first.evaluate("one => one.getBoundingClientRect().height") > 5


@pytest.mark.slow
def test_a_hostile_plugin_in_a_browser(
    open_page: OpenPage, shell: Zoo, plugin: Callable[..., None], tmp_path: Path
) -> None:
    plugin(PLUGIN)
    path = tmp_path / "list.html"
    done = shell("list", "schedule", "--html", str(path))
    assert done.code == 0, done.err
    page = open_page(path)
    assert page.title() == "Variants of transformer-zoo"
    assert page.locator("img[src=x]").count() == 0
    card = page.locator("article", has_text="hostile").first
    assert "from parts" in card.inner_text()
    assert "</script><script>document.title='taken'" in card.inner_text()
    assert r"\u202e" in card.inner_text()
    assert "there is no module nowhere" in page.locator("article", has_text="gone").inner_text()


@pytest.mark.slow
def test_a_comparison_in_a_browser(open_page: OpenPage, zoo: Zoo, tmp_path: Path) -> None:
    path, runs = tmp_path / "compare.html", tmp_path / "runs"
    args = ["compare", *SMALL, "--embedding=scaled,shared", "--norm=pre,post", "--src-vocab=30", "--steps=3"]
    done = zoo(*args, "--task=reverse", "--seeds=2", "--runs", str(runs), "--html", str(path), "--json")
    rows = json.loads(done.out)
    page = open_page(path)
    assert page.locator("#rows tbody tr").count() == 4
    page.get_by_role("button", name="params").click()
    cells = page.locator("#rows tbody tr td:nth-child(3)")
    shown = [cell.get_attribute("data-value") for cell in cells.all()]
    numbers = sorted(row["parameters"] for row in rows if row["parameters"])
    assert [int(one) for one in shown if one] == numbers
    assert shown[len(numbers) :] == [""] * (4 - len(numbers))  # refused ones come last
    assert "keeps one table" in page.locator("#note-1").inner_text()
    assert page.locator(".legend").first.locator("li").count() == len(list(runs.iterdir())) == 4
    label = page.get_by_role("img").first.get_attribute("aria-label")
    assert "post-scaled-seed-1: from" in label
    assert f"{read_record(runs / 'pre-scaled-seed-0').losses[0]:.4g}" in label


@pytest.mark.slow
def test_a_training_in_a_browser(open_page: OpenPage, zoo: Zoo, tmp_path: Path) -> None:
    path = tmp_path / "run.html"
    assert zoo(*QUICK, "--steps=30", "--html", str(path)).code == 0
    page = open_page(path)
    assert page.get_by_role("img").count() == 4
    page.get_by_role("button", name="answer").click()
    answers = page.locator("#answers tbody tr td:nth-child(2)").all_inner_texts()
    assert len(answers) == 10
    assert re.search(r"--steps=30", page.get_by_label("Command").inner_text())
