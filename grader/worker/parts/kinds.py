"""All kinds of parts by name, and the modules they are in. On the judge's side: a worker is sent what it needs."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from torch import nn

from . import blocks, model, scattered, spelling, stepping, working, working_model, working_stacks

MODULES = (blocks, model, scattered, spelling, stepping, working, working_stacks, working_model)
PARTS: dict[str, type[nn.Module]] = {
    name: kind
    for module in MODULES
    for name, kind in vars(module).items()
    if inspect.isclass(kind) and issubclass(kind, nn.Module) and kind.__module__ == module.__name__
    if not name.startswith("_")
}
_TAKES_FROM = re.compile(r"^from \.(\w+) import", re.MULTILINE)


@cache
def modules_of(kind: str) -> dict[str, bytes]:
    """The modules that define a kind of part, by name, with their texts: what one takes from comes before it."""

    def modules(name: str) -> Iterator[tuple[str, bytes]]:
        file = sys.modules[f"{__package__}.{name}"].__file__
        assert file is not None
        text = Path(file).read_text("utf-8")
        for other in _TAKES_FROM.findall(text):
            if other != "base":  # every worker has it
                yield from modules(other)
        yield name, text.encode()

    return dict(modules(PARTS[kind].__module__.rpartition(".")[2]))
