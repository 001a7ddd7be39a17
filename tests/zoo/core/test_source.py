"""The source of a variant's class, read without importing it."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.plugins import get_registry
from zoo.core.source import Source, find_source

TEXT = """import torch


@torch.no_grad()
@final
class Mine:
    \"\"\"Do nothing.\"\"\"

    size = 1


def after() -> None: ...
"""


def source_of(file: Path, name: str) -> Source:
    return find_source(get_registry().resolve("attention", f"{file}:{name}")[0])


def test_it_is_the_class_with_its_decorators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "mine.py"
    file.write_text(TEXT)
    found = source_of(file, "Mine")
    assert found == Source("mine.py", 4, "\n".join(TEXT.splitlines()[3:9]), "Do nothing.")
    assert source_of(file, "after").text == "def after() -> None: ..."


def test_a_form_feed_ends_no_line(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(f"# a\fb\u2028c\n{TEXT}", encoding="utf-8")
    assert source_of(file, "after").text == "def after() -> None: ..."


def test_what_is_not_there_or_no_python_is_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(TEXT)
    with pytest.raises(UnknownNameError, match="Did you mean Mine"):
        source_of(file, "Mime")
    file.write_text("class Mine(:\n")
    with pytest.raises(ZooError, match="is not valid Python"):
        source_of(file, "Mine")
