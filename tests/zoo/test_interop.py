"""Weights from torch's parts and back: the same function, exactly the same weights."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import zoo
from zoo.blueprint import make_blueprint
from zoo.builder import build
from zoo.errors import ZooError
from zoo.interop import Stacks, from_torch, load_torch, to_torch
from zoo.plugins import get_registry
from zoo.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer

BATCH, SOURCE, TARGET, WIDTH, HEADS, INNER = 3, 5, 4, 8, 2, 12
EXACT = [v.name for v in get_registry().variants("attention") if v.capabilities["exact"]]
INEXACT = [v.name for v in get_registry().variants("attention") if not v.capabilities["exact"]]
SOURCE_KEEP = torch.arange(SOURCE) < torch.tensor([5, 3, 1])[:, None]  # [B, S], True = no padding
TARGET_KEEP = torch.arange(TARGET) < torch.tensor([4, 2, 1])[:, None]  # [B, L]
CAUSAL = torch.ones(TARGET, TARGET, dtype=torch.bool).tril()
SRC_MASK, TGT_MASK = SOURCE_KEEP[:, None, None], TARGET_KEEP[:, None, None] & CAUSAL  # the zoo's way round
KINDS = {
    "attention": nn.MultiheadAttention,
    "encoder-layer": nn.TransformerEncoderLayer,
    "decoder-layer": nn.TransformerDecoderLayer,
    "encoder": nn.TransformerEncoder,
    "decoder": nn.TransformerDecoder,
    "transformer": nn.Transformer,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "post": {},
    "pre": {"norm_first": True},
    "no-bias": {"bias": False},
    "pre-no-bias": {"norm_first": True, "bias": False},
    "gelu": {"activation": "gelu"},
    "gelu-module": {"activation": nn.GELU()},
    "relu-module": {"activation": nn.ReLU()},
    "gelu-function": {"activation": F.gelu},
    "eps": {"layer_norm_eps": 0.3},
    "time-first": {"batch_first": False},
    "one-head": {"nhead": 1},
}
pytestmark = pytest.mark.filterwarnings(  # torch on its own layers, as they are made here
    "ignore:enable_nested_tensor is True", "ignore:The PyTorch API of nested tensors"
)
every_kind = pytest.mark.parametrize("kind", KINDS)
every_exact = pytest.mark.parametrize("attention", EXACT)
OF_ATTENTION = ("post", "no-bias", "time-first", "one-head")
every_kind_and_option = pytest.mark.parametrize(
    ("kind", "option"),
    [(kind, o) for kind in KINDS for o in OPTIONS if kind != "attention" or o in OF_ATTENTION],
)


def make(kind: str, dtype: torch.dtype = torch.float64, norm: bool = True, **options: Any) -> Any:
    """One of torch's parts, in train mode, no weight at a value that hides anything (0 or 1)."""
    given = {"nhead": HEADS, "dropout": 0.0, "batch_first": True, **options}
    shape = {"d_model": WIDTH, "dim_feedforward": INNER}
    final = nn.LayerNorm(WIDTH, given.get("layer_norm_eps", 1e-5)) if norm else None
    if kind == "attention":
        known = {name: given[name] for name in ("dropout", "batch_first", "bias") if name in given}
        module: Any = nn.MultiheadAttention(WIDTH, given["nhead"], **known)
    elif kind == "transformer":
        module = nn.Transformer(num_encoder_layers=2, num_decoder_layers=3, **shape, **given)
    elif kind == "encoder":
        layer = nn.TransformerEncoderLayer(**shape, **given)
        module = nn.TransformerEncoder(layer, 2, final, enable_nested_tensor=False)
    elif kind == "decoder":
        module = nn.TransformerDecoder(nn.TransformerDecoderLayer(**shape, **given), 2, final)
    else:
        module = KINDS[kind](**shape, **given)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    return module.to(dtype)


def inputs(dtype: torch.dtype = torch.float64) -> tuple[Tensor, Tensor]:
    """Source [B, S, D] and target [B, L, D]."""
    return (
        torch.randn(BATCH, SOURCE, WIDTH, dtype=dtype, requires_grad=True),
        torch.randn(BATCH, TARGET, WIDTH, dtype=dtype, requires_grad=True),
    )


def theirs(kind: str, module: Any, src: Tensor, tgt: Tensor, masked: bool = True) -> Tensor:
    """What torch's part gives, called as torch wants it: True = may NOT be attended to."""
    first = module.batch_first if hasattr(module, "batch_first") else _batch_first(module)
    x, y = (src, tgt) if first else (src.transpose(0, 1), tgt.transpose(0, 1))
    source, target = ~SOURCE_KEEP, ~TARGET_KEEP
    if kind == "attention":
        more: dict[str, Any] = {"key_padding_mask": source}
        return _back(module(y, x, x, need_weights=False, **(more if masked else {}))[0], first)
    if kind.startswith("encoder"):
        return _back(module(x, **({"src_key_padding_mask": source} if masked else {})), first)
    more = {"tgt_mask": ~CAUSAL, "tgt_key_padding_mask": target, "memory_key_padding_mask": source}
    if kind == "transformer":
        more["src_key_padding_mask"] = source
        return _back(module(x, y, **(more if masked else {})), first)
    return _back(module(y, x, **(more if masked else {})), first)


def _batch_first(module: Any) -> bool:
    layer = module.layers[0] if hasattr(module, "layers") else module
    return bool(layer.self_attn.batch_first)


def _back(out: Tensor, batch_first: bool) -> Tensor:
    return out if batch_first else out.transpose(0, 1)


def ours(kind: str, part: Any, src: Tensor, tgt: Tensor, masked: bool = True) -> Tensor:
    """What the zoo's part gives."""
    src_mask, tgt_mask = (SRC_MASK, TGT_MASK) if masked else (None, None)
    if kind == "attention":
        return part(tgt, src, src, src_mask)  # type: ignore[no-any-return]
    if kind.startswith("encoder"):
        return part(src, src_mask)  # type: ignore[no-any-return]
    if kind == "transformer":
        return part(src, tgt, src_mask, tgt_mask)  # type: ignore[no-any-return]
    return part(tgt, src, src_mask, tgt_mask)  # type: ignore[no-any-return]


def real(kind: str, out: Tensor) -> Tensor:
    """The output where there is no padding."""
    if kind == "attention":
        return out
    return out[SOURCE_KEEP if kind.startswith("encoder") else TARGET_KEEP]


def same(got: Mapping[str, Tensor], expected: Mapping[str, Tensor]) -> None:
    assert list(got) == list(expected) or got.keys() == expected.keys()
    for name, value in expected.items():
        assert got[name].dtype == value.dtype
        assert torch.equal(got[name], value), name


@every_kind
@every_exact
def test_outputs_and_gradients_are_torchs_whatever_the_attention(kind: str, attention: str) -> None:
    for options, masked in itertools.product(({}, {"norm_first": True}), (True, False)):
        module = make(kind, **({} if kind == "attention" else options))
        part, (src, tgt) = from_torch(module, attention), inputs()
        results = []
        for run, one in ((theirs, module), (ours, part)):  # train mode without dropout: no shortcuts
            out = real(kind, run(kind, one, src, tgt, masked))
            generator = torch.Generator().manual_seed(1)
            cotangent = torch.randn(out.shape, generator=generator, dtype=out.dtype)
            inner = [src, tgt] if kind not in ("encoder", "encoder-layer") else [src]
            results.append([out, *torch.autograd.grad((out * cotangent).sum(), inner)])
        torch.testing.assert_close(results[1], results[0], rtol=1e-9, atol=1e-10)


@every_kind_and_option
def test_outputs_are_torchs_in_eval_mode_in_float32(kind: str, option: str) -> None:
    """As torch is used: with its shortcuts, with and without gradients."""
    options = dict(OPTIONS[option])
    module = make(kind, torch.float32, **options).eval()
    part, (src, tgt) = from_torch(module), inputs(torch.float32)
    assert not part.training
    for masked in (True, False):
        for grad in (True, False):
            with torch.set_grad_enabled(grad):
                got, expected = ours(kind, part, src, tgt, masked), theirs(kind, module, src, tgt, masked)
            cut = (lambda out: real(kind, out)) if masked else (lambda out: out)
            torch.testing.assert_close(cut(got), cut(expected), rtol=1e-5, atol=1e-5)


@every_kind_and_option
def test_the_way_to_the_zoo_and_back_keeps_everything(kind: str, option: str) -> None:
    module = make(kind, torch.float32, dropout=0.25, **OPTIONS[option])
    part = from_torch(module, "eager")
    back = to_torch(part)
    assert type(back) is type(module)
    same(back.state_dict(), module.state_dict())
    src, tgt = inputs(torch.float32)
    outputs = [real(kind, theirs(kind, one.eval(), src, tgt)) for one in (back, module)]
    torch.testing.assert_close(*outputs, rtol=1e-5, atol=1e-5)
    same(from_torch(back, "eager").state_dict(), part.state_dict())
    assert _batch_first(back) if hasattr(back, "layers") else True
    dropouts, norms, attentions = (
        [[one for one in whole.modules() if type(one) is kind] for whole in (back, module)]
        for kind in (nn.Dropout, nn.LayerNorm, nn.MultiheadAttention)
    )
    assert {one.p for whole in dropouts for one in whole} <= {0.25}
    assert {one.dropout for whole in attentions for one in whole} == {0.25}
    assert [one.eps for one in norms[0]] == [one.eps for one in norms[1]]


@every_kind
@every_exact
def test_every_exact_attention_goes_back(kind: str, attention: str) -> None:
    module = make(kind, torch.float32, dropout=0.25, nhead=4)
    part = from_torch(module, attention)
    back = to_torch(part)
    same(back.state_dict(), module.state_dict())
    same(from_torch(back, attention).state_dict(), part.state_dict())
    attentions = [one for one in back.modules() if isinstance(one, nn.MultiheadAttention)]
    assert {(one.num_heads, one.dropout) for one in attentions} == {(4, 0.25)}


@every_kind
@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_dtype_device_and_mode_are_kept_and_nothing_is_shared(
    kind: str, dtype: torch.dtype, device: torch.device
) -> None:
    module = make(kind, dtype).to(device)
    for training in (True, False):
        part = from_torch(module.train(training))
        back = to_torch(part)
        assert part.training == back.training == training
        for one in (*part.parameters(), *back.parameters()):
            assert (one.dtype, one.device.type) == (dtype, device.type)
            assert one.requires_grad
    storages = [{p.untyped_storage().data_ptr() for p in one.parameters()} for one in (module, part, back)]
    assert len(set.union(*storages)) == sum(map(len, storages))


def test_the_global_generator_is_left_alone() -> None:
    module = make("transformer")
    before = torch.random.get_rng_state()
    to_torch(from_torch(module))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize("kind", ["encoder", "decoder"])
@pytest.mark.parametrize("norm_first", [True, False])
def test_a_stack_without_a_final_norm_keeps_none(kind: str, norm_first: bool) -> None:
    module = make(kind, norm=False, norm_first=norm_first)
    part, (src, tgt) = from_torch(module), inputs()
    assert type(part.final_norm) is nn.Identity
    torch.testing.assert_close(
        real(kind, ours(kind, part, src, tgt)), real(kind, theirs(kind, module, src, tgt))
    )
    assert to_torch(part).norm is None
    same(to_torch(part).state_dict(), module.state_dict())


def test_what_comes_out_are_the_zoos_own_classes() -> None:
    classes = {"encoder-layer": EncoderLayer, "decoder-layer": DecoderLayer, "encoder": Encoder}
    classes |= {"decoder": Decoder, "transformer": Stacks}
    for kind, expected in classes.items():
        assert type(from_torch(make(kind, norm_first=True))) is expected
    for attention in EXACT:
        assert (
            type(from_torch(make("attention"), attention))
            is get_registry().get("attention", attention).load()
        )


def test_layers_that_differ_stay_different() -> None:
    module = make("decoder")
    module.layers[1] = nn.TransformerDecoderLayer(
        WIDTH, 4, 20, 0.0, "gelu", norm_first=True, batch_first=True, dtype=torch.float64
    )
    module.layers[1].norm2.eps = 0.2
    module.layers[1].dropout.p = 0.125
    module.layers[0].multihead_attn.dropout = 0.5
    part, (src, tgt) = from_torch(module).eval(), inputs()
    torch.testing.assert_close(ours("decoder", part, src, tgt), theirs("decoder", module.eval(), src, tgt))
    back = to_torch(part)
    assert [layer.self_attn.num_heads for layer in back.layers] == [HEADS, 4]
    assert back.layers[1].norm2.eps == 0.2
    assert back.layers[1].norm1.eps == 1e-5
    assert back.layers[1].dropout.p == 0.125
    assert (back.layers[0].self_attn.dropout, back.layers[0].multihead_attn.dropout) == (0.0, 0.5)
    assert back.num_layers == 2


def test_norms_without_gain_or_bias_are_kept() -> None:
    module = make("encoder-layer")
    module.norm1 = nn.LayerNorm(WIDTH, elementwise_affine=False)
    module.norm2 = nn.LayerNorm(WIDTH, bias=False, dtype=torch.float64)
    part, (src, tgt) = from_torch(module), inputs()
    torch.testing.assert_close(
        ours("encoder-layer", part, src, tgt), theirs("encoder-layer", module, src, tgt)
    )
    same(to_torch(part).state_dict(), module.state_dict())


def test_dropout_falls_where_torch_has_it() -> None:
    """With one dropout at a time at 1: what is left is the same in both."""
    src, tgt = inputs()
    for place in ("attention", "feed-forward", "residual"):
        module = make("encoder-layer")
        module.self_attn.dropout = float(place == "attention")
        module.dropout.p = float(place == "feed-forward")
        module.dropout1.p = module.dropout2.p = float(place == "residual")
        part = from_torch(module)
        got, expected = ours("encoder-layer", part, src, tgt), theirs("encoder-layer", module, src, tgt)
        torch.testing.assert_close(got, expected)


# What is refused, with a sentence.


def refused(module: nn.Module, *parts: str, attention: str = "fused") -> None:
    with pytest.raises(ZooError) as caught:
        from_torch(module, attention)
    for part in parts:
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"kdim": 4}, "another width"),
        ({"vdim": 4}, "another width"),
        ({"add_bias_kv": True}, "add_bias_kv"),
        ({"add_zero_attn": True}, "add_zero_attn"),
    ],
)
def test_an_attention_with_extras_is_refused(options: dict[str, Any], said: str) -> None:
    refused(nn.MultiheadAttention(WIDTH, HEADS, **options), said, "the zoo's attentions have no such thing")
    layer = make("encoder-layer")
    layer.self_attn = nn.MultiheadAttention(WIDTH, HEADS, **options)
    refused(layer, said)


def test_a_width_given_and_the_same_is_no_extra() -> None:
    from_torch(nn.MultiheadAttention(WIDTH, HEADS, kdim=WIDTH, vdim=WIDTH))


@pytest.mark.parametrize(
    ("activation", "said"),
    [
        (F.silu, "silu"),
        (nn.Tanh(), "Tanh()"),
        (nn.GELU(approximate="tanh"), "tanh"),
        (lambda x: x, "<lambda>"),
    ],
)
def test_another_activation_is_refused(activation: Any, said: str) -> None:
    layer = nn.TransformerEncoderLayer(WIDTH, HEADS, INNER, activation=activation)
    refused(layer, said, "cannot be taken over: expected relu or (exact) gelu")


def test_what_is_not_torchs_own_class_is_refused() -> None:
    class Mine(nn.TransformerEncoderLayer):
        pass

    refused(nn.Linear(3, 3), "Linear has no counterpart", "nn.MultiheadAttention", "nn.Transformer")
    refused(Mine(WIDTH, HEADS, INNER), "Mine has no counterpart")
    stack = make("encoder")
    stack.layers[1] = Mine(WIDTH, HEADS, INNER)
    refused(stack, "Expected nn.TransformerEncoderLayer in this nn.TransformerEncoder, got Mine")
    with_custom = nn.Transformer(WIDTH, HEADS, 1, 1, INNER, custom_encoder=nn.Identity())
    refused(with_custom, "Expected nn.TransformerEncoder in this nn.Transformer, got Identity")


def test_other_norms_are_refused() -> None:
    layer = make("encoder-layer")
    layer.norm1 = nn.RMSNorm(WIDTH)
    refused(layer, "Expected nn.LayerNorm", "RMSNorm")
    stack = make("encoder")
    stack.norm = nn.Identity()
    refused(stack, "Expected nn.LayerNorm", "Identity")


def test_different_dropouts_on_the_stream_are_refused() -> None:
    layer = make("decoder-layer")
    layer.dropout3.p = 0.5
    refused(layer, "different dropouts (0.0, 0.5)", "Make them equal")


def test_weights_of_several_kinds_are_refused() -> None:
    layer = make("encoder-layer")
    layer.linear1.half()
    refused(layer, "several kinds (torch.float16 on cpu, torch.float64 on cpu)")


def test_parametrised_weights_are_refused() -> None:
    layer = make("encoder-layer")
    nn.utils.parametrizations.weight_norm(layer.linear1)
    refused(layer, "not those of such a part", "parametrised")


@pytest.mark.parametrize("attention", INEXACT)
def test_an_attention_that_is_not_exact_is_refused_both_ways(attention: str) -> None:
    refused(make("attention"), f"attention={attention} does not compute", "eager", attention=attention)
    part = get_registry().get("attention", attention).load()(WIDTH, HEADS)
    with pytest.raises(ZooError, match=f"no counterpart to {type(part).__name__} as the attention"):
        to_torch(part)


def test_an_unknown_attention_is_refused_with_the_nearest() -> None:
    refused(make("attention"), "There is no attention 'eagre'", "eager", attention="eagre")


@pytest.mark.parametrize("axis", ["feedforward", "norm", "norm-type"])
def test_what_torch_has_not_is_refused_on_the_way_back(axis: str) -> None:
    known = {
        "feedforward": ("relu", "gelu"),
        "norm": ("pre", "post"),
        "norm-type": ("torch-layernorm", "layernorm"),
    }
    for variant in get_registry().variants(axis):
        choices = {axis.replace("-", "_"): variant.name}
        model = build(make_blueprint(d_model=8, num_heads=2, d_ff=12, **choices, num_encoder_layers=1))
        if variant.name in known[axis]:
            assert isinstance(to_torch(model), nn.Transformer)
        else:
            with pytest.raises(ZooError, match="have no counterpart to "):
                to_torch(model)


# Whole models.


def sizes(**given: Any) -> dict[str, Any]:
    return {
        "d_model": WIDTH,
        "num_heads": HEADS,
        "d_ff": INNER,
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "src_vocab": 11,
        "tgt_vocab": 11,
        "max_len": 16,
        "dropout": 0.0,
        **given,
    }


SRC = torch.tensor([[3, 4, 5, 6, 7], [8, 9, 10, 0, 0], [3, 0, 0, 0, 0]])
TGT = torch.tensor([[1, 5, 6, 7], [1, 8, 0, 0], [1, 0, 0, 0]])


def through_torch(model: Any, module: nn.Transformer) -> Tensor:
    """The logits of a model with torch's stacks in place of its own, where the target is no padding."""
    x = model.src_positions(model.embeddings.src(SRC))
    y = model.tgt_positions(model.embeddings.tgt(TGT))
    return model.head(theirs("transformer", module, x, y))[TARGET_KEEP]  # type: ignore[no-any-return]


@every_exact
@pytest.mark.parametrize("feedforward", ["relu", "gelu"])
@pytest.mark.parametrize(("norm", "norm_type"), [("pre", "torch-layernorm"), ("post", "layernorm")])
def test_a_model_loads_an_nn_transformer_and_gives_it_back(
    attention: str, feedforward: str, norm: str, norm_type: str
) -> None:
    choices = {"attention": attention, "feedforward": feedforward, "norm": norm, "norm_type": norm_type}
    model = build(make_blueprint(**choices, **sizes()), seed=0).double()
    module = make("transformer", norm_first=norm == "pre", activation=feedforward)
    if norm == "post":
        module.encoder.norm = module.decoder.norm = None
    head = model.head.weight.clone()
    load_torch(model, module)
    assert torch.equal(model.head.weight, head)
    torch.testing.assert_close(model(SRC, TGT)[TARGET_KEEP], through_torch(model, module))
    same(to_torch(model).state_dict(), module.state_dict())
    torch.testing.assert_close(model(SRC, TGT)[TARGET_KEEP], through_torch(model, to_torch(model)))


def test_missing_biases_and_gains_are_filled_in_and_surplus_ones_refused() -> None:
    model = build(make_blueprint(**sizes()), seed=0).double()
    module = make("transformer", norm_first=True, bias=False)
    for layer in module.encoder.layers:
        layer.norm1 = nn.LayerNorm(WIDTH, elementwise_affine=False)
    load_torch(model, module)
    torch.testing.assert_close(model(SRC, TGT)[TARGET_KEEP], through_torch(model, module))
    without = build(make_blueprint(attention="eager:bias=false", **sizes()), seed=0).double()
    before = {name: value.clone() for name, value in without.state_dict().items()}
    with pytest.raises(ZooError, match=re.escape("which has no encoder.layers.0.self_attention.q_proj.bias")):
        load_torch(without, make("transformer", norm_first=True))
    same(without.state_dict(), before)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_torchs_counterpart_is_made_without_a_warning(norm: str) -> None:
    model = build(make_blueprint(norm=norm, **sizes()), seed=0).eval()
    with torch.no_grad():
        to_torch(model)(torch.zeros(2, 3, WIDTH), torch.zeros(2, 3, WIDTH))


def test_dtype_and_mode_of_the_model_stay() -> None:
    model = build(make_blueprint(**sizes()), seed=0).eval()
    load_torch(model, make("transformer", norm_first=True))
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert not any(one.training for one in model.modules())
    assert not any(one.training for one in to_torch(model).modules())


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        ({"d_model": 16}, {}, "encoder, d_model: expected 16, got 8"),
        ({"num_heads": 4}, {}, "decoder, num_heads: expected 4, got 2"),
        ({"d_ff": 16}, {}, "encoder, d_ff: expected 16, got 12"),
        ({"num_decoder_layers": 4}, {}, "decoder, layers: expected 4, got 3"),
        ({"feedforward": "gelu"}, {}, "decoder, activation: expected gelu, got relu"),
        ({"norm": "post"}, {}, "encoder, norm: expected post, got pre"),
        ({"norm_type": "torch-layernorm:eps=0.01"}, {}, "encoder, eps: expected 0.01, got 1e-05"),
        ({}, {"norm_first": False}, "decoder, norm: expected pre, got post"),
        ({"norm": "post"}, {"norm_first": False}, "a post-norm model has none"),
        ({"norm": "post"}, {"norm_first": False}, "decoder, final norm: expected none, got one"),
    ],
)
def test_a_model_that_is_another_function_is_refused(
    given: dict[str, Any], options: dict[str, Any], said: str
) -> None:
    model = build(make_blueprint(**sizes(**given)), seed=0)
    with pytest.raises(ZooError, match="does not fit the model") as caught:
        load_torch(model, make("transformer", **{"norm_first": True, **options}))
    assert said in str(caught.value)


def test_other_things_than_an_nn_transformer_are_not_loaded_into_a_model() -> None:
    model = build(make_blueprint(**sizes()), seed=0)
    with pytest.raises(ZooError, match=r"Expected an nn\.Transformer .* got nn\.TransformerEncoder\."):
        load_torch(model, make("encoder"))


INSIDE = [v.name for v in get_registry().variants("encoding") if v.capabilities["acts_on"] != "embedding"]


@pytest.mark.parametrize("encoding", INSIDE)
def test_an_encoding_inside_the_attention_is_refused(encoding: str) -> None:
    model = build(make_blueprint(encoding=encoding, **sizes()), seed=0)
    for convert in (lambda: to_torch(model), lambda: load_torch(model, make("transformer"))):
        with pytest.raises(ZooError, match="acts inside the attention"):
            convert()


def test_the_example_of_the_readme_runs() -> None:
    text = (Path(zoo.__file__).parent / "README.md").read_text(encoding="utf-8")
    section = text.split("## From torch and back\n")[1].split("\n## ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    exec(code, {})
