"""Wording of pages and docstrings: phrases that a native speaker in the field would not write."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
AVOIDED = re.compile(r"\banew\b|\bof no use\b")


def test_pages_and_docstrings_avoid_archaic_phrases() -> None:
    files = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("zoo/**/*.py")]
    assert len(files) > 100
    found = [str(file) for file in files if AVOIDED.search(file.read_text(encoding="utf-8"))]
    assert not found
