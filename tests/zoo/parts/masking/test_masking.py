"""Masking policies: each written out, and the last queries alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.parts.masking.base import causal_keep, padding_keep

PAD = 3
every_masking = pytest.mark.parametrize("variant", get_registry().variants("masking"), ids=lambda v: v.name)
TGT: dict[str, Callable[[list[int], int, int], bool]] = {
    "full": lambda row, q, k: row[k] != PAD and k <= q,
    "causal-only": lambda row, q, k: k <= q,
    "blank-rows": lambda row, q, k: row[q] != PAD and k <= q,
}
SRC: dict[str, Callable[[list[int], int], bool]] = {
    "full": lambda row, k: row[k] != PAD,
    "causal-only": lambda row, k: True,
    "blank-rows": lambda row, k: row[k] != PAD,
}
rows = st.integers(1, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=1, max_size=3)
)


def whole(keep: Tensor | None, batch: int, queries: int, keys: int) -> Tensor:
    shape = (batch, 1, queries, keys)
    return torch.ones(shape, dtype=torch.bool) if keep is None else keep.expand(shape)


@every_masking
@given(tokens=rows)
def test_it_is_what_it_says_wherever_padding_stands(variant: Variant, tokens: list[list[int]]) -> None:
    masking, batch, length = variant.load()(PAD), len(tokens), len(tokens[0])
    got = whole(masking.tgt(torch.tensor(tokens), length), batch, length, length)
    may = TGT[variant.name]
    expected = [[[[may(row, q, k) for k in range(length)] for q in range(length)]] for row in tokens]
    assert got.tolist() == expected
    src = whole(masking.src(torch.tensor(tokens)), batch, 1, length)
    assert src.tolist() == [[[[SRC[variant.name](row, k) for k in range(length)]]] for row in tokens]


@every_masking
@given(tokens=rows, data=st.data())
def test_the_last_queries_alone_are_the_last_rows(
    variant: Variant, tokens: list[list[int]], data: st.DataObject
) -> None:
    masking, batch, length = variant.load()(PAD), len(tokens), len(tokens[0])
    last = data.draw(st.integers(1, length))
    all_ = whole(masking.tgt(torch.tensor(tokens), length), batch, length, length)
    assert torch.equal(
        whole(masking.tgt(torch.tensor(tokens), last), batch, last, length), all_[:, :, -last:]
    )


@every_masking
@given(tokens=rows)
def test_nothing_attends_to_what_is_not_real(variant: Variant, tokens: list[list[int]]) -> None:
    """Positions that may be left out: no other position sees them."""
    masking, given_ = variant.load()(PAD), torch.tensor(tokens)
    real = masking.real(given_)
    if real is not None:
        hidden = ~real[:, None, None]
        assert not (whole(masking.src(given_), *hidden.shape[:1], 1, hidden.size(-1)) & hidden).any()
        length = given_.size(1)
        assert not (whole(masking.tgt(given_, length), len(tokens), length, length) & hidden).any()


@every_masking
def test_masks_are_made_where_the_tokens_are(variant: Variant) -> None:
    """The meta device has no numbers, and takes none from the CPU."""
    tokens, masking = torch.zeros(2, 5, dtype=torch.long, device="meta"), variant.load()(PAD)
    for made in (masking.src(tokens), masking.tgt(tokens, 5), masking.tgt(tokens, 2), masking.real(tokens)):
        assert made is None or (made.is_meta and made.dtype == torch.bool)


@every_masking
def test_it_declares_whether_it_can_hide_everything_from_a_position(variant: Variant) -> None:
    tokens = torch.tensor([[5, 5, PAD, PAD]])
    rows_seen = whole(variant.load()(PAD).tgt(tokens, 4), 1, 4, 4).any(-1)
    assert bool((~rows_seen).any()) == variant.capabilities["blank_rows"]


def test_the_causal_mask_is_aligned_at_the_lower_right() -> None:
    assert causal_keep(2, 4)[0, 0].tolist() == [[True, True, True, False], [True] * 4]
    assert causal_keep(3, 3)[0, 0].tolist() == torch.ones(3, 3).tril().bool().tolist()
    assert causal_keep(1, 1).shape == (1, 1, 1, 1)


def test_the_padding_mask_is_over_keys() -> None:
    keep = padding_keep(torch.tensor([[1, 3], [3, 3]]), PAD)
    assert keep.shape == (2, 1, 1, 2)
    assert keep[:, 0, 0].tolist() == [[True, False], [False, False]]
