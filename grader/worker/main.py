"""The worker process: `python -I main.py SETTINGS`. Started by the judge, never imported by it."""

from __future__ import annotations

import gc
import importlib.util
import json
import sys
from pathlib import Path

PACKAGE = "worker"


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
    """Start up in the order of README.md, then serve the judge until it closes its end."""
    _load_package()
    startup = importlib.import_module(f"{PACKAGE}.startup")
    settings = startup.Settings(**json.loads(sys.argv.pop()))
    startup.prepare(settings)
    gc.disable()  # nothing that an import makes is garbage; looking through it costs a tenth of the import
    serve = importlib.import_module(f"{PACKAGE}.serve")  # imports torch
    gc.freeze()
    gc.enable()
    startup.confine(settings)
    serve.serve(settings.read, settings.write, settings.device)


if __name__ == "__main__":
    main()
