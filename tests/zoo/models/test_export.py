"""torch.export: every model becomes one graph that runs without the zoo's code, and equals it."""

from __future__ import annotations

import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.zoo.torch_features import AROUND, Batch, batch, blueprint_of, covering, make
from zoo.core.plugins import get_registry
from zoo.models.transformer import Transformer

ANY = torch.export.Dim.DYNAMIC
CASES = covering(*AROUND)


def export(model: Transformer, given: Batch, open_: tuple[int, ...] = ()) -> Any:
    """The exported program; the dimensions `open_` of both inputs are left open."""
    shapes = (dict.fromkeys(open_, ANY),) * 2 if open_ else None
    with torch.no_grad():
        return torch.export.export(model.eval(), tuple(given), dynamic_shapes=shapes)


def same(program: Any, model: Transformer, given: Batch) -> None:
    """The program's output is the model's."""
    got: Tensor = program.module()(*given)
    torch.testing.assert_close(got[given.real], model(*given)[given.real], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("case", CASES[::6])
@pytest.mark.sampled(2)
def test_a_model_can_be_exported(case: str) -> None:
    """Some models, run on other tokens than those they were exported with; all are in the next test."""
    model, given = make(case), batch()
    program = export(model, given)
    same(program, model, given)
    same(program, model, Batch(given.src.flip(0), given.tgt.roll(1, 0)))


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_variant_can_be_exported_with_rows_and_lengths_left_open(case: str) -> None:
    """Rows alone where the attention says that lengths cannot be."""
    model = make(case)
    attention = get_registry().get("attention", blueprint_of(case)["attention"].name)
    if not attention.capabilities["open_lengths"]:
        with pytest.raises(torch._dynamo.exc.UserError, match="Constraints violated"):
            export(model, batch(), (0, 1))
        program = export(model, batch(), (0,))
        for rows in (2, 5):
            same(program, model, batch(rows, seed=1))
        return
    program = export(model, batch(), (0, 1))
    for shape in ((2, 9, 7), (4, 5, 11)):
        same(program, model, batch(*shape, seed=1))


class Attending(nn.Module):
    """Self-attention under a mask."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.attention = get_registry().get("attention", name).load()(8, 2)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        return self.attention(x, x, x, mask)  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["talking", "torch"])
def test_a_mask_that_an_attention_refuses_is_refused_by_the_program_too(name: str) -> None:
    """The check survives: heads that hide different rows."""
    x, good = torch.randn(2, 4, 8), torch.ones(2, 2, 4, 4, dtype=torch.bool).tril()
    model = Attending(name).eval()
    program = torch.export.export(model, (x, good)).module()
    torch.testing.assert_close(program(x, good), model(x, good))
    bad = good.clone()
    bad[:, 1, 2] = False
    for call, error in ((model, ValueError), (program, RuntimeError)):
        with pytest.raises(error, match="some heads only"):
            call(x, bad)


def test_a_program_can_be_saved_loaded_and_run() -> None:
    model, file = make("attention=fused"), io.BytesIO()
    torch.export.save(export(model, batch(), (0, 1)), file)
    file.seek(0)
    same(torch.export.load(file), model, batch(5, 8, 9, seed=1))


def test_a_program_holds_the_weights_under_the_models_own_names() -> None:
    model = make("attention=eager")
    program = export(model, batch())
    names = dict(model.named_parameters())
    assert {name: value.shape for name, value in program.named_parameters()} == {
        name: value.shape for name, value in names.items()
    }
