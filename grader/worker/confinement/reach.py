"""Paths that a worker needs: Python, torch and what torch needs, and the system's libraries.

Nothing else: not the folder of installed packages as a whole, in which the zoo and the grader may lie, and
no home folder. Standard library only.
"""

from __future__ import annotations

import functools
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import ModuleType

NEEDED = ("torch", "numpy")  # distributions, with all that they require
COMMON = ("einops",)  # what people write Transformers with; readable where it is installed
DEVICES = ("/dev/null",)
_FILES = (
    "/proc/cpuinfo",  # without these two torch takes other kernels, and other last digits come out
    "/sys/devices/system/cpu",
    "/dev/zero",
    "/dev/random",
    "/dev/urandom",
    "/etc/ld.so.cache",
)
_PACKAGES = ("site-packages", "dist-packages")  # what such folders are called
_LIBRARIES = frozenset({"lib", "lib64", "lib32"})


@functools.cache
def readable() -> tuple[str, ...]:
    """Files and folders (with all below) to read. Found once for a process: it takes 20 ms."""
    python = Path(os.__file__).resolve().parent
    path = [Path(one).resolve() for one in sys.path if one]
    hidden = {python / name for name in _PACKAGES} | {one for one in path if one.name in _PACKAGES}
    hidden.add(Path(__file__).resolve().parents[2])  # the grader
    folders = {python, *(one for one in path if one.name == "lib-dynload"), *_folders_of_libraries()}
    shown = {one for folder in folders for one in _without(folder, hidden)}
    return (*sorted(map(str, shown | set(_packages()))), *_FILES)


def prepare_imports() -> None:
    """Let the import system list the folders on the path now: later it may open what it knows, not look.
    What it knows and may not open is not there: packages ask so for what they can do without."""
    importlib.machinery.PathFinder.find_spec("a_module_that_is_not_there")
    place = sys.meta_path.index(importlib.machinery.PathFinder)
    sys.meta_path[place] = _Reachable


class _Reachable(importlib.machinery.PathFinder):
    """Finds what can be read."""

    @classmethod
    def find_spec(
        cls, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        spec = super().find_spec(fullname, path, target)
        if "." not in fullname and spec is not None and spec.has_location and spec.origin is not None:
            try:
                Path(spec.origin).open("rb").close()
            except PermissionError:
                return None
        return spec


def _without(folder: Path, hidden: set[Path]) -> Iterator[Path]:
    """The folder, or what is in it where something hidden is in it. Links to folders could lead back to that."""
    if not hidden.isdisjoint((folder, *folder.parents)):
        return
    around = {parent for one in hidden for parent in one.parents}
    left = [folder]
    while left:
        here = left.pop()
        if here not in around:
            yield here
        elif here.is_dir():
            with os.scandir(here) as entries:
                left += [
                    Path(entry.path)
                    for entry in entries
                    if entry.name not in _PACKAGES
                    and Path(entry.path) not in hidden
                    and not (entry.is_symlink() and entry.is_dir())
                ]


def _folders_of_libraries() -> set[Path]:
    """Return where the libraries lie that this process has loaded; others of the system lie there as well."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    loaded = {Path(line.split(maxsplit=5)[5]) for line in lines if ".so" in line}
    return {one.parent for one in loaded if ".so" in one.name and _LIBRARIES.intersection(one.parts)}


def _packages() -> Iterator[Path]:
    """The packages of the needed distributions, one by one."""
    for name in (*NEEDED, *COMMON):
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.origin is not None:
            yield Path(spec.origin).resolve().parent
    seen: set[str] = set()
    left = [*NEEDED, *COMMON]
    while left:
        name = left.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        left += [_name(one) for one in found.requires or () if "extra ==" not in one]
        for top in _tops(found):
            yield Path(str(found.locate_file(top))).resolve()


def _name(requirement: str) -> str:
    """The name in a requirement such as `sympy>=1.13.3`."""
    return re.split(r"[^\w.-]", requirement.strip(), maxsplit=1)[0]


def _tops(found: importlib.metadata.Distribution) -> set[str]:
    """Return what a distribution puts into the folder of packages. Found in two files, one of them very long."""
    tops = set((found.read_text("top_level.txt") or "").split())
    if not tops:
        lines = (found.read_text("RECORD") or "").splitlines()
        tops = {line.partition("/")[0].partition(",")[0] for line in lines}
    tops.add(f"{found.name}.libs")  # the libraries that came in its wheel
    return {one for one in tops if one and not one.startswith((".", '"', "__pycache__"))}
