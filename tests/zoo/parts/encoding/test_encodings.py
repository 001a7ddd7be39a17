"""Positional encodings, each where it acts: at the embedding, on queries and keys, or on the scores."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from tests.on_meta import OnMetaOnly
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.parts.attention.eager import EagerAttention

D_MODEL, HEADS, MAX_LEN = 8, 2, 10
ENCODINGS = get_registry().variants("encoding")
every_encoding = pytest.mark.parametrize("variant", ENCODINGS, ids=lambda v: v.name)
every_inner = pytest.mark.parametrize(
    "variant", [v for v in ENCODINGS if v.capabilities["acts_on"] != "embedding"], ids=lambda v: v.name
)
every_outer = pytest.mark.parametrize(
    "variant", [v for v in ENCODINGS if v.capabilities["acts_on"] == "embedding"], ids=lambda v: v.name
)


def make(
    variant: Variant, d_model: int = D_MODEL, max_len: int = MAX_LEN, causal: bool = False, **options: Any
) -> Any:
    """An encoding of the registry; learned numbers are large enough to see. float64."""
    known = {"num_heads": HEADS, "head_dim": d_model // HEADS, "causal": causal}
    needs = {name: known[name] for name in variant.capabilities["needs"]}
    encoding = variant.load()(d_model, max_len, **needs, **options).double()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in encoding.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype))
    return encoding


def attended(encoding: Any, x: Tensor) -> Tensor:
    """x through the encoding and a self-attention in which it acts."""
    torch.manual_seed(1)
    attention = EagerAttention(D_MODEL, HEADS).double()
    embedded = encoding(x)
    positions = encoding.positions(x.size(1), x.size(1), x)
    return attention(embedded, embedded, embedded, positions=positions)


@every_encoding
def test_it_tells_positions_apart_as_declared(variant: Variant) -> None:
    """Two equal tokens among others, at places with other neighbours."""
    x = torch.randn(1, 1, D_MODEL, dtype=torch.float64).repeat(1, 6, 1)
    x[:, 2] += 1.0
    out = attended(make(variant), x)[0].detach()
    same = [0, 1, 3, 4, 5]
    apart = min(float((out[i] - out[j]).abs().max()) for i in same for j in same if i < j)
    assert (apart > 1e-6) == variant.capabilities["positional"]


@every_encoding
def test_it_takes_max_len_and_no_more(variant: Variant) -> None:
    encoding = make(variant)
    assert attended(encoding, torch.zeros(1, MAX_LEN, D_MODEL, dtype=torch.float64)).shape[1] == MAX_LEN
    assert encoding(torch.zeros(0, 1, D_MODEL)).shape == (0, 1, D_MODEL)
    if variant.capabilities["positional"]:
        message = "has 11 positions, but the encoding was made for max_len=10"
        with pytest.raises(ValueError, match=message):
            encoding(torch.zeros(1, 11, D_MODEL))
        with pytest.raises(ValueError, match=message):
            encoding(torch.zeros(1, 1, D_MODEL), start=10)
        for queries in (1, 11):
            if variant.capabilities["acts_on"] != "embedding":
                with pytest.raises(ValueError, match=message):
                    encoding.positions(queries, 11, torch.zeros(1))


@every_encoding
def test_items_of_a_batch_and_lengths_do_not_matter(variant: Variant) -> None:
    encoding, x = make(variant), torch.randn(3, 6, D_MODEL, dtype=torch.float64)
    torch.testing.assert_close(attended(encoding, x)[1:2], attended(encoding, x[1:2]))


@every_encoding
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("start", [1, 5, 6])
def test_later_positions_by_themselves_are_those_of_the_whole(
    variant: Variant, start: int, causal: bool
) -> None:
    """What cached decoding relies on."""
    if not variant.capabilities["cacheable"]:
        pytest.skip("declares that it places no token without the others")
    encoding = make(variant, causal=causal)
    x = torch.randn(2, 7, D_MODEL, dtype=torch.float64)
    torch.testing.assert_close(encoding(x[:, start:], start=start), encoding(x)[:, start:])
    whole, last = encoding.positions(7, 7, x), encoding.positions(7 - start, 7, x)
    if whole is None:
        assert last is None
        return
    q, k = torch.randn(2, 2, HEADS, 7, 4, dtype=torch.float64).unbind()
    tails = last.rotate(q[:, :, start:], k[:, :, start:])
    for all_, tail in zip(whole.rotate(q, k), tails, strict=True):
        torch.testing.assert_close(tail, all_[:, :, start:])
    if whole.bias(q) is not None:
        torch.testing.assert_close(last.bias(q[:, :, start:]), whole.bias(q)[..., start:, :])


@every_inner
@pytest.mark.parametrize("causal", [False, True])
def test_inside_the_attention_only_distances_count(variant: Variant, causal: bool) -> None:
    encoding, x = make(variant, causal=causal), torch.randn(1, 4, D_MODEL, dtype=torch.float64)
    assert torch.equal(encoding(x), x)
    q, k = torch.randn(2, 1, HEADS, 1, 4, dtype=torch.float64).unbind()
    q, k = q.expand(-1, -1, MAX_LEN, -1), k.expand(-1, -1, MAX_LEN, -1)  # the same content everywhere
    positions = encoding.positions(MAX_LEN, MAX_LEN, x)
    turned_q, turned_k = positions.rotate(q, k)
    scores = turned_q @ turned_k.transpose(-2, -1)
    if positions.bias(q) is not None:
        scores = scores + positions.bias(q)
    # along every diagonal, up to what tables of sines in float32 round
    torch.testing.assert_close(scores[..., 1:, 1:], scores[..., :-1, :-1], rtol=0, atol=1e-6)


@every_outer
def test_at_the_embedding_a_vector_is_added(variant: Variant) -> None:
    encoding, x = make(variant), torch.randn(3, 4, D_MODEL, dtype=torch.float64)
    added = encoding(x) - x
    torch.testing.assert_close(added, added[:1].expand_as(added))
    assert encoding.positions(4, 4, x) is None


@every_encoding
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_dtypes_stay(variant: Variant, dtype: torch.dtype, device: torch.device) -> None:
    encoding = make(variant).to(device, dtype)
    x = torch.randn(2, 4, D_MODEL, device=device, dtype=dtype)
    assert encoding(x).dtype == dtype
    positions = encoding.positions(4, 4, x)
    if positions is not None:
        q = torch.randn(2, HEADS, 4, 4, device=device, dtype=dtype)
        assert {one.dtype for one in positions.rotate(q, q)} == {dtype}
        bias = positions.bias(q)
        assert bias is None or (bias.dtype, bias.device.type) == (dtype, device.type)


@every_inner
def test_queries_and_keys_keep_their_dtype_under_autocast(variant: Variant) -> None:
    """There the stream is float32, and what is projected from it bfloat16."""
    positions = make(variant).float().positions(4, 4, torch.randn(2, 4, D_MODEL))
    q = torch.randn(2, HEADS, 4, 4, dtype=torch.bfloat16)
    assert {one.dtype for one in positions.rotate(q, q)} == {torch.bfloat16}
    assert positions.bias(q) is None or positions.bias(q).dtype == torch.bfloat16


@every_encoding
def test_all_of_it_moves_to_another_device(variant: Variant) -> None:
    """To one that needs no hardware."""
    encoding, x = make(variant).to("meta"), torch.zeros(2, 4, D_MODEL, device="meta", dtype=torch.float64)
    q = torch.zeros(2, HEADS, 4, 4, device="meta", dtype=torch.float64)
    with OnMetaOnly():
        assert encoding(x, start=2).is_meta
        positions = encoding.positions(4, 6, x)
        if positions is not None:
            positions.rotate(q, q)
            positions.bias(q)


@every_encoding
def test_what_is_learned_is_learned(variant: Variant) -> None:
    encoding = make(variant)
    attended(encoding, torch.randn(2, 6, D_MODEL, dtype=torch.float64)).square().sum().backward()
    for name, parameter in encoding.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.any(), name
