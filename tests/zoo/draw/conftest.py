"""A model that has learned to spell words backwards, trained once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.zoo.draw.support import train_reverser


@pytest.fixture(scope="session")
def reverser(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `zoo train --task=reverse --save` wrote, after half the usual steps."""
    folder = tmp_path_factory.mktemp("runs") / "reverser"
    train_reverser(folder)
    return folder
