"""What drawing needs: matplotlib, which is an extra."""

from __future__ import annotations

from importlib.util import find_spec

from zoo.core.errors import ZooError


def require_matplotlib() -> None:
    """Raises ZooError if matplotlib is not installed; does not import it."""
    if find_spec("matplotlib") is None:
        raise ZooError(
            "Drawing needs matplotlib, which is not installed. "
            "Install it with `pip install 'transformer-zoo[draw]'`."
        )
