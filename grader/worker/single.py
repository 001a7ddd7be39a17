"""A worker in a process of its own, not forked: for CUDA, and where there is no fork server."""

from __future__ import annotations

import gc
import importlib
from typing import Any

from . import startup


def main(settings: dict[str, Any]) -> None:
    """Start up in the order given in docs/sandbox.md, then serve the judge until it closes its end."""
    own = startup.Settings(**settings)
    startup.prepare(own)
    gc.disable()  # nothing that an import makes is garbage; looking through it costs a tenth of the import
    serve = importlib.import_module(".serve", __package__)  # imports torch
    gc.freeze()
    gc.enable()
    startup.confine(own)
    serve.serve(own.read, own.write, own.device)
