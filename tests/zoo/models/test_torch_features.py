"""What torch does to any module, it does to the zoo's: functional calls, hooks, LoRA, quantization, copies."""

from __future__ import annotations

import copy
import io
import pickle
import warnings

import pytest
import torch
from torch import Tensor, nn

from tests.zoo.support import accepted
from tests.zoo.torch_features import AROUND, SIZES, Batch, batch, cases, make
from zoo.core.blueprint import Sizes, get_preset, get_presets, make_blueprint
from zoo.core.plan import make_plan
from zoo.core.rules import problems
from zoo.models.builder import build
from zoo.models.transformer import Model
from zoo.models.trial import padded_tokens
from zoo.parts.attention.fused import FusedAttention
from zoo.parts.attention.gated import GatedAttention
from zoo.parts.attention.gqa import GroupedQueryAttention
from zoo.parts.attention.sliding import SlidingAttention

ATTENTIONS = [case for case in cases() if case.startswith("attention=")]
RENAMED = "attention=torch"
ASSEMBLIES = [case for case in cases() if case.startswith("assembly=")]
OURS = [case for case in ATTENTIONS if case != RENAMED]
"""All but nn.MultiheadAttention, which holds three projections in one parameter and calls no submodule."""
KERNEL = (FusedAttention, GatedAttention, GroupedQueryAttention, SlidingAttention)
every_attention = pytest.mark.parametrize("case", ATTENTIONS)


@pytest.mark.parametrize("case", OURS)
def test_names_in_the_state_dict_are_those_of_the_parameters(case: str) -> None:
    model = make(case)
    names = set(dict(model.named_parameters())) | set(dict(model.named_buffers()))
    assert set(model.state_dict()) <= names
    assert set(dict(model.named_parameters())) <= set(model.state_dict())


def accepts_functional_calls(model: Model, given: tuple[Tensor, ...]) -> None:
    """The same numbers give the same output, others what the model gives that has loaded them."""
    expected = model(*given)
    state = model.state_dict()
    torch.testing.assert_close(torch.func.functional_call(model, state, given), expected)
    changed = {id(value): value + 0.1 for value in state.values()}  # one tensor for all names of a tied one
    other = {name: changed[id(value)] for name, value in state.items()}
    found = torch.func.functional_call(model, other, given)
    model.load_state_dict(other)
    torch.testing.assert_close(found, model(*given))
    assert not torch.equal(found, expected)


@pytest.mark.parametrize("case", [case for case in cases(*AROUND) if case not in (*ASSEMBLIES, RENAMED)])
def test_a_functional_call_takes_the_state_dict(case: str) -> None:
    accepts_functional_calls(make(case), tuple(batch()))


@pytest.mark.parametrize("assembly", ["encoder", "decoder"])
@pytest.mark.parametrize("embedding", [one.name for one in accepted("embedding")])
def test_a_functional_call_takes_the_state_dict_of_one_stack(assembly: str, embedding: str) -> None:
    blueprint = make_blueprint(assembly=assembly, embedding=embedding, **SIZES)
    if problems(make_plan(blueprint)):
        pytest.skip("a rule refuses it")
    accepts_functional_calls(build(blueprint, seed=0).double().eval(), (batch().src,))


@pytest.mark.parametrize("name", [name for name in get_presets() if name != "assembled"])  # attention=torch
def test_a_functional_call_takes_the_state_dict_of_every_preset(name: str) -> None:
    model = build(get_preset(name).blueprint(sizes=few(name)), seed=0).double().eval()
    accepts_functional_calls(model, padded_tokens(Sizes(**few(name)), 2, 4, seed=0).read_by(model))


def few(name: str) -> dict[str, int]:
    """The sizes of a small model, which fit the choices of a preset."""
    more = {
        "gemma-3-like": {"num_decoder_layers": 6},
        "vit-base": {"max_len": 197},
        "vit-tiny": {"max_len": 17},
    }
    return {**SIZES, "num_heads": 8, **more.get(name, {})}  # as many heads as the most of keys and values


def test_a_functional_call_takes_the_parameters_of_torchs_own_attention() -> None:
    """Not the state dict, whose names are those of every other attention, not those of what it stores."""
    model, given = make(RENAMED), tuple(batch())
    expected, parameters = model(*given), dict(model.named_parameters())
    torch.testing.assert_close(torch.func.functional_call(model, parameters, given), expected)
    assert set(model.state_dict()) - set(parameters)


@pytest.mark.parametrize("embedding", ["tied", "three-way"])
@pytest.mark.parametrize("prefix", ["", "outer."])
def test_a_state_dict_has_one_tensor_for_all_names_of_a_tied_parameter(embedding: str, prefix: str) -> None:
    """Names and values are those that torch gives any module."""
    model = make(f"embedding={embedding}")
    state = (nn.ModuleDict({"outer": model}) if prefix else model).state_dict()
    names = dict(model.named_parameters(remove_duplicate=False))
    assert [*state] == [prefix + name for name in names]
    assert all(torch.equal(state[prefix + name], value) for name, value in names.items())
    assert state[f"{prefix}head.weight"] is state[f"{prefix}embeddings.tgt_table.weight"]


@pytest.mark.parametrize("case", [case for case in cases(*AROUND) if case not in ASSEMBLIES])
def test_hooks_fire_on_every_submodule_and_see_padded_batches(case: str) -> None:
    model, given = make(case), batch()
    calls: dict[str, list[tuple[int, ...]]] = {}

    def note(name: str, out: object) -> None:
        calls.setdefault(name, []).append(tuple(out.shape) if isinstance(out, Tensor) else ())

    for name, module in model.named_modules():
        module.register_forward_hook(lambda _m, _args, out, name=name: note(name, out))
    model(*given)
    silent = {name for name, module in model.named_modules() if is_silent(model, name, module)}
    assert {name for name, _ in model.named_modules()} - set(calls) == silent
    sides = {"encoder": given.src.shape, "decoder": given.tgt.shape}
    for name, shapes in calls.items():
        layers = name.split(".")[1:2] == ["layers"]
        dropped = name.rpartition(".")[2] == "dropout" or name == "dropout"
        if name == "embeddings":
            assert shapes == [(*tokens.shape, SIZES["d_model"]) for tokens in given], name
        elif not dropped and not name.startswith(
            "embeddings."
        ):  # one dropout serves all sublayers, a table both sides
            assert len(shapes) == 1, name
        if layers and ("_proj" in name or name.endswith(("feed_forward", "attention"))):
            memory = "cross_attention.k" in name or "cross_attention.v" in name
            assert shapes[0][:2] == tuple(sides["encoder" if memory else name.split(".")[0]]), name


def is_silent(model: nn.Module, name: str, module: nn.Module) -> bool:
    """Return whether there is a reason why hooks do not fire on a submodule of `model`."""
    parent, _, last = name.rpartition(".")
    owner = model.get_submodule(parent)
    return (
        isinstance(module, nn.ModuleList)  # its modules are called one by one
        or (last == "dropout" and isinstance(owner, KERNEL))  # torch's kernel drops, given the probability
        or (last == "out_proj" and isinstance(owner, nn.MultiheadAttention))  # which reads its weight
    )


class Lora(nn.Module):
    """A linear map that stays as it is, and a small one that learns: x W^T + b + x A^T B^T."""

    def __init__(self, inner: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.inner = inner
        self.down = nn.Parameter(torch.randn(rank, inner.in_features, dtype=inner.weight.dtype) * 0.1)  # A
        self.up = nn.Parameter(torch.zeros(inner.out_features, rank, dtype=inner.weight.dtype))  # B

    def forward(self, x: Tensor) -> Tensor:
        """[..., in] -> [..., out]."""
        return self.inner(x) + x @ self.down.T @ self.up.T  # type: ignore[no-any-return]


@pytest.mark.parametrize("case", OURS)
def test_lora_in_place_of_every_linear_map_trains_and_nothing_else_changes(case: str) -> None:
    model, given = make(case), batch()
    expected = model(*given)
    model.requires_grad_(False)
    places = [
        (parent, name)
        for parent in list(model.modules())
        for name, child in parent.named_children()
        if isinstance(child, nn.Linear)
    ]
    for parent, name in places:
        setattr(parent, name, Lora(getattr(parent, name)))
    torch.testing.assert_close(model(*given), expected)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.Adam(trained, lr=0.01)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(*given)[given.real], given.tgt[given.real])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    changed = {name for name, value in model.named_parameters() if not torch.equal(value, before[name])}
    assert changed == {name for name in before if name.endswith((".down", ".up"))}
    assert losses[-1] < losses[0]


@every_attention
@pytest.mark.filterwarnings("ignore:.*torch.ao.quantization is deprecated:DeprecationWarning")
def test_it_can_be_quantized(case: str) -> None:
    model, given = make(case, dtype=torch.float32).eval(), batch()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's own, of its quantized tensors
        small = torch.ao.quantization.quantize_dynamic(model, {nn.Linear}, dtype=torch.qint8)
        with torch.no_grad():
            found, expected = small(*given)[given.real], model(*given)[given.real]
    quantized = [m for m in small.modules() if isinstance(m, torch.ao.nn.quantized.dynamic.Linear)]
    assert len(quantized) >= 4
    assert not torch.equal(found, expected)
    assert (found - expected).abs().mean() < 0.1 * expected.abs().mean()


@every_attention
@pytest.mark.parametrize("way", ["copy", "pickle", "torch.save"])
def test_copies_give_the_same_and_share_nothing(case: str, way: str) -> None:
    model, given = make(case), batch()
    if way == "copy":
        other = copy.deepcopy(model)
    elif way == "pickle":
        other = pickle.loads(pickle.dumps(model))
    else:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        other = torch.load(file, weights_only=False)
    expected = model(*given)
    assert torch.equal(other(*given), expected)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.zero_()
    assert torch.equal(model(*given), expected)


def test_a_batch_may_be_named() -> None:
    given: Batch = batch()
    model = make("attention=eager")
    assert torch.equal(model(src=given.src, tgt=given.tgt), model(*given))
