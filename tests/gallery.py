"""Draw the pictures of docs/gallery.md into docs/gallery/: `python -m tests.gallery`, or `make gallery`.

A small model is trained first, for the pictures that need one. All of them together, on one sheet, are sheet.png.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from click.testing import CliRunner
from matplotlib.figure import Figure
from PIL import Image

import zoo.draw
from tests import ROOT
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins
from zoo.draw.canvas import rendered

FOLDER = ROOT / "docs" / "gallery"
DPI, COLUMNS, WIDTH, GAP = 80, 3, 620, 16


def pictures(reverser: Path, other: Path) -> dict[str, Callable[[], Figure]]:
    """Each picture by the name of its file."""
    return {
        "attention": lambda: zoo.draw.attention(reverser, "transform"),
        "attention-head": lambda: zoo.draw.attention(reverser, "transform", stack="cross", layer=1, head=4),
        "mask": lambda: zoo.draw.mask(lengths=[6, 4], target_lengths=[5, 7]),
        "positions": lambda: zoo.draw.positions(["sinusoidal", "rotary", "alibi"]),
        "schedule": lambda: zoo.draw.schedule(["noam", "cosine", "linear", "constant"], steps=1000),
        "model": lambda: zoo.draw.model("modern"),
        "training": lambda: zoo.draw.training(reverser, other),
        "diff": lambda: zoo.draw.diff("attention", "eager", "sliding:window=2"),
    }


def train(folder: Path, *options: str) -> None:
    """Train on word reversal, and save the model in `folder`."""
    done = CliRunner().invoke(
        make_cli(get_plugins()), ["train", "--device=cpu", "--save", str(folder), *options]
    )
    if done.exit_code:
        raise SystemExit(done.output)


def sheet(images: list[Image.Image]) -> Image.Image:
    """All pictures on one sheet, each in the column that is shortest so far."""
    scaled = [image.resize((WIDTH, image.height * WIDTH // image.width)) for image in images]
    heights = [GAP] * COLUMNS
    places = []
    for image in scaled:
        column = heights.index(min(heights))
        places.append((GAP + column * (WIDTH + GAP), heights[column]))
        heights[column] += image.height + GAP
    whole = Image.new("RGB", (GAP + COLUMNS * (WIDTH + GAP), max(heights)), "white")
    for image, place in zip(scaled, places, strict=True):
        whole.paste(image, place)
    return whole.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)  # a smaller file


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        reverser, other = Path(folder) / "pre-norm", Path(folder) / "post-norm"
        train(reverser)
        train(other, "--norm=post", "--schedule=cosine")
        images = []
        for name, draw in pictures(reverser, other).items():
            images.append(Image.open(io.BytesIO(rendered(draw(), "png", dpi=DPI))).convert("RGB"))
            images[-1].save(FOLDER / f"{name}.png", optimize=True)
        sheet(images).save(FOLDER / "sheet.png", optimize=True)


if __name__ == "__main__":
    main()
