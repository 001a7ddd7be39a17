"""All properties, by axis, and what comes of looking at one part.

The tests run them over every variant, `zoo check` over the one that is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zoo.analysis.checks import (
    attention,
    attention_declared,
    attention_masks,
    decoding,
    encoding,
    layer,
    masks,
    model,
    tokens,
    training,
)
from zoo.analysis.checks.base import Finding, Property, look_at_all
from zoo.analysis.checks.construction import CONSTRUCTED
from zoo.analysis.checks.part import Part

OWN: Mapping[str, Sequence[Property]] = {
    "attention": (*attention.PROPERTIES, *attention_masks.PROPERTIES, *attention_declared.PROPERTIES),
    "encoding": encoding.PROPERTIES,
    "norm": layer.NORM,
    "norm-type": layer.NORM_TYPE,
    "feedforward": layer.FEEDFORWARD,
    "embedding": tokens.EMBEDDING,
    "head": tokens.HEAD,
    "masking": masks.MASKING,
    "mask": masks.MASK,
    "init": training.INIT,
    "loss": training.LOSS,
    "schedule": training.SCHEDULE,
    "optimizer": training.OPTIMIZER,
    "decoding": decoding.PROPERTIES,
    "assembly": (),
}
"""What belongs to the axis alone."""

AROUND = ("loss", "schedule", "optimizer", "decoding")
"""Axes whose parts are around a model, not in it."""


def properties_of(axis: str) -> tuple[Property, ...]:
    """All that parts of `axis` should have; the first is that they can be made."""
    inside = () if axis in AROUND else tuple(model.INSIDE)
    return (CONSTRUCTED, *OWN[axis], *model.WHOLE, *inside)


def check(part: Part) -> list[Finding]:
    """Return what came of looking at every property of `part`. Nothing that the part raises gets out."""
    return look_at_all(properties_of(part.axis), part)
