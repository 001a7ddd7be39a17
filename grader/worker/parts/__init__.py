"""The judge's own parts, which are handed to a submission: an attention for its encoder layer, a model to decode with.

They run beside the submission, so nothing rests on them alone: what they note (`Part.recorded`) helps to name a
mistake, and whether the submission is right is told by the numbers, which depend on weights that only the judge knows.
"""

from __future__ import annotations

from typing import Any

from torch import nn

from .base import Part
from .blocks import (
    Attention,
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    Layers,
    Maker,
    Norm,
    Same,
    Smooth,
    Sublayer,
)
from .model import Embedding, Positions
from .scattered import Scattered
from .spelling import Descent, Pupil, Speller
from .stepping import Stepper
from .working import (
    Reverser,
    Trainer,
    WorkingAttention,
    WorkingDecoder,
    WorkingEmbedding,
    WorkingEncoder,
    WorkingFeedForward,
    WorkingPositions,
)

_WORKING = (
    Reverser,
    Trainer,
    WorkingAttention,
    WorkingDecoder,
    WorkingEmbedding,
    WorkingEncoder,
    WorkingFeedForward,
    WorkingPositions,
)

PARTS: dict[str, type[nn.Module]] = {
    part.__name__: part
    for part in (
        Attention,
        DecoderLayer,
        Descent,
        Embedding,
        EncoderLayer,
        FeedForward,
        Layers,
        Maker,
        Norm,
        Positions,
        Pupil,
        Same,
        Scattered,
        Smooth,
        Speller,
        Stepper,
        Sublayer,
        *_WORKING,
    )
}


def handed(module: nn.Module) -> Any:
    """Return what a submission is given when this module is an argument: a part may stand for something else."""
    return module.handed() if isinstance(module, Part) else module
