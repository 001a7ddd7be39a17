"""The parameters of a part: names and shapes of its `state_dict`, and how many are trainable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import nn

from zoo.core.blueprint import Blueprint
from zoo.core.rules import checked_plan
from zoo.models.external import ExternalEmbeddings, ExternalPart
from zoo.models.trial import build_on

PLACES = {
    "attention": "encoder.layers.0.self_attention",
    "encoding": "src_positions",
    "norm": "encoder.layers.0.norm",
    "norm-type": "encoder.final_norm",
    "feedforward": "encoder.layers.0.feed_forward",
    "embedding": "embeddings",
    "head": "head",
    "assembly": "",
}
"""Where the first part of an axis stands in a model. On the other axes parts are no part of a model."""
OF_DECODER = {"encoder": "decoder", "src_positions": "tgt_positions"}
"""What stands in for that in a model without an encoder."""


@dataclass(frozen=True)
class ParameterSummary:
    """The parameters of the first part of an axis in a model.

    Attributes:
        shapes: by name in the part's `state_dict`, buffers too.
        parameters: trainable parameters of the part.
        of_model: trainable parameters of the whole model.
    """

    shapes: Mapping[str, tuple[int, ...]]
    parameters: int
    of_model: int


def parameter_summary(blueprint: Blueprint, axis: str) -> ParameterSummary | None:
    """Return the parameters of the part on `axis` in a model; None if it is not in the model.

    Raises as `zoo.core.rules.checked_plan` and `zoo.models.trial.build_on` do.
    """
    if axis not in PLACES:
        return None
    model = build_on(checked_plan(blueprint), torch.device("cpu"), seed=0)
    first, dot, rest = PLACES[axis].partition(".")
    first = first if "encoder" in model.stacks else OF_DECODER.get(first, first)
    part = model.get_submodule(first + dot + rest)
    if isinstance(part, (ExternalPart, ExternalEmbeddings)):
        part = part.inner
    shapes = {name: tuple(value.shape) for name, value in part.state_dict().items()}
    return ParameterSummary(shapes, _count(part), _count(model))


def _count(module: nn.Module) -> int:
    return sum(p.numel() for p in module.parameters() if p.requires_grad)
