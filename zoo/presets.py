"""The presets that come with the zoo: named blueprints. Metadata only."""

from zoo.blueprint import Preset
from zoo.hookspecs import hookimpl

PRESETS = (
    Preset(
        "reverse",
        "small and quick: learns to spell words backwards in seconds on one CPU thread",
        choices={
            "attention": "eager",
            "norm": "pre",
            "encoding": "sinusoidal",
            "feedforward": "relu",
            "embedding": "unscaled:std=0.1",
        },
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
    ),
)


@hookimpl
def zoo_presets() -> tuple[Preset, ...]:
    return PRESETS
