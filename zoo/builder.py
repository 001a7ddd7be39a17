"""Blueprint -> Transformer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import nn

from zoo.blueprint import Blueprint
from zoo.errors import CombinationError
from zoo.external import construct_external
from zoo.init import xavier
from zoo.masks.adapter import MaskAdapter
from zoo.plugins import get_registry
from zoo.registry import Registry, Variant
from zoo.rules import check, chosen_variants, mask_form_taken
from zoo.transformer import Decoder, DecoderLayer, Encoder, EncoderLayer, Transformer

Factory = Callable[..., Any]


def build(
    blueprint: Blueprint,
    *,
    seed: int | None = None,
    parts: Mapping[str, Factory] | None = None,
    registry: Registry | None = None,
) -> Transformer:
    """The model that a blueprint describes, in train mode, float32, on the CPU.

    Args:
        blueprint: choices and sizes.
        seed: of the initial weights; without it they come from torch's global generator. The same seed
            gives the same weights whichever exact attention is chosen.
        parts: factories that stand in for the chosen variants, by axis; called with the arguments that
            the axis hands to every variant.
        registry: where names are looked up; the process's own by default.

    Raises:
        CombinationError: a rule of combination is broken; the text names it and says what would work.
        ZooError: a part from a file is missing, broken or not written yet.
    """
    registry = registry or get_registry()
    check(blueprint, registry)
    variants = chosen_variants(blueprint, registry)
    make: dict[str, Factory] = {
        axis: _factory(variant, blueprint[axis].options) for axis, variant in variants.items()
    } | dict(parts or {})
    seed = int(torch.randint(2**62, ())) if seed is None else seed
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = _assemble(blueprint, variants, make, mask_form_taken(blueprint, variants, registry), registry)
        torch.manual_seed(seed)
        xavier(model)
    return model


def _factory(variant: Variant, options: Mapping[str, Any]) -> Factory:
    if variant.is_file:
        return partial(construct_external, variant.load(), variant.axis, variant.path)
    cls = variant.load()

    def make(*args: Any) -> Any:
        try:
            return cls(*args, **options)
        except ValueError as error:
            raise CombinationError(f"{variant.axis}={variant.name}: {error}") from error

    return make


def _assemble(
    blueprint: Blueprint,
    variants: Mapping[str, Variant],
    make: Mapping[str, Factory],
    taken: str,
    registry: Registry,
) -> Transformer:
    sizes = blueprint.sizes
    travelling = make["mask"]()
    adapter = MaskAdapter(travelling, registry.get("mask", taken).load()())
    make_norm = partial(nn.LayerNorm, sizes.d_model)
    final_norm: Factory = make_norm if variants["norm"].capabilities["final_norm"] else nn.Identity

    def attention() -> nn.Module:
        return make["attention"](sizes.d_model, sizes.num_heads, sizes.dropout)  # type: ignore[no-any-return]

    def feed_forward() -> nn.Module:
        return make["feedforward"](sizes.d_model, sizes.d_ff, sizes.dropout)  # type: ignore[no-any-return]

    def norm(num_sublayers: int) -> nn.Module:
        return make["norm"](make_norm, num_sublayers, sizes.dropout)  # type: ignore[no-any-return]

    def positions() -> nn.Module:
        return make["encoding"](sizes.d_model, sizes.max_len)  # type: ignore[no-any-return]

    embeddings = make["embedding"](sizes.src_vocab, sizes.tgt_vocab, sizes.d_model)
    src_positions, tgt_positions = positions(), positions()
    encoder = [EncoderLayer(attention(), feed_forward(), norm(2)) for _ in range(sizes.num_encoder_layers)]
    decoder = [
        DecoderLayer(attention(), attention(), feed_forward(), norm(3))
        for _ in range(sizes.num_decoder_layers)
    ]
    return Transformer(
        Encoder(encoder, final_norm(), adapter),
        Decoder(decoder, final_norm(), adapter),
        embeddings,
        src_positions,
        tgt_positions,
        nn.Linear(sizes.d_model, sizes.tgt_vocab),
        travelling,
        sizes.dropout,
        sizes.pad,
    )


def parameters_by_block(model: Transformer) -> dict[str, int]:
    """Trained numbers by block of the model, in the order in which data goes through; shared ones count once."""
    blocks: dict[str, list[nn.Module]] = {
        "embeddings": [model.embeddings],
        "positions": [model.src_positions, model.tgt_positions],
        **{f"encoder layer {i}": [layer] for i, layer in enumerate(model.encoder.layers, 1)},
        "encoder final norm": [model.encoder.final_norm],
        **{f"decoder layer {i}": [layer] for i, layer in enumerate(model.decoder.layers, 1)},
        "decoder final norm": [model.decoder.final_norm],
        "head": [model.head],
    }
    seen: set[int] = set()
    counts: dict[str, int] = {}
    for name, modules in blocks.items():
        parameters = {id(p): p for module in modules for p in module.parameters() if id(p) not in seen}
        seen |= parameters.keys()
        counts[name] = sum(p.numel() for p in parameters.values())
    return {name: count for name, count in counts.items() if count}
