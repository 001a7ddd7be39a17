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
from tests.zoo.models.test_pairs import ASSEMBLIES, INSIDE, blueprint_of, covering_all_pairs
from zoo.core.blueprint import Blueprint, get_preset, get_presets, make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.core.registry import module_of_file
from zoo.export.exporter import export
from zoo.export.trees import source_of
from zoo.export.trials import small
from zoo.models.builder import build
from zoo.models.external import ExternalPart

LINES = {"gpt2": 350, "vaswani2017": 500, "pairs": 1300}
"""What a reader is asked to read, at most; three attentions and three networks for pairs."""
EVERY = bool(os.environ.get("ZOO_EXPORT_EVERY_PAIR"))
"""All models that cover all pairs of variants; else a few of them."""
ONE: dict[str, Any] = {"num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
NOT_IN_A_FILE = ("init", "loss", "schedule", "optimizer", "decoding")
IN_A_FILE = tuple(name for name in INSIDE if name not in NOT_IN_A_FILE)
"""The axes of which a file has something; layers that differ share a file, so that there are fewer."""
SHAPES: dict[str, Callable[[], Blueprint]] = {
    "per_layer": lambda: make_blueprint(
        assembly="decoder",
        attention="sliding:window=4+eager",
        encoding="rotary",
        num_decoder_layers=4,
        num_heads=2,
    ),
    "bases_of_bases_and_other_names": lambda: make_blueprint(
        assembly="decoder", attention="mqa+sliding:window=4+sinks", num_decoder_layers=3, num_heads=2
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
@pytest.mark.parametrize("name", SHAPES)
def test_a_model_of_this_shape_is_the_same_elsewhere(name: str, tmp_path: Path) -> None:
    text = put(tmp_path, name, SHAPES[name]())
    readable(text)
    assert differences(tmp_path) == ""


@pytest.mark.slow
@pytest.mark.skipif(not EVERY, reason="only where ZOO_EXPORT_EVERY_PAIR is set")
@pytest.mark.parametrize("name", [*get_presets()])
def test_every_preset_is_the_same_elsewhere(name: str, tmp_path: Path) -> None:
    """In few layers: a file says the same of each, but for a pattern of them."""
    blueprint = get_preset(name).blueprint()
    few = max(2, *(len(choice.layers) for choice in blueprint.choices.values()))
    layers = {f"num_{side}_layers": few for side in ("encoder", "decoder")}
    put(tmp_path, "preset", blueprint.with_sizes(**layers))
    assert differences(tmp_path) == ""


@pytest.mark.slow
def test_a_part_of_a_plugin_comes_along(tmp_path: Path) -> None:
    if "sigmoid" not in [one.name for one in get_registry().variants("attention")]:
        pytest.skip("the example of a plugin is not installed")
    text = put(tmp_path, "plugin", make_blueprint(assembly="encoder", attention="sigmoid", **ONE))
    assert "zoo_example" not in text
    assert "class SigmoidAttention(nn.Module)" in text
    assert differences(tmp_path) == ""


@pytest.mark.slow
def test_presets_are_the_same_elsewhere_and_pass_the_linters(tmp_path: Path) -> None:
    """Together, for mypy reads what a file imports once."""
    for name in ("gpt2", "vaswani2017"):
        readable(put(tmp_path, name, get_preset(name).blueprint()), name)
    assert differences(tmp_path) == ""
    for tool in (
        ["ruff", "check", "--config", str(ROOT / "pyproject.toml")],
        ["ruff", "format", "--check", "--config", str(ROOT / "pyproject.toml")],
        ["mypy", "--python-version=3.10", "--disallow-untyped-defs", "--config-file="],
    ):
        done = subprocess.run(
            [sys.executable, "-m", *tool, "gpt2.py", "vaswani2017.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_models_of_all_pairs_are_the_same_elsewhere(tmp_path: Path) -> None:
    """A sample by a fixed seed; all of them where ZOO_EXPORT_EVERY_PAIR is set."""
    models = [choices for assembly in ASSEMBLIES for choices in covering_all_pairs(assembly, IN_A_FILE, 3)]
    chosen = models if EVERY else random.Random(0).sample(models, 3)
    for number, choices in enumerate(chosen):
        try:
            readable(put(tmp_path, f"model_{number}", blueprint_of(choices)), "pairs")
        except Exception as error:
            raise AssertionError(str(choices)) from error
    assert differences(tmp_path) == ""


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
def test_every_wrapper_of_an_own_part_is_left_behind_and_lambdas_keep_their_names(tmp_path: Path) -> None:
    """Norms are made by a lambda; flex attention gives torch a lambda that has arguments q and k of its own."""
    file = tmp_path / "own.py"
    file.write_text(
        "from torch import nn\n\n\nclass Own(nn.LayerNorm):\n"
        "    def __init__(self, d_model):\n        super().__init__(d_model, eps=1e-3)\n"
    )
    own = make_blueprint(assembly="decoder", norm_type=f"{file}:Own", attention="flex", **ONE)
    folder = tmp_path / "out"
    text = put(folder, "mine", own)
    assert "ExternalPart" not in text
    assert "ZooError" not in text
    assert "score_mod=None" not in text
    assert differences(folder) == ""


@pytest.mark.slow
def test_what_does_not_compute_the_same_is_not_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.export.trials._same", lambda one, other: False)
    with pytest.raises(ZooError, match="was not written, as it does not compute what the model does"):
        export(make_blueprint(assembly="encoder", num_encoder_layers=1, num_heads=1))


def test_files_of_one_name_are_read_each(tmp_path: Path) -> None:
    """Two at once, and one that has changed since."""
    modules = []
    for folder, name in (("a", "First"), ("b", "Second"), ("a", "Third")):
        file = tmp_path / folder / "own.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"from torch import nn\n\n\nclass {name}(nn.LayerNorm):\n    pass\n")
        modules.append(module_of_file(file).__name__)
        assert list(source_of(modules[-1]).definitions) == [name]
    assert list(source_of(modules[1]).definitions) == ["Second"]
