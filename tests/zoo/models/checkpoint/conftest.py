"""A checkpoint that has been saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.models.checkpoint.support import tiny
from zoo.models.checkpoint import save_checkpoint


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(tmp_path / "saved", *tiny(), task="reverse")
    return tmp_path / "saved"
