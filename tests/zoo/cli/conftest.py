"""Running `zoo`: in this process, or in one of its own where plugins and imports matter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests import ROOT
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins

START = "from zoo.cli import main; main()"


@dataclass(frozen=True)
class Done:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Zoo = Callable[..., Done]


@pytest.fixture
def zoo(monkeypatch: pytest.MonkeyPatch) -> Zoo:
    """Run a command in this process, 80 columns wide. What is no exit is raised."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*args: str) -> Done:
        result = CliRunner().invoke(make_cli(get_plugins()), list(args), prog_name="zoo")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Done(result.exit_code, result.stdout, result.stderr)

    return run


@pytest.fixture
def shell(tmp_path: Path) -> Zoo:
    """Run a command in a process of its own, with the plugins of `tmp_path`; `start` is the code it runs."""

    def run(*args: str, start: str = START, **env: str) -> Done:
        done = subprocess.run(
            [sys.executable, "-c", start, *args],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)]),
                "COLUMNS": "80",
                **env,
            },
            capture_output=True,
            text=True,
            timeout=600,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def plugin(tmp_path: Path) -> Callable[..., None]:
    """Install a distribution with one plugin module, for `shell`."""

    def install(code: str, name: str = "parts") -> None:
        info = tmp_path / f"{name}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[zoo]\n{name} = zoo_{name}\n")
        (tmp_path / f"zoo_{name}.py").write_text(code)

    return install
