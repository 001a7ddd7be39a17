"""The requirement of drawing: matplotlib, which is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from zoo.core.errors import ZooError

INSTALL = "Install it with `pip install 'transformer-zoo[draw]'`."


def require_matplotlib() -> None:
    """Raises ZooError if matplotlib is not installed; does not import it."""
    if find_spec("matplotlib") is None:
        raise ZooError(f"Drawing needs matplotlib, which is not installed. {INSTALL}")


def import_matplotlib() -> None:
    """Raises ZooError if matplotlib is not installed, or cannot be imported as it is."""
    require_matplotlib()
    try:
        import matplotlib.figure  # noqa: F401 - brings what may fail: numpy, its own compiled parts
    except Exception as error:
        raise ZooError(
            "Drawing needs matplotlib, which is installed but cannot be imported "
            f"({type(error).__name__}: {error}). {INSTALL}"
        ) from error
