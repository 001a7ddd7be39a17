"""A model as nested blocks, with sizes and shapes, and with marks where it differs from the paper of 2017."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, Patch

from zoo.core.blueprint import Blueprint, Choice, get_preset, make_blueprint
from zoo.core.pattern import format_pattern, split_pattern
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.draw.canvas import new_figure, shortened, styled

PAPER = "vaswani2017"
SAME_FACE, OTHER_FACE, LAYER_FACE = "#dbe9f6", "#fde0b8", "#f6f6f6"
SAME_EDGE, OTHER_EDGE = "#33658a", "#c4620a"
NOTE = "#8a3f00"  # of text on the face of what differs
LINE, EDGE, ARROW = 0.17, 0.1, 0.42
"""Inches: of a line of text, of a block's margin, of an arrow with its shape."""
WIDTH, LEFT, RIGHT, MIDDLE = 3.5, 2.2, 7.0, 4.7
"""Of a block; the middles of the two columns, and of one alone."""
LONGEST = 46
ELSEWHERE = ("assembly", "masking", "mask", "init", "loss", "schedule", "optimizer", "decoding")
"""Axes that are not blocks of the model."""


class Difference(NamedTuple):
    """The choice of a model on an axis, and that of the paper; `paper` is "" where they compute the same."""

    name: str
    paper: str


def brief(axis: str, choice: Choice) -> str:
    """A choice as it is typed, without the options that have their defaults."""
    if choice.then:
        return format_pattern(brief(axis, one) for one in choice.layers)
    variant, _ = get_registry().resolve(axis, choice.name)
    defaults = {option.name: option.default for option in variant.options}
    given = {key: value for key, value in choice.options.items() if value != defaults.get(key)}
    given = {key: f"{value:g}" if type(value) is float else value for key, value in given.items()}
    return str(Choice(choice.name, given))


def differences(blueprint: Blueprint) -> dict[str, Difference]:
    """Return what `blueprint` has on each axis, beside what the paper has."""
    paper, registry = get_preset(PAPER).blueprint(), get_registry()
    found = {}
    for axis, choice in blueprint.choices.items():
        variant, theirs = (registry.resolve(axis, one.name)[0] for one in (choice, paper[axis]))
        same = (
            not choice.then
            and _alike(variant, theirs)
            and _options(blueprint, axis, variant) == _options(paper, axis, theirs)
        )
        found[axis] = Difference(brief(axis, choice), "" if same else brief(axis, paper[axis]))
    return found


def _alike(one: Variant, other: Variant) -> bool:
    """Return whether two variants compute the same: both are exact attentions, or the same norm or mask."""
    if one.axis == "mask" or one.name == other.name:
        return True
    if one.axis == "norm-type":
        return {one.name, other.name} == {"layernorm", "torch-layernorm"}
    return bool(one.capabilities.get("exact") and other.capabilities.get("exact"))


def _options(blueprint: Blueprint, axis: str, variant: Variant) -> dict[str, object]:
    """The options that decide what is computed; a dropout that is not given is the model's."""
    if axis == "mask":
        return {}
    known = {"bias", "dropout"} if variant.capabilities.get("exact") else set(blueprint[axis].options)
    options = {key: value for key, value in blueprint[axis].options.items() if key in known}
    if options.get("dropout", 0) is None:
        options["dropout"] = blueprint.sizes.dropout
    return options


@styled
def model(blueprint: Blueprint | str | None = None, **choices: Any) -> Figure:
    """Draw how a model is put together: its blocks, sizes and shapes; what differs from the paper is orange.

    B is the size of a batch, S and L the lengths of source and target.

    Args:
        blueprint: what is drawn, or the name of a preset; the defaults with `choices` if None.
        choices: variants and sizes, as `zoo.core.blueprint.make_blueprint` takes them.

    Raises:
        ZooError: no such preset, variant or size.
    """
    if isinstance(blueprint, str):
        blueprint = get_preset(blueprint).blueprint()
    blueprint = make_blueprint(**choices) if blueprint is None else blueprint
    return _Assembly(blueprint).figure


class _Assembly:
    """One picture: the columns are drawn upwards, on axes in inches."""

    def __init__(self, blueprint: Blueprint) -> None:
        self.sizes, self.found, self.plan = blueprint.sizes, differences(blueprint), make_plan(blueprint)
        registry = get_registry()
        self.variants = {axis: registry.resolve(axis, c.name)[0] for axis, c in blueprint.choices.items()}
        self.paper = get_preset(PAPER).blueprint().sizes
        self.figure = new_figure(9.4, 11.2, "The model, from tokens (below) to scores (above)")
        self.axes: Axes = self.figure.subplots()
        self.axes.set_axis_off()
        self.draw()

    def draw(self) -> None:
        """A column for each stack, what is not a block, and the legend."""
        base = 2.35 + self._lift
        self._elsewhere()
        if self.plan.has("encoder") and self.plan.has("decoder"):
            memory = self._encoder(LEFT, base)
            top, cross = self._decoder(base, ("masked self-attention", "cross-attention", "feed-forward"))
            self._memory(memory, cross)
            top = max(top, memory + 0.6)
        elif self.plan.has("decoder"):
            top, _ = self._decoder(base, ("masked self-attention", "feed-forward"), MIDDLE)
        else:
            scored = "1" if self.plan.reads_images else "S"  # one class for all patches
            top = self._head(MIDDLE, self._encoder(MIDDLE, base), scored)
        self.axes.set_xlim(0.15, 9.25)
        self.axes.set_ylim(0, top + 0.1)
        self.axes.legend(
            handles=[
                Patch(facecolor=SAME_FACE, edgecolor=SAME_EDGE, label="as in Vaswani et al. 2017"),
                Patch(
                    facecolor=OTHER_FACE, edgecolor=OTHER_EDGE, label="differs; what the paper has is below"
                ),
            ],
            loc="upper left",
        )

    @property
    def _lift(self) -> float:
        """The height of the rows of other blocks beyond two."""
        return 0.86 * (-(-len(ELSEWHERE) // 3) - 2)

    def _memory(self, memory: float, cross: float) -> None:
        """The way from the top of the encoder, at `memory`, to the cross-attention, at `cross`."""
        bend = (LEFT + RIGHT) / 2
        self.axes.plot(
            [LEFT, LEFT, bend, bend], [memory, memory + 0.25, memory + 0.25, cross], color="0.25", lw=1.2
        )
        self._arrow((bend, cross), (RIGHT - WIDTH / 2, cross))
        width = f"[B, S, {self.sizes.d_model}]"
        self.axes.text(LEFT + 0.1, memory + 0.31, f"memory {width}", fontsize=8, va="bottom")

    def _encoder(self, x: float, y: float) -> float:
        """The encoder's column from `y` up; where its output leaves it."""
        sizes = self.sizes
        if self.plan.reads_images:
            y = self._image_input(x, y)
        else:
            label = "source tokens [B, S]" if self.plan.has("decoder") else "tokens [B, S]"
            y = self._input(x, y, label, sizes.src_vocab, "S")
        y = self._layers(x, y, "encoder", sizes.num_encoder_layers, ("self-attention", "feed-forward"))[0]
        return self._final_norm(x, y, "S")

    def _decoder(self, y: float, parts: Sequence[str], x: float = RIGHT) -> tuple[float, float]:
        """The decoder's column from `y` up; its top, and the height at which the memory enters."""
        sizes = self.sizes
        label = "target tokens so far [B, L]" if self.plan.has("encoder") else "tokens so far [B, L]"
        y = self._input(x, y, label, sizes.tgt_vocab, "L")
        y, cross = self._layers(x, y, "decoder", sizes.num_decoder_layers, parts)
        return self._head(x, self._final_norm(x, y, "L"), "L"), cross

    def _head(self, x: float, y: float, length: str) -> float:
        """The head on a column; its top."""
        sizes, output = self.sizes, self.variants["head"].capabilities["output"]
        y = self._shape(x, y, f"[B, {length}, {sizes.d_model}]")
        y = self._block(x, y, "head", [f"{sizes.d_model} → {sizes.tgt_vocab:,}"])
        return self._shape(x, y, f"{output} [B, {length}, {sizes.tgt_vocab:,}]")

    def _input(self, x: float, y: float, label: str, vocabulary: int, length: str) -> float:
        sizes = self.sizes
        self.axes.text(x, y, label, ha="center", va="bottom")
        y = self._shape(x, y + 0.2, "")
        y = self._block(x, y, "embedding", [f"{vocabulary:,} × {sizes.d_model}"])
        return self._positions(x, y, length)

    def _image_input(self, x: float, y: float) -> float:
        options = self.plan["assembly"].options
        size, patch, channels = (options[name] for name in ("image_size", "patch_size", "channels"))
        label = f"images [B, {channels}, {size}, {size}]"
        self.axes.text(x, y, label, ha="center", va="bottom")
        y = self._shape(x, y + 0.2, "")
        y = self._block(
            x,
            y,
            "assembly",
            [f"patches of {patch} × {patch}: {channels * patch**2:,} → {self.sizes.d_model}"],
        )
        return self._positions(x, y, "S")

    def _positions(self, x: float, y: float, length: str) -> float:
        """The block of the encoding, and the shape below it and above it."""
        sizes = self.sizes
        y = self._shape(x, y, f"[B, {length}, {sizes.d_model}]")
        places = [part.capabilities["acts_on"] for part in self.plan.pattern("encoding")]
        place = next((one for one in places if one != "embedding"), "embedding")
        acts = {
            "embedding": "added to the embedding",
            "queries-keys": "acts on queries and keys inside self-attention",
            "scores": "acts on the scores inside self-attention",
        }[place]
        y = self._block(x, y, "encoding", [acts])
        return self._shape(x, y, f"[B, {length}, {sizes.d_model}]")

    def _layers(self, x: float, y: float, name: str, count: int, parts: Sequence[str]) -> tuple[float, float]:
        """A frame with one layer's sublayers; its top, and the height of the cross-attention."""
        sizes, bottom, cross = self.sizes, y, 0.0
        y += 0.12
        for number, part in enumerate(parts):
            y = y if number == 0 else self._shape(x, y, "")
            before = y
            if part == "feed-forward":
                y = self._block(x, y, "feedforward", [f"{sizes.d_model} → {sizes.d_ff} → {sizes.d_model}"])
            else:
                heads = f"{sizes.num_heads} heads of {self.plan.head_dim}"
                y = self._block(x, y, "attention", [f"{part}, {heads}"])
            cross = (before + y) / 2 if part == "cross-attention" else cross
        formula = self.variants["norm"].formula.split("\n")[0] or self.variants["norm"].summary
        y = self._block(x, y + 0.12, "norm", ["around each block:", shortened(formula, LONGEST)])
        y = self._block(x, y + 0.08, "norm-type", [])
        y += 0.32
        self.axes.text(x, y - 0.06, f"{name} layer, {count} of them", ha="center", va="top", weight="bold")
        self._frame(x, bottom, WIDTH + 0.36, y - bottom, LAYER_FACE, "0.6", zorder=0)
        return y, cross

    def _final_norm(self, x: float, y: float, length: str) -> float:
        if not self.variants["norm"].capabilities["final_norm"]:
            return y
        y = self._shape(x, y, f"[B, {length}, {self.sizes.d_model}]")
        return self._block(x, y, "norm-type", ["again, at the end of the stack"])

    def _elsewhere(self) -> None:
        """Return what is no block: masks and training below, and sizes that differ."""
        width = 2.85
        for number, axis in enumerate(ELSEWHERE):
            column, row = number % 3, number // 3
            below = 2.02 + self._lift - row * 0.86 - self._height(axis, [])
            self._block(0.25 + width / 2 + column * (width + 0.17), below, axis, [], width=width)
        names = ("d_model", "num_heads", "d_ff", "num_encoder_layers", "num_decoder_layers", "dropout")
        other = [
            f"{name} {getattr(self.sizes, name):g} ({getattr(self.paper, name):g})"
            for name in names
            if name not in self.plan.unused_sizes and getattr(self.sizes, name) != getattr(self.paper, name)
        ]
        lines = [", ".join(other[:3]), ", ".join(other[3:])] if len(other) > 3 else [", ".join(other)]
        text = (
            "Sizes (in brackets the paper's): " + ",\n".join(filter(None, lines))
            if other
            else "Sizes: the paper's"
        )
        self.axes.text(0.25, 0.05, f"{text}.", fontsize=8, va="bottom")

    def _block(self, x: float, y: float, axis: str, lines: Sequence[str], width: float = WIDTH) -> float:
        """A block for the choice on an axis, standing on `y`; its top."""
        paper = self.found[axis].paper
        text = [shortened(line, int(LONGEST * width / WIDTH)) for line in self._text(axis, lines)]
        height = self._height(axis, lines)
        face, edge = (OTHER_FACE, OTHER_EDGE) if paper else (SAME_FACE, SAME_EDGE)
        self._frame(x, y, width, height, face, edge)
        for number, line in enumerate(text):
            last = bool(paper) and number == len(text) - 1
            self.axes.text(
                x,
                y + height - EDGE - LINE * (number + 0.5),
                line,
                ha="center",
                va="center",
                fontsize=8 if number else 9,
                weight="normal" if number else "bold",
                color=NOTE if last else "black",
                gid="block",
            )
        return y + height

    def _text(self, axis: str, lines: Sequence[str]) -> list[str]:
        """The lines of a block: the choice, its options, `lines`, what the paper has."""
        name, paper = self.found[axis]
        if self.plan.patterns.get(axis):
            runs = groupby(split_pattern(name))
            each = [f"{len(list(run))} × {text.replace(':', ', ')}" for text, run in runs]
            return [f"{axis}, layer by layer", *each, *lines, *([f"paper: {paper}"] if paper else [])]
        variant, _, options = name.partition(":")
        if self.variants[axis].is_file:
            variant, options = self.variants[axis].name, ""
        return [
            f"{axis} = {variant}",
            *([options.replace(":", ", ")] if options else []),
            *lines,
            *([f"paper: {paper}"] if paper else []),
        ]

    def _height(self, axis: str, lines: Sequence[str]) -> float:
        return LINE * len(self._text(axis, lines)) + 2 * EDGE

    def _frame(
        self, x: float, y: float, width: float, height: float, face: str, edge: str, zorder: int = 1
    ) -> None:
        self.axes.add_patch(
            FancyBboxPatch(
                (x - width / 2, y),
                width,
                height,
                boxstyle="round,pad=0,rounding_size=0.08",
                facecolor=face,
                edgecolor=edge,
                zorder=zorder,
            )
        )

    def _shape(self, x: float, y: float, shape: str) -> float:
        """An arrow upwards from `y`, with the shape of what goes along it; its tip."""
        tip = y + (ARROW if shape else 0.24)
        self._arrow((x, y), (x, tip))
        self.axes.text(x + 0.1, (y + tip) / 2, shape, ha="left", va="center", fontsize=8)
        return tip

    def _arrow(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        self.axes.annotate(
            "", end, start, arrowprops={"arrowstyle": "-|>", "color": "0.25", "shrinkA": 0, "shrinkB": 0}
        )
