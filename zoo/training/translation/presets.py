"""The task `translate`, and presets made for it. Metadata only."""

from __future__ import annotations

from zoo.core.blueprint import Preset
from zoo.core.hookspecs import hookimpl
from zoo.core.tasks import Task

NAME = "translate"

TRANSLATE = Preset(
    "translate",
    "small and quick: learns two made-up languages in a minute on one CPU thread",
    choices={
        "attention": "fused",
        "encoding": "sinusoidal",
        "norm": "pre",
        "feedforward": "relu",
        "embedding": "three-way",
        "head": "logits:bias=false",
        "loss": "label-smoothing:smoothing=0.1",
        "schedule": "linear",
        "decoding": "beam:size=5:length_penalty=1",
    },
    sizes={
        "d_model": 128,
        "num_heads": 4,
        "d_ff": 256,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "dropout": 0.1,
        "max_len": 128,
    },
    recipe={"lr": 2e-3, "warmup": 100, "weight_decay": 0.0},
    tasks={NAME: {"vocab_size": 500, "tokens": 512, "epochs": 10, "patience": 0}},
)

MULTI30K_CPU = Preset(
    "multi30k-cpu",
    "German to English on Multi30k in half an hour of one CPU core",
    choices={**TRANSLATE.choices},
    sizes={
        "d_model": 256,
        "num_heads": 4,
        "d_ff": 512,
        "num_encoder_layers": 3,
        "num_decoder_layers": 3,
        "dropout": 0.1,
        "max_len": 128,
    },
    recipe={"lr": 1.5e-3, "warmup": 300, "weight_decay": 0.0},
    tasks={NAME: {"vocab_size": 4000, "tokens": 1536, "epochs": 8, "patience": 0, "precision": "bf16"}},
)

MULTI30K = Preset(
    "multi30k",
    "German to English on Multi30k on a GPU: small, with much dropout, since the text is small",
    choices={**TRANSLATE.choices, "schedule": "noam"},
    sizes={
        "d_model": 512,
        "num_heads": 8,
        "d_ff": 1024,
        "num_encoder_layers": 4,
        "num_decoder_layers": 4,
        "dropout": 0.3,
        "max_len": 128,
    },
    recipe={"lr": 1e-3, "warmup": 1000, "weight_decay": 0.0},
    tasks={NAME: {"vocab_size": 8000, "tokens": 4096, "epochs": 60, "patience": 15, "precision": "bf16"}},
)


@hookimpl
def zoo_presets() -> tuple[Preset, ...]:
    return (TRANSLATE, MULTI30K_CPU, MULTI30K)


@hookimpl
def zoo_tasks() -> tuple[Task, ...]:
    commands = {
        "train": "zoo.cli.train_translate:train_translate",
        "compare": "zoo.cli.compare_translate:compare_translate",
    }
    return (
        Task(NAME, "translate sentences, your own or of two made-up languages", "", "translate", commands),
    )
