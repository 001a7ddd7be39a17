"""Output that cannot be written: a sentence and an exit code of its own, no traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from zoo.cli.root import UNWRITTEN

FULL = Path("/dev/full")


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full, which this system does not have")
@pytest.mark.parametrize("command", ["list", "plugins", "show attention eager"])
def test_a_full_device(command: str) -> None:
    with FULL.open("w") as full:
        run = [sys.executable, "-c", "from zoo.cli import main; main()", *command.split()]
        done = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, timeout=600)
    assert done.returncode == UNWRITTEN
    assert "could not be written" in done.stderr
    assert "Traceback" not in done.stderr
