"""Draw the pictures of docs/gallery.md into docs/gallery/: `python -m tests.gallery`, or `make gallery`.

A small model is trained first, for the pictures that need one. All of them together, on one sheet, are sheet.png. Four
pages are written beside them: a grade, all variants, a comparison, a training. `--pages` writes these alone.
"""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from matplotlib.figure import Figure
from PIL import Image

import zoo.draw
from tests import ROOT, solution_file
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
        "part": lambda: zoo.draw.part("attention", "sliding"),
        "diff": lambda: zoo.draw.diff("attention", "eager", "sliding:window=2"),
    }


def zoo_in(folder: Path, *arguments: str, codes: tuple[int, ...] = (0,)) -> None:
    """Run a command of the zoo in a folder."""
    command = [sys.executable, "-c", "from zoo.cli import main; main()", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ZOO_PLUGINS": "grader"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode not in codes:
        raise SystemExit(done.stdout + done.stderr)


def pages(folder: Path) -> None:
    """Write the pages; files that are graded and trained lie in `folder`."""
    right = solution_file("attention").read_text(encoding="utf-8")
    (folder / "attention.py").write_text(
        right.replace("softmax(dim=-1)", "softmax(dim=-2)", 1), encoding="utf-8"
    )
    grade = ("--quick", "--seed", "1", "--format", "html", "-o", "grade.html")
    zoo_in(folder, "grade", "attention.py", *grade, codes=(1,))
    zoo_in(folder, "list", "--html", "variants.html")
    zoo_in(folder, "compare", "--task=reverse", "--norm=pre,post", "--device=cpu", "--html", "compare.html")
    zoo_in(folder, "train", "--device=cpu", "--save=run", "--score-every=50", "--html", "train.html")
    for name in ("grade", "variants", "compare", "train"):
        shutil.copy(folder / f"{name}.html", FOLDER)


def train(folder: Path, *options: str) -> None:
    """Train on word reversal, and save the model in `folder`."""
    zoo_in(folder.parent, "train", "--device=cpu", "--save", str(folder), *options)


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
    return whole.quantize(256, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)  # a smaller file


def main() -> None:
    """Draw all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as folder:
        pages(Path(folder))
        if "--pages" in sys.argv:
            return
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
