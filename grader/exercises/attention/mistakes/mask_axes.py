"""Mistakes in which dimension of the scores a dimension of the mask meets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from grader.exercises.attention.mistakes.collection import CLASS, mistake
from grader.exercises.attention.mistakes.masks import with_mask
from grader.exercises.attention.reference import Call, Steps

# How a mask comes to stand askew, and for which numbers of dimensions that is written.
ASKEW: tuple[tuple[Callable[[Tensor], Tensor], tuple[int, ...]], ...] = (
    (lambda m: m.unsqueeze(1), (2, 4)),  # [Tq, Tk] -> [Tq, 1, Tk]
    (lambda m: m[:, None, None, :], (2,)),  # [Tq, Tk] -> [Tq, 1, 1, Tk]
    (lambda m: m.unsqueeze(-1), (2, 4)),  # [Tq, Tk] -> [Tq, Tk, 1]
    (lambda m: m[:, None, :, None], (2,)),  # [Tq, Tk] -> [Tq, 1, Tk, 1]
    (lambda m: m[:, :, None, None], (2,)),  # [Tq, Tk] -> [Tq, Tk, 1, 1]
    (lambda m: m.transpose(1, 2), (4,)),  # [B, H, Tq, Tk] -> [B, Tq, H, Tk]
    (lambda m: m.transpose(0, 1), (4,)),  # [B, H, Tq, Tk] -> [H, B, Tq, Tk]
    (lambda m: m.unsqueeze(0), (4,)),  # [B, H, Tq, Tk] -> [1, B, H, Tq, Tk]
)


@mistake(
    "mask-axis-misplaced",
    "A dimension of the mask is inserted or moved to the wrong place, so it broadcasts along the wrong "
    "axes of the scores [B, H, Tq, Tk]. Shapes align from the right: [Tq, 1, Tk] aligns the mask's queries "
    "with the heads, [T, 1, 1, Tk] with the batch. That raises an error or, where the sizes happen to "
    "agree, masks the wrong keys.",
    formula="mask[..., query, key], broadcast against scores[b, h, query, key]",
    hint="Write the mask's shape below that of the scores, aligned on the right.",
    source="PyTorch, broadcasting semantics",
    parts=CLASS,
)
def mask_axis_misplaced(steps: Steps) -> list[Steps]:
    """The scores may get more heads or dimensions by it; merging them then fits somehow, or raises."""

    def askew(way: Callable[[Tensor], Tensor], when: tuple[int, ...]) -> Steps:
        return with_mask(steps, lambda _call, m: way(m) if m.dim() in when else m)

    def any_length(call: Call, x: Tensor) -> Tensor:
        return x.transpose(1, 2).reshape(call.query.size(0), -1, call.query.size(-1))

    def same_length(call: Call, x: Tensor) -> Tensor:
        return x.transpose(1, 2).reshape(call.query.shape)

    return [
        replace(askew(way, when), merge=merge)
        for way, dims in ASKEW
        for when in {dims, *((dim,) for dim in dims)}
        for merge in (any_length, same_length)
    ]
