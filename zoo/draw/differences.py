"""Two variants of one axis: what their weights, outputs, masks or rates differ in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure

from zoo.core.blueprint import Blueprint, choose, layer_kinds, make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.draw.canvas import LINES, heat, is_signed, limits_of, new_figure, shortened, styled
from zoo.draw.encodings import shown
from zoo.draw.masks import add_legend, draw_keep, keeps
from zoo.draw.pieces import HEADS, check_pair, make_part
from zoo.draw.rates import rates
from zoo.draw.weights import captured
from zoo.models.builder import build
from zoo.models.transformer import Transformer
from zoo.training.tasks.base import SOS

LENGTH, VOCABULARY = 8, 11
PADDED = (5, 5)
"""Queries and keys of the sentence with padding whose masks are compared."""
SIZES = {
    "d_model": 16, "num_heads": HEADS, "d_ff": 32, "num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.0,
    "src_vocab": VOCABULARY, "tgt_vocab": VOCABULARY, "max_len": 16,
}  # fmt: skip
"""Of the two models that are compared."""
UNUSED = frozenset({"loss-and-head"})
"""Rules that do not matter here: no loss is computed."""


class Compared(NamedTuple):
    """A quantity of both variants: matrices of one shape, or curves over `x`."""

    name: str
    pair: Sequence[Any]
    rows: str
    columns: str
    x: Sequence[float] | None = None


@styled
def diff(axis: str, a: str, b: str, *, head: int = 1) -> Figure:
    """Draw what two variants of an axis differ in: A, B, and B - A, a row for each quantity.

    Schedules and losses are curves, maskings are masks, encodings are similarities of positions. For any other axis,
    two small models with the same seed read the same tokens, and their attention weights, encoder outputs and logits
    are compared; parameters of the same name and shape are equal.

    Args:
        axis: the axis.
        a, b: its variants, as a user types them; where layers differ, there is a row for each different layer.
        head: the head whose weights are shown, counted from 1.

    Raises:
        ZooError: no such axis or variant; the axis has nothing to draw; no model can have either.
    """
    check_pair(axis, a, b, head)
    found = compared(axis, a, b, head)
    names = shortened(a, 30), shortened(b, 30)
    figure = new_figure(10.5, 3.1 * len(found) + 0.5, f"{axis}: {names[0]} and {names[1]}")
    axes = figure.subplots(len(found), 3, squeeze=False)
    for row, one in zip(axes, found, strict=True):
        if one.x is None:
            _draw_matrices(row, one, names)
        else:
            _draw_curves(row, one, names)
    if axis == "masking":
        add_legend(figure)
    return figure


def compared(axis: str, a: str, b: str, head: int = 1) -> list[Compared]:
    """Return what is drawn for two variants. Raises ZooError."""
    if axis == "schedule":
        shares = [rates(name, 300, 30) for name in (a, b)]
        return [Compared("share of the highest rate", shares, "", "step", range(1, 301))]
    if axis == "loss":
        x = np.linspace(0.02, 0.98, 97).tolist()
        curves = [losses(name, x) for name in (a, b)]
        return [Compared("loss (nats)", curves, "", "probability of the right token", x)]
    if axis == "masking":
        lengths = (LENGTH, PADDED[0])  # the second sentence is drawn
        first, second = (keeps(name, lengths, lengths) for name in (a, b))
        return [
            Compared(part, [first[part][1], second[part][1]], "query position", "key position")
            for part in first
        ]
    kinds = layer_kinds(*(choose(get_registry(), axis, text) for text in (a, b)))
    if axis == "encoding":
        return [
            _of_encodings([str(one) for one in pair], head, _of_layer(layers[0], kinds))
            for pair, layers in kinds
        ]
    return _of_models(axis, a, b, head, [layers[0] for _, layers in kinds])


def _of_layer(number: int, all_of_them: Sequence[object]) -> str:
    """Return which layer it is, where layers differ."""
    return f", layer {number}" if len(all_of_them) > 1 else ""


def _of_encodings(names: Sequence[str], head: int, layer: str) -> Compared:
    both = [shown(name, 32, 64, HEADS, head) for name in names]
    cosines = all(one.similarity_name.startswith("cosine") for one in both)
    what = "similarity" if cosines else "similarity, or bias on the scores"
    return Compared(what + layer, [one.similarity for one in both], "position", "position")


@torch.no_grad()
def losses(name: str, probabilities: Sequence[float]) -> list[float]:
    """A loss of one token for each probability of the right token; the others share the rest. Raises ZooError."""
    measure, takes = make_part("loss", name, 0), get_registry().resolve("loss", name)[0].capabilities["takes"]
    found = []
    for p in probabilities:
        shares = torch.full((1, 1, VOCABULARY), (1 - p) / (VOCABULARY - 1))
        shares[..., 1] = p
        output = shares.log() + (1.0 if takes == "logits" else 0.0)  # logits are free up to a constant
        found.append(float(measure(output, torch.ones(1, 1, dtype=torch.int64))))
    return found


@torch.no_grad()
def _of_models(axis: str, a: str, b: str, head: int, layers: Sequence[int]) -> list[Compared]:
    """Attention weights of some layers, encoder outputs and logits of two models that differ in one axis."""
    models = [small_model(axis, name, max(layers)) for name in (a, b)]
    _share(*models)
    generator = torch.Generator().manual_seed(0)
    src = torch.randint(3, VOCABULARY, (1, LENGTH), generator=generator)
    tgt = torch.randint(3, VOCABULARY, (1, LENGTH), generator=generator)
    tgt[:, 0] = SOS
    found = []
    try:
        seen = [captured(model, src, tgt) for model in models]
        for number in layers:
            weights = [one["encoder", number][head - 1].numpy() for one in seen]
            what = f"attention weights, head {head}{_of_layer(number, layers)}"
            found.append(Compared(what, weights, "query position", "key position"))
    except ZooError:
        if axis != "attention":
            raise
    memories = [model.eval().encode(src) for model in models]
    outputs = [memory[0].numpy() for memory in memories]  # [1, S, D] -> [S, D]
    found.append(Compared("output of the encoder", outputs, "position", "component"))
    logits = [
        model.decode(tgt, memory, src)[0].numpy() for model, memory in zip(models, memories, strict=True)
    ]
    found.append(Compared("output of the head", logits, "position", "token"))
    return found


def small_model(axis: str, name: str, layers: int = 1) -> Transformer:
    """A small model with a variant; a rule that forbids it is met by changing one other axis. Raises ZooError."""
    stacks = {"num_encoder_layers": layers, "num_decoder_layers": layers}
    given: dict[str, Any] = {"attention": "eager", **SIZES, **stacks, axis: name}
    base = make_blueprint(**given)
    model = build(allowed(base, axis), seed=0, allow=UNUSED).eval()
    assert isinstance(model, Transformer)
    return model


def allowed(blueprint: Blueprint, axis: str) -> Blueprint:
    """`blueprint`, or the same with one other axis changed so that no rule of combination refuses it."""
    registry = get_registry()
    if problems(make_plan(blueprint, registry)).keys() <= UNUSED:
        return blueprint
    for variant in registry.variants():
        if variant.axis != axis:
            changed = blueprint.with_choices(registry, **{variant.axis: variant.name})
            if problems(make_plan(changed, registry)).keys() <= UNUSED:
                return changed
    return blueprint


def _share(left: Transformer, right: Transformer) -> None:
    """Give parameters of the right model that the left one has too its values."""
    theirs, own = left.state_dict(), right.state_dict()
    same = {
        name: theirs[name]
        for name, value in own.items()
        if name in theirs and theirs[name].shape == value.shape
    }
    right.load_state_dict({**own, **same})


def _draw_matrices(row: Any, one: Compared, names: tuple[str, str]) -> None:
    """A, B, and B - A; where shapes differ, no difference."""
    boolean = np.asarray(one.pair[0]).dtype == bool
    pair: list[Any] = [np.ma.masked_invalid(np.ma.asarray(side, dtype=float)) for side in one.pair]
    signed = any(map(is_signed, pair))
    limits = limits_of(pair, signed)
    for panel, values, name in zip(row, pair, names, strict=False):
        if boolean:
            draw_keep(panel, values, *PADDED)
        else:
            _bar(heat(panel, values, signed=signed, limits=limits), one.name)
        panel.set_title(f"{name}: {one.name}" if boolean else name)
    row[2].set_title(f"{names[1]} − {names[0]}")
    if pair[0].shape != pair[1].shape:
        row[2].set_axis_off()
        row[2].text(0.5, 0.5, "shapes differ", ha="center", va="center", transform=row[2].transAxes)
    else:
        gap = pair[1] - pair[0]
        most = float(np.abs(gap).max()) if gap.count() else 0.0
        rows, columns = ([str(i + 1) for i in range(length)] if boolean else None for length in gap.shape)
        image = heat(row[2], gap, signed=True, rows=rows, columns=columns)
        equal = "equal" if gap.count() else "undefined"
        _bar(image, f"difference, at most {most:.2g}" if most else equal)
    for panel in row:
        panel.set_xlabel(one.columns)
        panel.set_ylabel(one.rows)


def _draw_curves(row: Any, one: Compared, names: tuple[str, str]) -> None:
    """Both curves, their difference, and B over A."""
    x = () if one.x is None else one.x
    left, right = (np.asarray(side) for side in one.pair)
    for values, name, colour, line in zip((left, right), names, LINES, ("-", "--"), strict=False):
        row[0].plot(x, values, color=colour, linestyle=line, label=name)
    row[0].set_ylabel(one.name)
    row[0].legend()
    row[1].plot(x, right - left, color="black")
    row[1].axhline(0, color="0.7", linewidth=0.8, zorder=0)
    row[1].set_ylabel(f"{names[1]} − {names[0]}")
    row[2].plot(left, right, color="black")
    row[2].axline((float(left.min()), float(left.min())), slope=1, color="0.7", linewidth=0.8, linestyle=":")
    row[2].set_xlabel(f"{one.name}: {names[0]}")
    row[2].set_ylabel(f"{one.name}: {names[1]}")
    for panel in row[:2]:
        panel.set_xlabel(one.columns)


def _bar(image: Any, label: str) -> None:
    bar = image.axes.figure.colorbar(image, ax=image.axes, shrink=0.9, aspect=16, label=label)
    bar.outline.set_visible(False)
