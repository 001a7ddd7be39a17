"""What is no whole checkpoint is refused, with a sentence."""

from __future__ import annotations

import errno
from pathlib import Path
from typing import Any

import pytest
import safetensors.torch
import torch

from tests.zoo.models.checkpoint.support import edit, refused, tiny
from zoo.models import checkpoint
from zoo.models.checkpoint import load_checkpoint, save_checkpoint


def test_nothing_there_is_said(tmp_path: Path) -> None:
    refused(
        tmp_path / "nowhere", "nowhere' is not a checkpoint: there is no such directory", "zoo train --save"
    )
    refused(tmp_path, "there is no zoo.json in it")


def test_no_permission_is_said(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> bytes:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", denied)
    refused(saved, "cannot be read: no permission")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"3",
        b"{}",
        b'{"format": "1"}',
        b'{"format": 1}',
        b'{"format": 0}',
        b'{"format": true, "extra": {}, "weights": "weights-' + b"0" * 64 + b'.safetensors"}',
        b"[" * 100_000,
        b'{"format": 1, "extra": {}, "weights": "../../weights.safetensors"}',
        b'{"format": 1, "extra": 3, "weights": "weights-' + b"0" * 64 + b'.safetensors"}',
    ],
)
def test_a_damaged_index_is_said(saved: Path, content: bytes) -> None:
    (saved / "zoo.json").write_bytes(content)
    refused(saved, "zoo.json is damaged or not a checkpoint")


def test_a_newer_format_is_said(saved: Path) -> None:
    edit(saved, lambda index: index.update(format=checkpoint.FORMAT + 1, version="9.9"))
    refused(saved, "format 2, saved by zoo 9.9", "reads format 1", "Update transformer-zoo")


@pytest.mark.parametrize("blueprint", [None, {}, {"format": 1, "choices": 3, "sizes": {}}])
def test_a_damaged_blueprint_is_said(saved: Path, blueprint: object) -> None:
    edit(saved, lambda index: index.update(blueprint=blueprint))
    refused(saved, "cannot be built", "not a blueprint")


@pytest.mark.parametrize("length", [0, 4, 100, -1])
def test_cut_weights_are_said(saved: Path, length: int) -> None:
    (weights,) = saved.glob("weights-*")
    weights.write_bytes(weights.read_bytes()[:length])
    refused(saved, str(weights), "is damaged")


def test_weights_that_are_gone_are_said(saved: Path) -> None:
    next(saved.glob("weights-*")).unlink()
    refused(saved, "is gone: the checkpoint is incomplete")


def test_weights_with_another_byte_are_said(saved: Path) -> None:
    """Still good safetensors, with other numbers."""
    (weights,) = saved.glob("weights-*")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    refused(saved, str(weights), "is damaged")


def put_weights(saved: Path, data: bytes) -> None:
    """Replace the weights by `data`, in good order."""
    name = f"weights-{checkpoint.hashlib.sha256(data).hexdigest()}.safetensors"
    (saved / name).write_bytes(data)
    edit(saved, lambda index: index.update(weights=name))


def test_weights_that_are_no_safetensors_are_said(saved: Path) -> None:
    put_weights(saved, b"PK\x03\x04 a pickle, perhaps")
    refused(saved, "is damaged")


@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.bool, torch.complex64, torch.float8_e4m3fn], ids=lambda x: str(x)
)
def test_weights_that_are_no_numbers_to_compute_with_are_said(saved: Path, dtype: torch.dtype) -> None:
    state = {name: value.detach().to(dtype).clone() for name, value in tiny()[0].state_dict().items()}
    put_weights(saved, safetensors.torch.save(state))
    refused(saved, "not those of its blueprint", f"got {dtype}", "expected torch.float32 or ")


def test_weights_of_another_model_are_said_with_both_shapes(saved: Path) -> None:
    state = tiny(d_ff=24)[0].state_dict()
    state["stranger"] = torch.zeros(3)
    del state["head.bias"]
    put_weights(saved, safetensors.torch.save({name: value.clone() for name, value in state.items()}))
    refused(
        saved,
        "not those of its blueprint",
        "head.bias: expected [11], got nothing",
        "stranger: expected nothing, got [3]",
        "down_proj.weight: expected [8, 16], got [8, 24]",
        "and 3 more",
    )


def test_sizes_that_fit_no_memory_are_said(saved: Path) -> None:
    edit(saved, lambda index: index["blueprint"]["sizes"].update(d_model=10**7))
    refused(saved, "The weights and their gradients take")


def test_a_variant_that_is_not_there_is_said_with_its_plugin(saved: Path) -> None:
    def change(index: dict[str, Any]) -> None:
        index["blueprint"]["choices"]["attention"]["name"] = "of-theirs"
        index["origins"]["attention"] = "their-plugin"

    edit(saved, change)
    refused(
        saved, "There is no attention 'of-theirs'", "It came from plugin their-plugin, which is not loaded"
    )


PART = """
import pathlib
import torch
pathlib.Path("ran").write_text("yes")

class Mine(torch.nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.linear = torch.nn.Linear(d_model, d_model)

    def forward(self, x):
        return self.linear(x)
"""


def test_code_runs_only_if_it_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("part.py").write_text(PART)
    model, blueprint = tiny(feedforward="part.py:Mine")
    save_checkpoint("saved", model, blueprint)
    Path("ran").unlink()
    refused(Path("saved"), "has a part from a file: part.py:Mine", "give --allow-code")
    assert not Path("ran").exists()
    loaded = load_checkpoint("saved", allow_code=True).model
    assert Path("ran").exists()
    assert torch.equal(loaded.state_dict()["head.weight"], model.head.weight)
    Path("part.py").unlink()
    refused(Path("saved"), "there is no file 'part.py'", allow_code=True)
