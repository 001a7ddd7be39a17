"""Weights from torch's parts and back: the same function, exactly the same weights."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import nn

from tests.zoo.models.interop.support import (
    EXACT,
    HEADS,
    OPTIONS,
    QUIET,
    WIDTH,
    every_exact,
    every_kind,
    every_kind_and_option,
    inputs,
    is_batch_first,
    make,
    ours,
    real,
    same,
    theirs,
)
from zoo.core.plugins import get_registry
from zoo.models.interop import Stacks, from_torch, to_torch
from zoo.models.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer

pytestmark = QUIET


@every_kind
@every_exact
@pytest.mark.sampled(4)
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
    assert is_batch_first(back) if hasattr(back, "layers") else True
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
