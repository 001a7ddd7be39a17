"""Templates to pages: `render`, and `write` for a page as a file."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib import resources
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from zoo.core.files import reporting_os_errors, write_whole
from zoo.core.printable import visible

STYLE = "zoo.pages/page.css"
SCRIPT = "zoo.pages/page.js"


def render(
    template: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    connect: bool = False,
    **values: Any,
) -> str:
    """A page as text, one self-contained HTML document.

    Values are escaped, and control and bidirectional characters in them are shown as escapes. Inline `style` and
    `on...` attributes have no effect: the page's policy allows its own style and script elements alone.

    Args:
        template: "package/name.html", from the folder `templates` of the package; extends "zoo.pages/base.html".
        styles, scripts: more files of that kind, put after the page's own, in the same element.
        connect: whether scripts may ask the server that the page comes from.
        values: what the template names. Raises `jinja2.UndefinedError` if one is missing.
    """
    style, script = _joined(STYLE, *styles), _joined(SCRIPT, *scripts)
    policy = {
        "default-src": "'none'",
        "script-src": _digest(script),
        "style-src": _digest(style),
        "img-src": "data:",
        **({"connect-src": "'self'"} if connect else {}),
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return (
        _environment()
        .get_template(template)
        .render(
            **values,
            page_policy="; ".join(f"{name} {value}" for name, value in policy.items()),
            page_style=Markup(style),
            page_script=Markup(script),
            page_connects=connect,
            page_version=version("transformer-zoo"),
        )
    )


def write(path: Path, page: str) -> None:
    """Put a page at `path` in one step. Raises ZooError if it cannot be written."""
    with reporting_os_errors(f"The page cannot be written to '{path}'"):
        write_whole(path, page.encode())


@cache
def _environment() -> Environment:
    return Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _shown(value: Any) -> Any:
    """Return what a template puts into the page for a value, before it is escaped."""
    return value if hasattr(value, "__html__") else visible(str(value))


def _joined(*names: str) -> str:
    return "\n".join(map(_text, names))


@cache
def _text(name: str) -> str:
    """A file of a package's templates."""
    package, _, file = name.partition("/")
    return (resources.files(package) / "templates" / file).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    """Return how a policy names an element with this text: https://www.w3.org/TR/CSP3/#grammardef-hash-source."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
