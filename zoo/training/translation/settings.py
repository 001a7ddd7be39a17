"""The settings of a translator's training. Imports no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from zoo.core.errors import ZooError, unknown_name
from zoo.core.recipe import Recipe

MODELS = ("bpe", "unigram")
PRECISIONS = ("float32", "bf16")


@dataclass(frozen=True)
class Settings:
    """The settings of a translator's training: AdamW, as `zoo.core.recipe.Recipe` describes it, on batches by tokens.

    Loss, schedule and sizes are the blueprint's; a sentence may have `max_len` tokens of it, EOS included. The help
    texts become the command line's. Raises ZooError for a value out of range.
    """

    vocab_size: int = field(
        default=4000, metadata={"help": "vocabulary size, special tokens included", "minimum": 4}
    )
    joint: bool = field(default=True, metadata={"help": "one vocabulary for both languages"})
    model: str = field(default="bpe", metadata={"help": f"subword model: {' or '.join(MODELS)}"})
    tokens: int = field(
        default=1536,
        metadata={"help": "largest number of tokens per side of a batch, padding included", "minimum": 1},
    )
    accumulate: int = field(default=1, metadata={"help": "batches per optimizer step", "minimum": 1})
    clip: float = field(
        default=1.0, metadata={"help": "gradient norm to clip to; 0 disables clipping", "minimum": 0}
    )
    epochs: int = field(default=10, metadata={"help": "number of epochs", "minimum": 1})
    patience: int = field(
        default=5,
        metadata={"help": "stop after this many epochs without a better BLEU; 0 never stops", "minimum": 0},
    )
    lr: float = field(default=2e-3, metadata={"help": "highest learning rate", "minimum": 0})
    warmup: int = field(default=200, metadata={"help": "number of warm-up steps", "minimum": 1})
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-9
    weight_decay: float = 0.0
    precision: str = field(
        default="float32",
        metadata={"help": f"precision of the forward pass: {' or '.join(PRECISIONS)} (autocast)"},
    )
    compile: bool = field(default=False, metadata={"help": "compile the model with torch.compile"})
    seed: int = field(
        default=0, metadata={"help": "random seed for weights, batches and dropout", "minimum": 0}
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "betas", tuple(self.betas))  # JSON has lists
        for one in fields(self):
            value, least = getattr(self, one.name), one.metadata.get("minimum")
            if least is not None and not least <= value < math.inf:
                raise ZooError(f"{one.name}={value}: expected at least {least}.")
        for name, known in (("model", MODELS), ("precision", PRECISIONS)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        self.recipe()

    def recipe(self) -> Recipe:
        """Return the settings of the optimizer. Raises ZooError for a value out of range."""
        shared = {one.name for one in fields(Recipe)} & {one.name for one in fields(self)}
        return Recipe(**{name: getattr(self, name) for name in shared})


def settings_from(
    recipe: Mapping[str, Any], own: Mapping[str, Any], asked: Mapping[str, Any] | None = None
) -> Settings:
    """Return settings from a preset's recipe, its values for this task, and those given; later ones win.

    Args:
        recipe: fields of `Recipe`; those that count rows or steps say nothing here.
        own: fields of `Settings`.
        asked: the same; what is None was not asked for.
    """
    known = {one.name for one in fields(Settings)}
    shared = {name: value for name, value in recipe.items() if name in known}
    given = {name: value for name, value in (asked or {}).items() if value is not None}
    return Settings(**{**shared, **own, **given})
