"""Shared by all pictures: style, colour maps, figures, labelled grids of numbers."""

from __future__ import annotations

import functools
import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import matplotlib as mpl
import numpy as np
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.layout_engine import ConstrainedLayoutEngine

AMOUNTS = "viridis"
"""Colour map of values from 0 up."""
SIGNED = "RdBu_r"
"""Colour map of values around 0: blue below, red above, white at 0."""
LINES = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""Line colours that people with any colour vision tell apart: Okabe and Ito 2008."""
DASHES = ("-", "--", "-.", ":")
HIDDEN = "#d9d9d9"
"""What a mask hides."""
DPI = 110
"""Of PNG files: about the width of a notebook's cell for a figure 9 inches wide."""

SMALL_COLOURS = 96
"""Of PNG files in pages with many of them; a map of colours among them looks the same."""

FALLBACK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Source Han Sans SC",
    "WenQuanYi Zen Hei",
    "Hiragino Sans",
    "PingFang SC",
    "Microsoft YaHei",
    "Noto Sans Arabic",
    "Noto Sans Devanagari",
)
"""Fonts for tokens that DejaVu Sans lacks; those that are installed are used."""

F = TypeVar("F", bound=Callable[..., Any])


class Picture(Figure):
    """A figure that a notebook shows without pyplot."""

    def _repr_png_(self) -> bytes:
        return rendered(self, "png")


@functools.cache
def style() -> dict[str, Any]:
    """The settings of all pictures; `drawing` applies them for the time of a drawing alone."""
    installed = set(font_manager.get_font_names())
    return {
        "font.family": ["DejaVu Sans", *(name for name in FALLBACK_FONTS if name in installed)],
        "font.size": 9.0,
        "axes.titlesize": 9.5,
        "axes.labelsize": 9.0,
        "xtick.labelsize": 8.0,
        "ytick.labelsize": 8.0,
        "legend.fontsize": 8.0,
        "legend.frameon": False,
        "figure.titlesize": 11.0,
        "figure.facecolor": "white",
        "savefig.facecolor": "white",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": False,
        "lines.linewidth": 1.6,
        "text.parse_math": False,  # a token may have dollar signs
        "svg.fonttype": "path",
        "svg.hashsalt": "zoo",  # the same picture gives the same file
    }


@contextmanager
def drawing() -> Iterator[None]:
    """Matplotlib's defaults with our settings, whatever the caller has set; theirs are back afterwards."""
    with mpl.rc_context(), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")  # it shows as a box
        mpl.rcdefaults()  # all but the backend
        settings: Any = style()
        mpl.rcParams.update(settings)
        yield


def styled(function: F) -> F:
    """Run a drawing function with our settings."""

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        with drawing():
            return function(*args, **kwargs)

    return run  # type: ignore[return-value]


def new_figure(width: float, height: float, title: str = "") -> Picture:
    """An empty figure of these inches, laid out so that nothing overlaps."""
    layout = ConstrainedLayoutEngine(w_pad=0.08, h_pad=0.06)
    figure = Picture(figsize=(width, height), layout=layout)
    if title:
        figure.suptitle(title)
    return figure


def rendered(figure: Figure, form: str, dpi: float = DPI) -> bytes:
    """The figure as "png" or "svg"."""
    data = io.BytesIO()
    with drawing():
        metadata = {"Date": None} if form == "svg" else {}
        figure.savefig(data, format=form, dpi=dpi, metadata=metadata)
    return data.getvalue()


def small_png(figure: Figure) -> bytes:
    """The figure as a PNG of few colours, for a page with many pictures."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image  # matplotlib brings it

    with drawing():
        canvas = FigureCanvasAgg(figure)
        figure.set_dpi(DPI)
        # Once: `savefig` does it twice, and writes a large file that would be read again.
        canvas.draw()  # type: ignore[no-untyped-call]
        drawn = np.asarray(canvas.buffer_rgba())[:, :, :3]  # type: ignore[no-untyped-call]
    data = io.BytesIO()
    image = Image.fromarray(np.ascontiguousarray(drawn))
    image.quantize(SMALL_COLOURS, dither=Image.Dither.NONE).save(data, "png", optimize=True)
    return data.getvalue()


def printable(token: str) -> str:
    """A token as a label: spaces at its ends shown, characters that change the layout written as codes."""
    inner = token.strip(" ")
    if not inner:
        return "␣" * len(token) or "∅"
    before, after = token[: token.index(inner[0])], token[len(token.rstrip(" ")) :]
    text = "".join(c if c.isprintable() else f"\\u{ord(c):04x}" for c in inner)
    return "␣" * len(before) + text + "␣" * len(after)


def shortened(text: str, most: int) -> str:
    """`text`, at most `most` characters of it."""
    return text if len(text) <= most else text[: most - 1] + "…"


def heat(
    axes: Axes,
    values: Any,
    *,
    rows: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    signed: bool = False,
    limits: tuple[float, float] | None = None,
    aspect: str = "auto",
) -> AxesImage:
    """Draw a matrix as coloured cells, its first row at the top.

    Args:
        values: [rows, columns]; a masked array has grey cells where it is masked.
        rows, columns: labels, one for each row and column; numbers from 0 if None.
        signed: use colours around 0.
        limits: the values of the first and the last colour; those of `values` if None.
        aspect: "equal" for square cells.
    """
    values = np.ma.asarray(values)
    limits = limits or limits_of([values], signed)
    colours = mpl.colormaps[SIGNED if signed else AMOUNTS].with_extremes(bad=HIDDEN)
    image = axes.imshow(
        values,
        cmap=colours,
        norm=Normalize(*limits),
        aspect=aspect,  # type: ignore[arg-type]
        interpolation="nearest",
    )
    if columns is not None:
        long = max(map(len, columns), default=0) > 2
        axes.set_xticks(range(len(columns)), columns, rotation=90 if long else 0)
    if rows is not None:
        axes.set_yticks(range(len(rows)), rows)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.tick_params(length=0 if columns is not None else 2)
    return image


def limits_of(arrays: Sequence[Any], signed: bool) -> tuple[float, float]:
    """Limits of colours for several matrices: from 0 to the largest value, or as far to either side of 0."""
    finite = [np.ma.masked_invalid(array) for array in arrays]
    most = max((float(np.abs(array).max()) for array in finite if array.count()), default=0.0) or 1.0
    return (-most, most) if signed else (0.0, most)


def is_signed(values: Any) -> bool:
    """Return whether there are values below 0."""
    return bool((np.ma.masked_invalid(values) < 0).any())
