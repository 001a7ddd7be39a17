"""What each part costs: what is counted, and that the file has every part."""

from __future__ import annotations

from tests.bench.parts import BATCH, LENGTH, SIZES, blueprints, kept_bytes, read
from zoo.core.plugins import get_registry
from zoo.models.builder import build


def test_what_is_kept_grows_with_the_weights_of_the_attention_that_stores_them() -> None:
    models = {name: build(one, seed=0) for name, one in blueprints("attention").items()}
    weights = 4 * BATCH * SIZES["num_heads"] * LENGTH * LENGTH  # bytes of [B, H, T, T]
    assert kept_bytes(models["eager"]) - kept_bytes(models["fused"]) > weights
    assert kept_bytes(models["mqa"]) < kept_bytes(models["fused"])


def test_the_file_has_parts_that_there_are() -> None:
    rows = read()
    assert len({(one["axis"], one["variant"]) for one in rows}) == len(rows) > 40
    for one in rows:
        assert get_registry().get(one["axis"], one["variant"])
        assert float(one["microseconds"]) > 0
        assert int(one["bytes"]) > 0
