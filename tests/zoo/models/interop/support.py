"""Parts of torch to take over, what they compute, and what the zoo makes of the same inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.core.plugins import get_registry

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
QUIET = pytest.mark.filterwarnings(  # torch on its own layers, as they are made here
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
    first = module.batch_first if hasattr(module, "batch_first") else is_batch_first(module)
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


def is_batch_first(module: Any) -> bool:
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
