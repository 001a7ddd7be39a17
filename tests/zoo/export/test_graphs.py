"""Graphs of torch.export and for ONNX compute what the model does, for other batches too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.core.blueprint import Blueprint, get_preset, make_blueprint
from zoo.core.errors import ZooError
from zoo.export.graphs import write_onnx, write_program
from zoo.export.trials import small
from zoo.models.builder import build
from zoo.models.transformer import Model

SIZES: dict[str, Any] = {"num_encoder_layers": 1, "num_decoder_layers": 1}


def made(blueprint: Blueprint) -> tuple[Model, Blueprint]:
    blueprint = small(blueprint)
    return build(blueprint, seed=0).eval(), blueprint


def batch(model: Model, rows: int, length: int) -> tuple[torch.Tensor, ...]:
    generator = torch.Generator().manual_seed(rows)
    return tuple(torch.randint(1, 30, (rows, length), generator=generator) for _ in model.stacks)


@pytest.mark.slow
@pytest.mark.parametrize("assembly", ["encoder-decoder", "decoder", "encoder"])
def test_a_program_equals_the_model(assembly: str, tmp_path: Path) -> None:
    model, blueprint = made(make_blueprint(assembly=assembly, attention="fused", **SIZES))
    words = write_program(model, blueprint, tmp_path / "model.pt2")
    assert "[B, L] int64" in words
    program = torch.export.load(tmp_path / "model.pt2").module()
    for rows, length in ((3, 7), (2, 11)):
        given = batch(model, rows, length)
        torch.testing.assert_close(program(*given), model(*given))


@pytest.mark.slow
@pytest.mark.parametrize("assembly", ["encoder-decoder", "decoder", "encoder"])
def test_onnx_equals_the_model(assembly: str, tmp_path: Path) -> None:
    runtime = pytest.importorskip("onnxruntime", reason="needs onnxruntime")
    pytest.importorskip("onnxscript", reason="needs onnxscript")
    model, blueprint = made(make_blueprint(assembly=assembly, encoding="rotary", **SIZES))
    write_onnx(model, blueprint, tmp_path / "model.onnx")
    session = runtime.InferenceSession(tmp_path / "model.onnx")
    for rows, length in ((3, 7), (2, 11)):
        given = batch(model, rows, length)
        names = [one.name for one in session.get_inputs()]
        (got,) = session.run(None, {n: x.numpy() for n, x in zip(names, given, strict=True)})
        torch.testing.assert_close(torch.from_numpy(got), model(*given).detach(), rtol=1e-4, atol=1e-5)


def test_what_torch_cannot_carry_is_refused_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, blueprint = made(get_preset("bert-tiny").blueprint())

    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("no such operator\nat length")

    monkeypatch.setattr(torch.export, "export", fail)
    with pytest.raises(
        ZooError, match=r"cannot make a graph of this model: RuntimeError: no such operator\. Write a \.py"
    ):
        write_program(model, blueprint, tmp_path / "model.pt2")
    assert not (tmp_path / "model.pt2").exists()
