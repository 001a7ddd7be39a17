"""Masks as grids: which position may attend to which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

from zoo.core.plugins import get_registry
from zoo.draw.canvas import HIDDEN, LINES, new_figure, styled
from zoo.draw.pieces import check_lengths, make_part

PAD, WORD = 0, 5
"""Ids of padding and of any word."""
PARTS = ("encoder", "decoder", "cross-attention")


def tokens_of(lengths: Sequence[int]) -> Tensor:
    """A batch [B, T] of sentences of these lengths, padded to the longest."""
    return torch.where(torch.arange(max(lengths)) < torch.tensor(lengths)[:, None], WORD, PAD)


def keeps(masking: str, lengths: Sequence[int], target_lengths: Sequence[int]) -> dict[str, Any]:
    """Return what each position may attend to, as bool arrays [B, Tq, Tk] of encoder, decoder and cross-attention.

    Args:
        masking: a policy, as a user types it.
        lengths, target_lengths: of the sentences of a batch, on both sides.

    Raises:
        ZooError: no such policy; lengths that make no batch.
    """
    lengths, target_lengths = list(lengths), list(target_lengths)
    check_lengths(lengths, target_lengths)
    made = make_part("masking", masking, PAD)
    src, tgt = tokens_of(lengths), tokens_of(target_lengths)
    rows, source, target = len(lengths), src.size(1), tgt.size(1)
    found = {
        "encoder": (made.src(src), source, source),
        "decoder": (made.tgt(tgt, target), target, target),
        "cross-attention": (made.src(src), target, source),
    }
    return {
        name: np.asarray(
            torch.ones(rows, queries, keys, dtype=torch.bool)
            if keep is None
            else keep.expand(rows, 1, queries, keys)[:, 0]  # [B, 1, 1 or Tq, Tk] -> [B, Tq, Tk]
        )
        for name, (keep, queries, keys) in found.items()
    }


@styled
def mask(
    masking: str = "full",
    *,
    lengths: Sequence[int] = (7, 5),
    target_lengths: Sequence[int] | None = None,
) -> Figure:
    """Draw which positions may attend to which, for a batch of sentences: a row of panels for each.

    Args:
        masking: a policy, as a user types it.
        lengths: of the source sentences; shorter ones are padded.
        target_lengths: of the target sentences; as `lengths` if None.

    Raises:
        ZooError: no such policy; lengths that make no batch.
    """
    get_registry().resolve("masking", masking)
    target_lengths = lengths if target_lengths is None else target_lengths
    found = keeps(masking, lengths, target_lengths)
    longest = max(*lengths, *target_lengths)
    size = max(2.0, 0.22 * longest)
    figure = new_figure(3 * size + 1.6, len(lengths) * (size + 0.75) + 0.7, f"masking={masking}")
    axes = figure.subplots(len(lengths), 3, squeeze=False)
    sides = {"encoder": (lengths, lengths), "decoder": (target_lengths,) * 2}
    for row in range(len(lengths)):
        for panel, name in zip(axes[row], PARTS, strict=True):
            queries, keys = sides.get(name, (target_lengths, lengths))
            draw_keep(panel, found[name][row], queries[row], keys[row])
            panel.set_title(name)
            panel.set_xlabel("key position")
        axes[row, 0].set_ylabel(f"sentence {row + 1}\nquery position")
        for panel in axes[row, 1:]:
            panel.set_ylabel("query position")
    add_legend(figure)
    return figure


def draw_keep(axes: Axes, keep: Any, queries: int, keys: int) -> None:
    """Draw a mask [Tq, Tk], True = may be attended to; positions from `queries` and `keys` on are padding."""
    axes.imshow(keep, cmap=ListedColormap([HIDDEN, LINES[0]]), vmin=0, vmax=1, interpolation="nearest")
    for axis, length, real in ((axes.xaxis, keep.shape[1], keys), (axes.yaxis, keep.shape[0], queries)):
        every = 1 if length <= 16 else 4
        shown = [i for i in range(length) if i % every == 0]
        axis.set_ticks(shown, [str(i + 1) if i < real else "·" for i in shown])
        axis.set_ticks(np.arange(length + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=0.8)
    axes.tick_params(which="both", length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    if queries < keep.shape[0]:
        axes.axhspan(
            queries - 0.5, keep.shape[0] - 0.5, fill=False, hatch="///", edgecolor="0.45", linewidth=0
        )
    if keys < keep.shape[1]:
        axes.axvspan(
            keys - 0.5, keep.shape[1] - 0.5, fill=False, hatch="\\\\\\", edgecolor="0.45", linewidth=0
        )


def add_legend(figure: Figure) -> None:
    """Say below a figure what the colours of a mask are."""
    figure.legend(
        handles=[
            Patch(color=LINES[0], label="may be attended to"),
            Patch(color=HIDDEN, label="hidden"),
            Patch(fill=False, hatch="///", edgecolor="0.45", linewidth=0, label="padding (·)"),
        ],
        loc="outside lower center",
        ncols=3,
    )
