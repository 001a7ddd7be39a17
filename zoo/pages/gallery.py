"""The page of all variants: what each is, what it can do, its source, and a picture where its axis has one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from markupsafe import Markup

from zoo.analysis.workers import Call, Result, Workers
from zoo.core.describe import in_words, typed
from zoo.core.errors import ZooError
from zoo.core.plugins import DEFAULT_PLUGINS, get_registry
from zoo.core.registry import Axis, Variant
from zoo.core.source import find_source
from zoo.pages.formulas import mathml
from zoo.pages.listing import Line, listing
from zoo.pages.pictures import image
from zoo.pages.rendering import render

PICTURES = {
    "attention": "How much each token takes from each other one, before any training",
    "encoding": "What it adds or rotates at each position, and how similar positions become",
    "norm": "Size of the vectors, and of the gradients, in each layer of a deep stack before its first step",
    "norm-type": "Five vectors before and after: one pattern, scaled and shifted",
    "feedforward": "One unit with all weights at 1: its output for each input",
    "embedding": "Vectors of five tokens on both sides, and their rows in the head",
    "head": "The scores of all tokens for one vector",
    "masking": "Which positions may attend to which, in two sentences of 5 and 3 words",
    "mask": "The mask of a decoder, with four words and one place of padding",
    "init": "How the weights are spread, by kind",
    "loss": "The loss of one token by the probability of the right one",
    "schedule": "The learning rate over 300 steps, as a share of the highest",
    "optimizer": "The way of 80 steps down a narrow valley, with learning rate 0.1",
    "decoding": "Which tokens stand where in 300 answers of a small made-up model",
    "assembly": "The blocks of the model; orange is what differs from Vaswani et al. 2017",
}
"""The axes of which there are pictures, and what these show."""


@dataclass(frozen=True)
class Entry:
    """A variant on the page. Texts are those of the variant; `picture` is the `src` of an image or ""."""

    variant: Variant
    default: bool
    origin: str
    formula: list[Markup]
    capabilities: list[tuple[str, str, str, bool]]
    options: list[tuple[str, str, str, str]]
    file: str
    source: list[Line]
    problem: str
    picture: str
    picture_says: str

    @property
    def words(self) -> str:
        """Return what a search looks through."""
        able = " ".join(f"{name} {value}" for name, value, _, unusual in self.capabilities if unusual)
        options = " ".join(name for name, *_ in self.options)
        one = self.variant
        return f"{one.axis} {one.name} {one.summary} {one.formula} {one.paper} {self.origin} {options} {able}"


def gallery(
    variants: Sequence[Variant], on_variant: Callable[[], object] = lambda: None, jobs: int = 1
) -> str:
    """A page with these variants, by axis. `on_variant` is called after each.

    Pictures need matplotlib; without it the page has none, and says so. With `jobs` above 1, so many processes draw.
    """
    registry, drawing = get_registry(), find_spec("matplotlib") is not None
    entries: dict[int, Entry] = {}

    def add(number: int, drawn: Result) -> None:
        variant = variants[number]
        # Without a picture where it cannot be drawn: a part may be anybody's code, and the page says the rest about it.
        entries[number] = _entry(variant, registry.axis(variant.axis), drawn.value or "")
        on_variant()

    if drawing:
        with Workers(jobs) as workers:
            workers.run([Call(_picture, (one.axis, one.name)) for one in variants], add)
    else:
        for number in range(len(variants)):
            add(number, Result())
    groups: list[tuple[Axis, list[Entry]]] = []
    for axis in registry.axes:
        found = [entries[number] for number, one in enumerate(variants) if one.axis == axis.name]
        if found:
            groups.append((axis, found))
    return render(
        "zoo.pages/gallery.html",
        styles=["zoo.pages/gallery.css"],
        groups=groups,
        count=len(variants),
        drawing=drawing,
    )


def _shown_file(variant: Variant, file: str) -> str:
    """The file of a variant; of a package's, from the package on: that is the same on every machine."""
    if variant.is_file:
        return file
    parts = variant.path.partition(":")[0].split(".")
    if Path(file).name != "__init__.py":
        parts.pop()
    return "/".join([*parts, Path(file).name])


def _entry(variant: Variant, axis: Axis, picture: str) -> Entry:
    file, source, problem = "", list[Line](), ""
    try:
        found = find_source(variant)
        file, source = f"{_shown_file(variant, found.file)}:{found.line}", listing(found.text)
    except ZooError as error:
        problem = str(error)
    return Entry(
        variant=variant,
        default=variant.name == axis.default,
        origin="" if variant.origin in DEFAULT_PLUGINS else variant.origin,
        formula=mathml(variant.formula),
        capabilities=[
            (
                one.name.replace("_", " "),
                in_words(variant.capabilities[one.name]),
                one.help,
                variant.capabilities[one.name] != one.default,
            )
            for one in axis.capabilities
        ],
        options=[
            (one.name, "none" if one.default is None else typed(one.default), one.expected, one.help)
            for one in variant.options
        ],
        file=file,
        source=source,
        problem=problem,
        picture=picture,
        picture_says=PICTURES.get(axis.name, ""),
    )


def _picture(axis: str, name: str) -> str:
    """The picture of a variant, "" where its axis has none."""
    if axis not in PICTURES:
        return ""
    import zoo.draw
    from zoo.draw.canvas import small_png

    return image(small_png(zoo.draw.part(axis, name)))
