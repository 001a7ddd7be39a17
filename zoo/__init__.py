"""transformer-zoo: interchangeable Transformer parts, plugged together into full models.

    import zoo

    model = zoo.build("vaswani2017", attention="fused", d_model=256)
    zoo.list_variants("attention")

Importing this imports no torch; `zoo.library` has what is offered here.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zoo.library import ZooError, build, list_axes, list_presets, list_variants, make_blueprint

__version__ = "0.1.0"
__all__ = [
    "ZooError",
    "__version__",
    "build",
    "list_axes",
    "list_presets",
    "list_variants",
    "make_blueprint",
]


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext zoo` in a notebook: adds `%zoo COMMAND`, and `%%zoo EXERCISE` above a cell."""
    import_module("zoo.notebook").load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext zoo` in a notebook."""
    import_module("zoo.notebook").unload(shell)


def __getattr__(name: str) -> Any:
    """Import `zoo.library` when one of its names is first used."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("zoo.library"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
