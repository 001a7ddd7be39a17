"""Accelerated models: equal results, plain copies and checkpoints, and what is refused."""

from __future__ import annotations

import copy
import io
import pickle
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.zoo.torch_features import batch, blueprint_of, cases, flex_is_slow, make
from zoo.accelerate import AccelerateError, accelerate, products, restore, tricks
from zoo.accelerate.trick import Trick
from zoo.core.plugins import get_registry
from zoo.models.builder import build
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding

ATTENTIONS = [case for case in cases() if case.startswith("attention=")]


def results(model: nn.Module) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits at what is no padding, and gradients."""
    given = batch()
    model.zero_grad()
    out = model(given.src, given.tgt)[given.real]
    (out**2).mean().backward()
    return out.detach(), {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("case", ATTENTIONS)
def test_it_gives_the_same_and_restore_brings_the_plain_model_back(
    case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(products, "LARGE", 0)
    model = make(case, dtype=torch.float32)
    names, kinds, plain = list(model.state_dict()), [type(m) for m in model.modules()], results(model)
    assert accelerate(model, onednn=True) is model
    torch.testing.assert_close(results(model), plain, rtol=1e-4, atol=1e-4)
    assert list(model.state_dict()) == names
    assert tricks(model)
    assert restore(model) is model
    assert [type(m) for m in model.modules()] == kinds
    assert tricks(model) == []
    torch.testing.assert_close(results(model), plain, rtol=0, atol=0)


@pytest.mark.parametrize("case", flex_is_slow(ATTENTIONS))
def test_it_decodes_the_same(case: str) -> None:
    model, src = make(case, dtype=torch.float32), batch().src
    for cached in (None, False):
        plain = generate(model, src, 6, GreedyDecoding(), cached=cached)
        assert torch.equal(generate(accelerate(model), src, 6, GreedyDecoding(), cached=cached), plain)
        restore(model)


def test_it_trains_with_dropout() -> None:
    model = accelerate(make("attention=fused", dropout=0.3, dtype=torch.float32))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    given, losses = batch(), []
    for _ in range(30):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(given.src, given.tgt)[given.real], given.tgt[given.real])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2


def test_again_changes_nothing() -> None:
    model = accelerate(make("attention=fused"))
    kinds = [type(m) for m in model.modules()]
    assert [type(m) for m in accelerate(model).modules()] == kinds


@pytest.mark.parametrize("way", ["copy", "pickle", "torch.save", "checkpoint"])
def test_copies_and_what_is_saved_are_plain(way: str, tmp_path: Path) -> None:
    blueprint = blueprint_of("attention=fused", dropout=0.1)
    model = build(blueprint, seed=0)
    expected = copy.deepcopy(model.state_dict())
    accelerate(model)
    if way == "copy":
        other = copy.deepcopy(model)
    elif way == "pickle":
        other = pickle.loads(pickle.dumps(model))
    elif way == "torch.save":
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        other = torch.load(file, weights_only=False)
    else:
        save_checkpoint(tmp_path / "model", model, blueprint)
        other = load_checkpoint(tmp_path / "model")[0]
    assert tricks(model)
    assert not any(isinstance(module, Trick) for module in other.modules())
    torch.testing.assert_close(dict(other.state_dict()), dict(expected), rtol=0, atol=0)
    model.train()
    other.eval()
    assert model.dropout.training, "nothing is shared"
    assert other.encoder.layers[0].self_attention is not model.encoder.layers[0].self_attention


def test_hooks_go_on_firing() -> None:
    model, seen = accelerate(make("attention=eager")), set()
    for name, module in model.named_modules():
        module.register_forward_hook(lambda *_args, name=name: seen.add(name))
    model(*batch())
    names = {name for name, module in model.named_modules() if not isinstance(module, nn.ModuleList)}
    assert names == seen


def test_compiled_it_is_plain() -> None:
    model = make("attention=fused")
    expected = results(model)
    compiled = torch.compile(accelerate(model), backend="eager", fullgraph=True)
    torch.testing.assert_close(results(compiled), _renamed(expected), rtol=1e-9, atol=1e-9)
    torch._dynamo.reset()


def _renamed(found: tuple[Tensor, dict[str, Tensor]]) -> tuple[Tensor, dict[str, Tensor]]:
    return found[0], {f"_orig_mod.{name}": value for name, value in found[1].items()}


def in_place() -> nn.Module:
    return nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5, inplace=True))


def parametrized() -> nn.Module:
    return nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)))


def compiled() -> nn.Module:
    return torch.compile(nn.Linear(2, 2), backend="eager")  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("make_model", "said"),
    [
        (in_place, r"'1' drops in place \(inplace=True\)"),
        (parametrized, "weights of '0' change inside"),
        (compiled, "The model is compiled"),
        (lambda: nn.Linear(2, 2, device="meta"), "for the CPU, and the model is on meta"),
    ],
)
def test_what_would_not_be_safe_is_refused_with_a_reason(make_model: object, said: str) -> None:
    model: nn.Module = make_model()  # type: ignore[operator]
    with pytest.raises(AccelerateError, match=said):
        accelerate(model)
    assert tricks(model) == []


def test_a_dropout_of_ones_own_stays() -> None:
    class Mine(nn.Dropout):
        def forward(self, input: Tensor) -> Tensor:
            return input * 0

    model = make("attention=fused", dropout=0.3)
    for layer in model.encoder.layers:
        layer.self_attention.dropout = Mine(0.3)
    accelerate(model)
    assert type(model.encoder.layers[0].self_attention.dropout) is Mine
    attention = model.encoder.layers[0].self_attention
    out = attention(*(torch.randn(2, 3, 32, dtype=torch.float64),) * 3)
    torch.testing.assert_close(out, attention.out_proj.bias.expand_as(out))


def test_all_attentions_are_tried() -> None:
    assert len(ATTENTIONS) == len(get_registry().variants("attention"))
