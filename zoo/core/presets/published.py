"""Presets of published models. Metadata only."""

from zoo.core.blueprint import Preset

VASWANI = Preset(
    "vaswani2017",
    "the base model of the paper",
    source="Vaswani et al. 2017, 'Attention Is All You Need', arXiv:1706.03762",
    choices={
        "attention": "eager:dropout=0",
        "encoding": "sinusoidal",
        "norm": "post",
        "norm-type": "layernorm",
        "feedforward": "relu:dropout=0",
        "embedding": "three-way",
        "head": "logits:bias=false",
        "loss": "label-smoothing:smoothing=0.1",
        "schedule": "noam",
        "optimizer": "adam",
        "decoding": "beam:size=4:length_penalty=0.6",
    },
    sizes={"src_vocab": 37000, "tgt_vocab": 37000},
    recipe={
        "steps": 100_000,
        "warmup": 4000,
        "lr": (512 * 4000) ** -0.5,
        "betas": (0.9, 0.98),
        "eps": 1e-9,
        "weight_decay": 0.0,
    },
    notes=(
        "Dropout is applied to every sublayer's output and to the sum of embedding and position (section 5.4), but "
        "not to the attention weights or inside the feed-forward network.",
        "One table serves source, target and the head (section 3.4); the head then has no bias.",
        "The learning rate of section 5.3 is highest at the end of the warm-up, (d_model * warmup)^-0.5: that is lr.",
        "The paper's batches have about 25,000 tokens per side; here a batch is a number of sentences.",
    ),
)

MODERN = Preset(
    "modern",
    "what large models are made of today: RMSNorm, rotary positions, SwiGLU, grouped queries",
    source="after Touvron et al. 2023 (LLaMA 2), arXiv:2307.09288, as an encoder-decoder",
    choices={
        "attention": "gqa:num_kv_heads=2:bias=false",
        "encoding": "rotary",
        "norm": "pre",
        "norm-type": "rmsnorm",
        "feedforward": "swiglu",
        "embedding": "unscaled:std=0.02",
        "head": "logits:bias=false",
        "init": "gpt2",
        "schedule": "cosine:floor=0.1",
    },
    sizes={"d_ff": 1408, "dropout": 0.0},
    recipe={"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1},
    notes=(
        "Attention runs in torch's fused kernel; 8 query heads share 2 heads of keys and values.",
        "A gated feed-forward network has three matrices: d_ff is about two thirds of 2048, for as many parameters.",
    ),
)

GPT2 = Preset(
    "gpt2",
    "the smallest GPT-2: 12 layers, 124 million parameters",
    source="Radford et al. 2019, 'Language Models are Unsupervised Multitask Learners', and the published model `gpt2`",
    choices={
        "assembly": "decoder",
        "attention": "fused",
        "encoding": "learned:std=0.01",
        "norm": "pre",
        "norm-type": "torch-layernorm",
        "feedforward": "gelu:dropout=0:tanh=true",
        "embedding": "tied:std=0.02:scale=1",
        "head": "logits:bias=false",
        "masking": "causal-only",
        "init": "gpt2",
        "schedule": "cosine:floor=0.1",
        "decoding": "top-k:k=40",
    },
    sizes={
        "d_model": 768,
        "num_heads": 12,
        "d_ff": 3072,
        "num_decoder_layers": 12,
        "src_vocab": 50257,
        "tgt_vocab": 50257,
        "max_len": 1024,
    },
    recipe={"lr": 6e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1},
    notes=(
        "124,439,808 parameters, as published. The published weights keep queries, keys and values in one matrix.",
        "It has no token for padding. --pad names one of its tokens, 0 or another, which the loss leaves out.",
        "The paper gives no rate: the recipe is that of nanoGPT.",
    ),
)

LLAMA = Preset(
    "llama-3.2-1b-like",
    "Llama 3.2 1B: grouped queries, rotary positions, RMSNorm, SwiGLU",
    source="Grattafiori et al. 2024, 'The Llama 3 Herd of Models', arXiv:2407.21783, and the published configuration",
    choices={
        "assembly": "decoder",
        "attention": "gqa:num_kv_heads=8:bias=false",
        "encoding": "rotary:base=500000:scaling=llama3:factor=32:original=8192",
        "norm": "pre",
        "norm-type": "rmsnorm:eps=1e-5",
        "feedforward": "swiglu",
        "embedding": "tied:std=0.02:scale=1",
        "head": "logits:bias=false",
        "masking": "causal-only",
        "init": "gpt2:by_depth=false",
        "schedule": "cosine:floor=0.1",
        "decoding": "nucleus:p=0.9:temperature=0.6",
    },
    sizes={
        "d_model": 2048,
        "num_heads": 32,
        "d_ff": 8192,
        "num_decoder_layers": 16,
        "dropout": 0.0,
        "src_vocab": 128256,
        "tgt_vocab": 128256,
        "max_len": 131072,
    },
    recipe={"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1},
    notes=(
        "1,235,814,400 parameters, as published.",
        "It rotates pairs from the two halves of a head, the zoo pairs of neighboring features: the same function, "
        "with the rows of the query and key projections in another order.",
        "The model was made from a larger one by pruning and distillation; the recipe here is Llama 2's.",
    ),
)

GEMMA = Preset(
    "gemma-3-like",
    "Gemma 3 1B: five sliding layers and a full one in turn, sandwich norms, GeGLU",
    source="Gemma Team 2025, 'Gemma 3 Technical Report', arXiv:2503.19786, and the published configuration",
    choices={
        "assembly": "decoder",
        "attention": "sliding:window=511:num_kv_heads=1:head_dim=256:qk_norm=true:bias=false*5"
        "+gqa:num_kv_heads=1:head_dim=256:qk_norm=true:bias=false",
        "encoding": "rotary:base=10000*5+rotary:base=1000000",
        "norm": "sandwich",
        "norm-type": "rmsnorm:eps=1e-6",
        "feedforward": "geglu:tanh=true",
        "embedding": "tied:std=0.02",
        "head": "logits:bias=false",
        "masking": "causal-only",
        "init": "gpt2:by_depth=false",
        "schedule": "cosine:floor=0.1",
        "decoding": "nucleus:p=0.95",
    },
    sizes={
        "d_model": 1152,
        "num_heads": 4,
        "d_ff": 6912,
        "num_decoder_layers": 26,
        "dropout": 0.0,
        "src_vocab": 262144,
        "tgt_vocab": 262144,
        "max_len": 32768,
    },
    recipe={"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-8, "weight_decay": 0.1},
    notes=(
        "999,885,952 parameters, as published. Layers 6, 12, 18 and 24 see the whole text, the others the last 512 "
        "positions, the query's own included.",
        "It stores the gain of a norm less 1: the same function. It rotates pairs from the two halves of a head, the "
        "zoo pairs of neighboring features: the same function, with the rows of the query and key projections in "
        "another order.",
        "Embeddings are multiplied by sqrt(D), and the head takes the table as it is.",
        "The published model was distilled from a larger one; the recipe here is Llama 2's.",
    ),
)

BERT = Preset(
    "bert-base",
    "BERT base: an encoder of 12 layers that scores every token",
    source="Devlin et al. 2018, 'BERT', arXiv:1810.04805, and the published model `bert-base-uncased`",
    choices={
        "assembly": "encoder",
        "attention": "fused",
        "encoding": "learned:std=0.02",
        "norm": "post",
        "norm-type": "layernorm:eps=1e-12",
        "feedforward": "gelu:dropout=0",
        "embedding": "three-way:std=0.02:scale=1",
        "head": "logits",
        "init": "gpt2:by_depth=false",
    },
    sizes={
        "d_model": 768,
        "num_heads": 12,
        "d_ff": 3072,
        "num_encoder_layers": 12,
        "src_vocab": 30522,
        "tgt_vocab": 30522,
        "max_len": 512,
    },
    recipe={"lr": 1e-4, "betas": (0.9, 0.999), "eps": 1e-6, "weight_decay": 0.01, "warmup": 10_000},
    notes=(
        "The layers, both tables and the bias of the head are those of the published model: 108,919,098 parameters. It "
        "has 595,200 more: vectors of two segments (1,536), a norm behind the embeddings (1,536), and a matrix with a "
        "norm before the head (592,128).",
        "The paper draws from a truncated normal distribution; here its tails are kept.",
    ),
)

VIT = Preset(
    "vit-base",
    "ViT-B/16: an encoder of the 196 patches of an image, 1000 classes",
    source="Dosovitskiy et al. 2020, 'An Image is Worth 16x16 Words', arXiv:2010.11929",
    choices={
        "assembly": "vision:image_size=224:patch_size=16",
        "attention": "fused:dropout=0",
        "encoding": "learned:std=0.02",
        "norm": "pre",
        "norm-type": "layernorm:eps=1e-6",
        "feedforward": "gelu",
        "init": "xavier",
        "schedule": "cosine",
    },
    sizes={
        "d_model": 768,
        "num_heads": 12,
        "d_ff": 3072,
        "num_encoder_layers": 12,
        "dropout": 0.1,
        "tgt_vocab": 1000,
        "max_len": 197,
    },
    recipe={"lr": 3e-3, "betas": (0.9, 0.999), "eps": 1e-8, "weight_decay": 0.3, "warmup": 10_000},
    notes=(
        "86,567,656 parameters, as published, with a head of 1000 classes.",
        "The recipe is that of training on ImageNet alone (its table 3).",
        "The paper draws the biases of the feed-forward networks from a normal distribution of 1e-6, and starts the "
        "head at 0; here biases start at 0, and the head like other matrices.",
        "The loss leaves out the label --pad, which no image is to have: count classes from 1, and have one more.",
    ),
)
