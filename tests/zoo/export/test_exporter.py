"""One file of plain PyTorch: it computes what the model does, to the last bit, where zoo cannot be imported."""

from __future__ import annotations

import ast
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import ROOT
from tests.zoo.export.support import differences, put
from tests.zoo.models.test_pairs import ASSEMBLIES, blueprint_of, covering_all_pairs
from zoo.core.blueprint import Blueprint, get_preset, get_presets, make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.export.exporter import export
from zoo.export.trials import small
from zoo.models.builder import build
from zoo.models.external import ExternalPart

LINES = {"gpt2": 350, "vaswani2017": 500}
"""What a reader is asked to read, at most."""
EVERY = bool(os.environ.get("ZOO_EXPORT_EVERY_PAIR"))
"""All models that cover all pairs of variants; else a few of them."""
ONE: dict[str, Any] = {"num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
SHAPES: dict[str, Callable[[], Blueprint]] = {
    "per_layer": lambda: make_blueprint(
        assembly="decoder",
        attention="sliding:window=4+eager",
        encoding="rotary",
        num_decoder_layers=4,
        num_heads=2,
    ),
    "vision": lambda: get_preset("vit-tiny").blueprint(sizes={"num_encoder_layers": 1}),
    "two_stacks": lambda: make_blueprint(attention="fused", norm="post", **ONE),
}
"""Models that have something that those of all pairs have not."""
OWN = '''
import math

import torch
from torch import nn

SCALE = 2.0


def helper(x):
    """Twice."""
    return x * SCALE


class Unused:
    pass


class Mine(nn.Module):
    """Attention with one head."""

    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.q = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        """[B, T, D] -> [B, T, D]."""
        scores = helper(self.q(query)) @ key.transpose(-2, -1) / math.sqrt(key.size(-1))  # [B, Tq, Tk]
        if mask is not None:
            scores = scores.masked_fill(~mask[:, 0], torch.finfo(scores.dtype).min)
        return scores.softmax(-1) @ value
'''


def readable(text: str, name: str = "") -> None:
    """What a reader would stumble over is not there."""
    tree = ast.parse(text)
    assert not re.search(r"^\s*(import|from) zoo\b", text, re.MULTILINE)
    assert "zoo." not in re.sub(r"`zoo [^`]*`", "", text)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            assert any(isinstance(one, (ast.FunctionDef, ast.AnnAssign)) for one in node.body), node.name
    assert len(text.splitlines()) <= LINES.get(name, 900)
    order = [node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    assert order[0] == "Config"
    assert order[-1] == "main"


@pytest.mark.slow
def test_models_are_the_same_elsewhere_and_presets_pass_the_linters(tmp_path: Path) -> None:
    """Shapes, presets, a plugin's part, and models of all pairs: of these a sample, all where the variable is set.

    One process without zoo runs all files, and names those that differ.
    """
    models = {name: make() for name, make in SHAPES.items()}
    models |= {f"preset_{name}": get_preset(name).blueprint() for name in (get_presets() if EVERY else LINES)}
    pairs = [choices for assembly in ASSEMBLIES for choices in covering_all_pairs(assembly)]
    pairs = pairs if EVERY else random.Random(0).sample(pairs, 3)
    models |= {f"pairs_{number}": blueprint_of(choices) for number, choices in enumerate(pairs)}
    plugged = "sigmoid" in [one.name for one in get_registry().variants("attention")]
    if plugged:  # the example of a plugin is installed
        models["plugin"] = make_blueprint(assembly="encoder", attention="sigmoid", **ONE)
    texts = {}
    for name, blueprint in models.items():
        try:
            texts[name] = put(tmp_path, name, blueprint)
            if not name.startswith("preset_") or name.removeprefix("preset_") in LINES:
                readable(texts[name], name.removeprefix("preset_"))
        except Exception as error:
            raise AssertionError(f"{name}: {blueprint}") from error
    assert differences(tmp_path) == ""
    assert not plugged or "class SigmoidAttention(nn.Module)" in texts["plugin"]
    assert "zoo_example" not in texts.get("plugin", "")
    for tool in (
        ["ruff", "check", "--config", str(ROOT / "pyproject.toml")],
        ["ruff", "format", "--check", "--config", str(ROOT / "pyproject.toml")],
        ["mypy", "--python-version=3.10", "--disallow-untyped-defs", "--config-file="],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *tool, *(f"preset_{name}.py" for name in LINES)],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_a_part_from_a_file_comes_along_with_its_helpers(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text(OWN)
    blueprint = make_blueprint(
        assembly="encoder", attention=f"{file}:Mine", num_encoder_layers=1, num_heads=2
    )
    folder = tmp_path / "out"
    text = put(folder, "mine", blueprint)
    assert "class Mine(nn.Module)" in text
    assert "SCALE = 2.0" in text
    assert "Unused" not in text
    assert any(isinstance(one, ExternalPart) for one in build(small(blueprint), seed=0).modules())
    assert differences(folder) == ""


@pytest.mark.slow
def test_what_does_not_compute_the_same_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.export.trials._same", lambda one, other: False)
    with pytest.raises(ZooError, match="was not written, as it does not compute what the model does"):
        export(make_blueprint(assembly="encoder", num_encoder_layers=1, num_heads=1))
