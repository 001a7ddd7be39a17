"""The worker's processes: `python -I main.py ROLE SETTINGS`. Started by the judge, never imported by it."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path

PACKAGE = "worker"
ROLES = {"worker": "single", "server": "fork_server", "canary": "canary"}  # the module whose `main` runs


def _load_package() -> None:
    """Make this folder a package of its own, so that nothing beside it (the grader) can be imported."""
    folder = Path(__file__).resolve().parent
    spec = importlib.util.spec_from_file_location(
        PACKAGE, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None
    assert spec.loader is not None
    sys.modules[PACKAGE] = package = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(package)


def main() -> None:
    """Do what the role says."""
    _load_package()
    settings = json.loads(sys.argv.pop())
    importlib.import_module(f"{PACKAGE}.{ROLES[sys.argv.pop()]}").main(settings)


if __name__ == "__main__":
    main()
