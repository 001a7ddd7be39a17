"""A tiny model to save, and what is done to its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import ZooError
from zoo.models.builder import build
from zoo.models.checkpoint import load_checkpoint
from zoo.models.transformer import Transformer

TINY = {
    "d_model": 8,
    "num_heads": 2,
    "d_ff": 16,
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "src_vocab": 11,
    "tgt_vocab": 11,
    "max_len": 16,
}


def tiny(seed: int = 0, **given: Any) -> tuple[Transformer, Blueprint]:
    blueprint = make_blueprint(**{**TINY, **given})
    return build(blueprint, seed=seed), blueprint


def edit(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what `zoo.json` holds."""
    index = json.loads((folder / "zoo.json").read_text())
    change(index)
    (folder / "zoo.json").write_text(json.dumps(index))


def refused(folder: Path, *parts: str, **options: Any) -> None:
    """Loading fails with a sentence that has these parts."""
    with pytest.raises(ZooError) as caught:
        load_checkpoint(folder, **options)
    for part in parts:
        assert part in str(caught.value)
