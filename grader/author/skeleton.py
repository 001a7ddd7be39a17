"""The skeleton of an exercise in a package of its own: a small working exercise, to be changed into another."""

from __future__ import annotations

import keyword
import re
import shutil
import tempfile
from importlib import resources
from pathlib import Path
from string import Template

from grader.catalog import get_exercises
from zoo.core.errors import ZooError

FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "README.md.txt",
    "$package/__init__.py": "init.py.txt",
    "$package/hints.py": "hints.py.txt",
    "$package/mistakes.py": "mistakes.py.txt",
    "$package/reference.py": "reference.py.txt",
    "$package/solution.py": "solution.py.txt",
    "$package/suite/__init__.py": "suite.py.txt",
    "$package/suite/scenarios.py": "scenarios.py.txt",
    "$package/suite/test_class.py": "test_class.py.txt",
    "$package/template.py": "template.py.txt",
}


def write(name: str, into: Path) -> Path:
    """Write the package, whole or not at all, and give its folder.

    Raises:
        ZooError: the name will not do, the folder is there already, or cannot be written.
    """
    _check(name)
    project = f"zoo-{name.replace('_', '-')}"
    folder = into / project
    if folder.exists():
        raise ZooError(f"'{folder}' already exists. Choose another name, or move it away.")
    values = {
        "name": name,
        "project": project,
        "package": f"zoo_{name}",
        "Class": "".join(p.capitalize() for p in name.split("_")),
    }
    try:
        into.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=into))
        try:
            for target, source in FILES.items():
                file = beside / Template(target).substitute(values)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(_text(source, values), encoding="utf-8")
            beside.chmod(0o755)
            beside.rename(folder)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    except OSError as error:
        raise ZooError(f"'{folder}' cannot be written: {error.strerror}.") from error
    return folder


def _check(name: str) -> None:
    if not re.fullmatch(r"[a-z][a-z0-9_]*[a-z0-9]", name) or keyword.iskeyword(name):
        raise ZooError(f"'{name}' is not a valid name; expected a lower-case Python name such as rms_norm.")
    if name in get_exercises():
        raise ZooError(f"An exercise '{name}' already exists. Choose another name.")


def _text(source: str, values: dict[str, str]) -> str:
    text = (resources.files("grader.author") / "skeleton_files" / source).read_text(encoding="utf-8")
    return Template(text).substitute(values)
