"""Pictures of models and their parts. Each function returns a `matplotlib.figure.Figure`.

    import zoo.draw
    zoo.draw.schedule(["noam", "cosine"], steps=1000)

matplotlib (`pip install 'transformer-zoo[draw]'`) is imported when a function is first used, not before.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.draw.assembly import model as model
    from zoo.draw.differences import diff as diff
    from zoo.draw.encodings import positions as positions
    from zoo.draw.masks import mask as mask
    from zoo.draw.portraits import part as part
    from zoo.draw.rates import schedule as schedule
    from zoo.draw.runs import training as training
    from zoo.draw.weights import attention as attention

HOMES = {
    "attention": "weights",
    "mask": "masks",
    "positions": "encodings",
    "schedule": "rates",
    "model": "assembly",
    "training": "runs",
    "diff": "differences",
    "part": "portraits",
}
"""Each function and the module of this package that has it."""

__all__ = [*HOMES]


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from zoo.draw.needs import import_matplotlib

    import_matplotlib()
    return getattr(importlib.import_module(f"{__name__}.{HOMES[name]}"), name)
