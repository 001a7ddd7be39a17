"""Positional encodings: what they add to or turn at each position, and how similar positions become."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from matplotlib.figure import Figure

from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.draw.canvas import heat, is_signed, new_figure, shortened, styled
from zoo.draw.pieces import check_positions, make_part


class Shown(NamedTuple):
    """The effect of an encoding on `length` positions.

    Attributes:
        table: [T, D] what is added at each position, or where a query of ones is turned to; or [H, 2T-1] what is
            added to the scores in each head by distance.
        table_axes: what its rows and columns are.
        similarity: [T, T] how similar two positions become, or what is added to the scores.
        similarity_name: what its numbers are.
        learned: whether it is trained: what is shown are its first, random values.
    """

    table: Any
    table_axes: tuple[str, str]
    similarity: Any
    similarity_name: str
    learned: bool


@torch.no_grad()
def shown(name: str, length: int, d_model: int, num_heads: int, head: int = 1) -> Shown:
    """Return what the encoding `name`, as a user types it, does. Raises ZooError."""
    variant, _ = get_registry().resolve("encoding", name)
    check_positions(length, d_model, num_heads, head)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        known = {"num_heads": num_heads, "head_dim": d_model // num_heads, "causal": False}
        encoding = make_part("encoding", name, d_model, length, **known)
    learned = any(True for _ in encoding.parameters())
    place = variant.capabilities["acts_on"]
    if place == "embedding":
        table = encoding(torch.zeros(1, length, d_model))[0]  # [1, T, D] -> [T, D]
        return Shown(
            table.numpy(), ("position", "component"), _cosines(table), "cosine of the two vectors", learned
        )
    width = d_model // num_heads
    query = torch.ones(1, num_heads, length, width)
    acting = encoding.positions(length, length, query)
    if place == "queries-keys":
        turned, _ = acting.rotate(query, query)
        return Shown(
            turned[0, head - 1].numpy(),
            ("position", "component of a head"),
            _cosines(turned[0, head - 1]),
            "cosine of a query and a key of ones",
            learned,
        )
    bias = acting.bias(query * width**-0.5).expand(1, num_heads, length, length)[0]  # [H, T, T]
    after, before = bias[:, 0], bias[:, -1]  # keys at 0 .. T-1, and at -(T-1) .. 0
    distances = torch.cat([before, after[:, 1:]], dim=-1)  # [H, 2T-1]
    return Shown(
        distances.numpy(),
        ("head", "position of the key − position of the query"),
        bias[head - 1].numpy(),
        f"added to the scores of head {head}",
        learned,
    )


def _cosines(vectors: torch.Tensor) -> Any:
    """The cosine of each two rows, [T, D] -> [T, T]; masked where a row is 0."""
    norms = vectors.norm(dim=-1, keepdim=True)
    unit = vectors / norms.clamp_min(1e-12)
    empty = (norms == 0).numpy()
    return np.ma.masked_array((unit @ unit.T).numpy(), mask=empty | empty.T)


@styled
def positions(
    names: Sequence[str], *, length: int = 48, d_model: int = 64, num_heads: int = 4, head: int = 1
) -> Figure:
    """Draw positional encodings, a row each: its table, and how similar positions become.

    For an encoding on the embedding the table has the vector of each position, and the similarity is the cosine of two
    of them. For one that rotates queries and keys, they are those of a query of ones in `head`. For one that acts on
    the scores, the table has what is added in each head by distance, and beside it is what is added in `head`.

    Args:
        names: encodings as a user types them.
        length: positions.
        d_model, num_heads: sizes of the model.
        head: the one that is shown where heads differ, counted from 1.

    Raises:
        ZooError: no encoding is named, there is none of this name, or it does not take the sizes.
    """
    names = [names] if isinstance(names, str) else list(dict.fromkeys(names))
    if not names:
        raise ZooError("Name an encoding; `zoo list encoding` shows them.")
    found = [shown(name, length, d_model, num_heads, head) for name in names]
    figure = new_figure(
        9.5, 3.3 * len(names) + 0.4, f"Positional encodings, {length} positions, d_model {d_model}"
    )
    axes = figure.subplots(len(names), 2, squeeze=False, width_ratios=[1.45, 1])
    for (left, right), name, one in zip(axes, names, found, strict=True):
        table, what = _draw_table(left, name, one)
        similarity = _draw_similarity(right, one)
        for axis, image, label in ((left, table, what), (right, similarity, one.similarity_name)):
            bar = figure.colorbar(image, ax=axis, shrink=0.9, aspect=16, label=label)
            bar.outline.set_visible(False)
    return figure


def _draw_table(axis: Any, name: str, one: Shown) -> tuple[Any, str]:
    """The picture of an encoding's table, and what its numbers are."""
    table = heat(axis, one.table, signed=True)
    down, across = one.table_axes
    axis.set_title(shortened(name, 40) + (" (learned; random values at the start)" if one.learned else ""))
    axis.set_xlabel(across)
    axis.set_ylabel(down)
    if not np.any(one.table):
        axis.text(0.5, 0.5, "adds nothing", transform=axis.transAxes, ha="center", va="center")
    if down == "head":
        _number_distances(table, one.table.shape)
        return table, "added to the scores"
    return table, "added" if "vectors" in one.similarity_name else "value after the rotation"


def _draw_similarity(axis: Any, one: Shown) -> Any:
    """The picture of how similar positions are, or of what is added in one head."""
    signed, cosine = is_signed(one.similarity), one.similarity_name.startswith("cosine")
    limits = ((-1.0, 1.0) if signed else (0.0, 1.0)) if cosine else None
    similarity = heat(axis, one.similarity, signed=signed, limits=limits)
    axis.set_title("similarity of positions" if cosine else "as a matrix")
    axis.set_xlabel("position" if cosine else "position of the key")
    axis.set_ylabel("position" if cosine else "position of the query")
    if not np.any(one.table):
        nothing = "positions are indistinguishable"
        axis.text(0.5, 0.5, nothing, transform=axis.transAxes, ha="center", va="center")
    return similarity


def _number_distances(image: Any, shape: tuple[int, ...]) -> None:
    """Count heads from 1, and distances from -(T-1) to T-1."""
    heads, length = shape[0], (shape[1] + 1) // 2
    image.set_extent((-length + 0.5, length - 0.5, heads + 0.5, 0.5))
    image.axes.set_yticks(range(1, heads + 1))
