"""Optimizers: each against torch's own, what Muon moves, and how the numbers of a recipe and options reach them."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from zoo.core.blueprint import make_blueprint
from zoo.core.errors import CombinationError, ZooError
from zoo.core.recipe import Recipe
from zoo.models.builder import build, build_optimizer
from zoo.models.transformer import Transformer
from zoo.parts.loss.cross_entropy import CrossEntropyLoss
from zoo.parts.optimizer.base import LR_FACTOR, matrices
from zoo.parts.schedule.constant import ConstantSchedule
from zoo.training.tasks.base import Batch
from zoo.training.translation.state import load_state, save_state
from zoo.training.update import Loss, Updater

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1, "dropout": 0.0,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 9,
}  # fmt: skip
RECIPE = Recipe(lr=0.01, betas=(0.8, 0.9), eps=1e-5, weight_decay=0.02)
BATCH = Batch(torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([[8, 9, 2], [5, 2, 0]]))
needs_muon = pytest.mark.skipif(not hasattr(torch.optim, "Muon"), reason="this torch has no Muon")


def model(assembly: str = "encoder-decoder") -> Transformer:
    return build(make_blueprint(assembly=assembly, **SIZES), seed=0)


def optimizer(text: str, of: nn.Module) -> torch.optim.Optimizer:
    return build_optimizer(make_blueprint(optimizer=text, **SIZES), of, RECIPE)


def steps(of: nn.Module, with_: torch.optim.Optimizer) -> list[torch.Tensor]:
    for number in range(3):
        with_.zero_grad()
        torch.stack([(p * p).sum() * (number + 1) for p in of.parameters()]).sum().backward()
        with_.step()
    return [p.detach() for p in of.parameters()]


@pytest.mark.parametrize(
    ("text", "cls", "arguments"),
    [
        ("adamw", torch.optim.AdamW, {"betas": (0.8, 0.9), "eps": 1e-5, "weight_decay": 0.02}),
        ("adamw:beta2=0.7:weight_decay=0", torch.optim.AdamW, {"betas": (0.8, 0.7), "eps": 1e-5, "weight_decay": 0}),
        ("adam", torch.optim.Adam, {"betas": (0.8, 0.9), "eps": 1e-5}),
        ("sgd:lr_factor=1", torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
        ("sgd:momentum=0:lr_factor=0.5", torch.optim.SGD, {"lr": 0.005}),
    ],
)  # fmt: skip
def test_it_is_torchs_with_the_numbers_of_recipe_and_options(
    text: str, cls: type[torch.optim.Optimizer], arguments: dict[str, object]
) -> None:
    one, other = model(), model()
    got = steps(one, optimizer(text, one))
    expected = steps(other, cls(other.parameters(), **{"lr": 0.01, **arguments}))  # type: ignore[arg-type]
    for a, b in zip(got, expected, strict=True):
        assert torch.allclose(a, b, atol=1e-7)


@needs_muon
@pytest.mark.parametrize("assembly", ["encoder-decoder", "decoder", "encoder"])
def test_muon_moves_the_matrices_of_the_layers_and_adamw_all_else(assembly: str) -> None:
    one, other = model(assembly), model(assembly)
    names = {n for n, p in one.named_parameters() if ".layers." in n and p.ndim == 2}
    assert names
    assert {id(p) for p in matrices(one)} == {id(p) for n, p in one.named_parameters() if n in names}
    got = steps(one, optimizer("muon:lr_factor=0.5", one))
    inside = [p for n, p in other.named_parameters() if n in names]
    muon = torch.optim.Muon(inside, lr=0.005, weight_decay=0.02, adjust_lr_fn="match_rms_adamw")
    rest = [p for n, p in other.named_parameters() if n not in names]
    adamw = torch.optim.AdamW(rest, lr=0.01, betas=(0.8, 0.9), eps=1e-5, weight_decay=0.02)

    class Both:
        def zero_grad(self) -> None:
            other.zero_grad()

        def step(self) -> None:
            muon.step()
            adamw.step()

    for a, b in zip(got, steps(other, Both()), strict=True):  # type: ignore[arg-type]
        assert torch.allclose(a, b, atol=1e-7)


@needs_muon
def test_muon_without_matrices_or_with_nothing_else() -> None:
    only = nn.Linear(3, 3)
    assert [len(group["params"]) for group in optimizer("muon", only).param_groups] == [2]
    loss = optimizer("muon", only).step(lambda: 3.0)
    assert loss == 3.0


def test_without_muon_in_torch_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(torch.optim, "Muon", raising=False)
    with pytest.raises(
        CombinationError, match=r"has no Muon, which came with torch 2\.9\. Use optimizer=adamw"
    ):
        optimizer("muon", model())


@pytest.mark.parametrize("text", ["adamw", "adam", "sgd", pytest.param("muon", marks=needs_muon)])
def test_a_training_goes_on_from_its_saved_state(text: str, tmp_path: Path) -> None:
    def updater(of: Transformer) -> Updater:
        loss = Loss(of, CrossEntropyLoss(0), torch.device("cpu"))
        return Updater(loss, RECIPE, ConstantSchedule(9, 1), 9, optimizer=optimizer(text, of))

    one = model()
    first = updater(one)
    first.step(0, [BATCH])
    name = save_state(tmp_path, first.optimizer, torch.device("cpu"))
    other = copy.deepcopy(one)
    second = updater(other)
    load_state(tmp_path / name, second.optimizer, torch.device("cpu"))
    for number in (1, 2):
        first.step(number, [BATCH])
        second.step(number, [BATCH])
    for a, b in zip(one.parameters(), other.parameters(), strict=True):
        assert torch.equal(a, b)


def test_the_rate_of_a_step_is_the_schedules_times_the_factor_of_a_group() -> None:
    one = model()
    loss = Loss(one, CrossEntropyLoss(0), torch.device("cpu"))
    updater = Updater(loss, RECIPE, ConstantSchedule(9, 4), 9, optimizer=optimizer("sgd:lr_factor=3", one))
    assert updater.step(1, [BATCH]).lr == pytest.approx(0.005)
    assert [g["lr"] for g in updater.optimizer.param_groups] == [pytest.approx(0.015)]
    assert updater.optimizer.param_groups[0][LR_FACTOR] == 3


OWN = """
import torch
class Signs(torch.optim.Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, {"lr": lr})
    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p -= group["lr"] * p.grad.sign()%s
"""


def test_ones_own_optimizer(tmp_path: Path) -> None:
    path = tmp_path / "signs.py"
    path.write_text(OWN % "")
    one = model()
    before = [p.detach().clone() for p in one.parameters()]
    steps(one, optimizer(f"{path}:Signs", one))
    assert all((p - b).abs().max() <= 0.0301 for p, b in zip(one.parameters(), before, strict=True))
    assert not torch.equal(before[0], next(one.parameters()))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (OWN % " / 0 / len([][0])", "Signs, step: IndexError"),
        (
            "class Signs:\n    def __init__(self, params, lr): pass\n    def step(self): pass",
            "torch.optim.Optimizer",
        ),
    ],
)
def test_ones_own_optimizer_that_is_wrong(code: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "signs.py"
    path.write_text(code)
    one = model()
    with pytest.raises(ZooError, match=message):
        steps(one, optimizer(f"{path}:Signs", one))
