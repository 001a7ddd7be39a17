"""Runs commands as an ordinary user, where the tests run as root: root may do what nobody else may."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from tests import ROOT

USER = 65534  # nobody

# Run by root. Python, torch and the project may lie in a folder that is root's alone, as /root is: for this
# command, and for no other, an empty folder is put over it, with nothing in it but what is needed.
BECOME = """
import json, os, pathlib, subprocess, sys
user, shut, words = json.loads(sys.argv[1])
def mount(*rest): subprocess.run(["mount", *rest], check=True)
if shut:
    hold = pathlib.Path("/mnt")
    mount("-t", "tmpfs", "hold", hold)
    for number, path in enumerate(one for paths in shut.values() for one in paths):
        (hold / str(number)).mkdir()
        mount("--rbind", path, hold / str(number))
    number = 0
    for folder, paths in shut.items():
        mount("-t", "tmpfs", "-o", "mode=755", "open", folder)
        for path in paths:
            pathlib.Path(path).mkdir(parents=True)
            mount("--rbind", hold / str(number), path)
            number += 1
os.setgroups([])
os.setresgid(user, user, user)
os.setresuid(user, user, user)
os.execvp(words[0], words)
"""


def ordinary(words: Sequence[str]) -> list[str]:
    """The command that runs `words` as an ordinary user; `words` themselves where the tests' user is one."""
    if os.getuid():
        return list(words)
    shut = _shut([sys.base_prefix, sys.prefix, str(ROOT), _torch()])
    become = [sys.executable, "-I", "-S", "-c", BECOME, json.dumps([USER, shut, list(words)])]
    return ["unshare", "--mount", "--propagation", "private", *become] if shut else become


def run(
    words: Sequence[str], folder: Path, *, environment: Mapping[str, str] | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a command as an ordinary user, whose home and temporary folder is `folder` (see `open_folder`)."""
    own = {"HOME": str(folder), "TMPDIR": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        ordinary(words),
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, **own, **(environment or {})},
        timeout=timeout,
        check=False,
    )


@contextmanager
def open_folder() -> Iterator[Path]:
    """An empty folder that belongs to that user, in one that everybody may enter: pytest's are the tests' own."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    try:
        if not os.getuid():
            os.chown(folder, USER, USER)
        yield folder
    finally:
        shutil.rmtree(folder)


@cache
def why_not() -> str:
    """Why nothing can be run as an ordinary user here, or ""."""
    with open_folder() as folder:
        try:
            done = run([sys.executable, "-c", "import os, pytest, zoo; print(os.geteuid())"], folder)
        except FileNotFoundError as error:
            return str(error)
    if done.returncode == 0 and int(done.stdout) > 0:
        return ""
    return f"nothing can be run as an ordinary user here: {' '.join(done.stderr.split())[-300:]}"


def _torch() -> str:
    found = find_spec("torch")
    assert found is not None
    assert found.origin is not None
    return str(Path(found.origin).resolve().parents[1])


def _shut(paths: Sequence[str]) -> dict[str, list[str]]:
    """Folders that others may not enter, each with what is needed of it."""
    found: dict[str, list[str]] = {}
    for path in sorted({os.path.realpath(one) for one in paths}):
        for folder in reversed(Path(path).parents):
            if not folder.stat().st_mode & 1:
                others = found.setdefault(str(folder), [])
                if not any(Path(path).is_relative_to(other) for other in others):
                    others.append(path)
                break
    return found
