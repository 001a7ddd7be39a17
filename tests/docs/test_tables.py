"""The generated tables in the pages are up to date."""

from __future__ import annotations

from tests import ROOT
from tests.docs.tables import PAGES, TABLE, TABLES, markdown, with_tables
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.presets import zoo_presets
from zoo.training.translation import presets as translation

TEXT = "".join(page.read_text(encoding="utf-8") for page in PAGES)


def test_the_tables_are_those_of_the_registry() -> None:
    assert with_tables(TEXT) == TEXT, "A variant or a preset has changed: run `python -m tests.docs.tables`."


def test_the_readme_counts_the_variants() -> None:
    ours = sum(variant.origin in DEFAULT_PLUGINS for variant in get_registry().variants())
    assert f" {ours} variants on " in (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_table_is_in_a_page_with_every_name() -> None:
    found = {match["name"]: match["text"] for match in TABLE.finditer(TEXT)}
    assert found.keys() == TABLES.keys()
    for variant in get_registry().variants():
        if variant.origin in DEFAULT_PLUGINS:
            assert f"| `{variant.name}`" in found["variants"]
    for preset in (*zoo_presets(), *translation.zoo_presets()):
        assert f"| `{preset.name}` | {preset.summary} | {preset.source} |" in found["presets"]


def test_every_model_that_was_measured_is_in_the_page() -> None:
    (speed,) = [match["text"] for match in TABLE.finditer(TEXT) if match["name"] == "speed"]
    rows = [line.split(" | ")[2:4] for line in speed.splitlines() if line.startswith("| ")][2:]
    assert len(rows) >= 10
    assert all(0 < float(ratio.removesuffix(" *")) < 2 for row in rows for ratio in row)


def test_a_table_that_is_stale_or_touched_by_hand_is_noticed() -> None:
    """A row less in each, at its top or at its end."""
    for row in (2, -1):
        stale = TEXT
        for match in TABLE.finditer(TEXT):
            line = match["text"].splitlines()[row]
            assert f"{line}\n" in stale
            stale = stale.replace(f"{line}\n", "", 1)
        assert with_tables(stale) == TEXT


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert markdown(("a", "b"), [("x | y", "")]).splitlines()[-1] == "| x \\| y |  |"
