"""Presets that train on one CPU thread. Metadata only."""

from zoo.core.blueprint import Preset

REVERSE = Preset(
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
)

GPT_TINY = Preset(
    "gpt-tiny",
    "a small GPT that trains on one CPU thread",
    source="after Radford et al. 2019 (GPT-2)",
    choices={
        "assembly": "decoder",
        "attention": "fused",
        "encoding": "learned",
        "norm": "pre",
        "feedforward": "gelu",
        "embedding": "tied:std=0.02:scale=1",
        "head": "logits:bias=false",
        "init": "gpt2",
    },
    sizes={
        "d_model": 128,
        "num_heads": 4,
        "d_ff": 512,
        "num_decoder_layers": 4,
        "dropout": 0.0,
        "src_vocab": 128,
        "tgt_vocab": 128,
        "max_len": 128,
    },
    recipe={"lr": 2e-3, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1},
)

BERT_TINY = Preset(
    "bert-tiny",
    "a small BERT: two layers of width 128",
    source="after Turc et al. 2019, arXiv:1908.08962, with a small vocabulary",
    choices={
        "assembly": "encoder",
        "attention": "fused",
        "encoding": "learned",
        "norm": "post",
        "feedforward": "gelu",
        "embedding": "three-way:std=0.02:scale=1",
        "init": "gpt2:by_depth=false",
    },
    sizes={
        "d_model": 128,
        "num_heads": 2,
        "d_ff": 512,
        "num_encoder_layers": 2,
        "src_vocab": 128,
        "tgt_vocab": 128,
        "max_len": 128,
    },
    recipe={"lr": 1e-3},
)

MODERNBERT_TINY = Preset(
    "modernbert-tiny",
    "a small encoder as in ModernBERT that trains on one CPU thread",
    source="after Warner et al. 2024 (ModernBERT), arXiv:2412.13663",
    choices={
        "assembly": "encoder",
        "attention": "fused:bias=false",
        "encoding": "rotary",
        "norm": "pre",
        "feedforward": "geglu",
        "embedding": "three-way:std=0.02:scale=1",
        "init": "gpt2:by_depth=false",
    },
    sizes={
        "d_model": 128,
        "num_heads": 4,
        "d_ff": 384,
        "num_encoder_layers": 2,
        "dropout": 0.0,
        "src_vocab": 128,
        "tgt_vocab": 128,
        "max_len": 64,
    },
    recipe={"lr": 3e-3},
    notes=(
        "Left out: sliding windows in two of three layers, and the norm behind the embedding.",
        "Norms have biases here, and the feed-forward network is three times as wide as the model, not one and a half.",
    ),
)

VIT_TINY = Preset(
    "vit-tiny",
    "a small ViT for images of 32 x 32 pixels that trains on one CPU thread",
    source="after Dosovitskiy et al. 2020 (ViT)",
    choices={
        "assembly": "vision:image_size=32:patch_size=8:channels=1",
        "attention": "fused",
        "encoding": "learned",
        "norm": "pre",
        "feedforward": "gelu",
    },
    sizes={
        "d_model": 64,
        "num_heads": 4,
        "d_ff": 128,
        "num_encoder_layers": 2,
        "dropout": 0.0,
        "src_vocab": 7,
        "tgt_vocab": 7,
        "max_len": 17,
    },
    recipe={"lr": 5e-3},
)
