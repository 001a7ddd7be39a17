"""What the plugin adds to the zoo: metadata only, nothing here imports torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zoo.core.blueprint import Preset
from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

if TYPE_CHECKING:
    import click

SIGMOID = Variant(
    "attention",
    "sigmoid",
    "zoo_example.sigmoid:SigmoidAttention",
    "a sigmoid in place of the softmax: keys do not compete",
    formula="sigmoid(Q K^T / sqrt(d) - log n) V, n the number of keys that a query may attend to",
    paper="Ramapuram et al. 2024, arXiv:2409.04431",
    options=(Option("bias", bool, True, "whether the four projections have a bias"),),
    capabilities={
        "returns_weights": True,
        "positions": ("queries-keys", "scores"),
        "cacheable": True,
        "packs": True,
    },
)

SMALL_SIGMOID = Preset(
    "small-sigmoid",
    "the preset `reverse` with sigmoid attention, which takes some three times as many steps",
    choices={"attention": "sigmoid", "embedding": "unscaled:std=0.1"},
    sizes={
        "d_model": 64,
        "num_heads": 4,
        "d_ff": 256,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "dropout": 0.0,
        "src_vocab": 29,
        "tgt_vocab": 29,
        "max_len": 16,
    },
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return (SIGMOID,)


@hookimpl
def zoo_presets() -> tuple[Preset, ...]:
    return (SMALL_SIGMOID,)


@hookimpl
def zoo_commands(cli: click.Group) -> None:
    from zoo_example.reading import reading

    cli.add_command(reading)
