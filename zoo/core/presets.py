"""The presets that come with the zoo: named blueprints. Metadata only."""

from zoo.core.blueprint import Preset
from zoo.core.hookspecs import hookimpl

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
        "The rate of section 5.3 reaches its height, (d_model * warmup)^-0.5, after the warm-up; that is the recipe's "
        "lr.",
        "The paper's batches have about 25,000 tokens per side; the recipe counts rows.",
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

FROM_SCRATCH = Preset(
    "from-scratch",
    "article: one unscaled embedding, post-norm, no dropout, no padding mask",
    source="'Implement Transformers from Scratch', article (Chinese to English)",
    choices={
        "attention": "filled:fill=-1e9",
        "encoding": "sinusoidal",
        "norm": "post",
        "feedforward": "relu",
        "embedding": "shared:std=1",
        "masking": "causal-only",
        "init": "torch",
        "decoding": "greedy",
    },
    sizes={"dropout": 0.0, "max_len": 5000},
    tasks={"translate": {"joint": True, "lr": 1e-4, "warmup": 1000}},
    corrected={"masking": "full", "attention": "eager"},
    notes=(
        "Trap: the encoder has no mask at all, so padding is attended to, and an answer depends on how much padding "
        "its sentence was given. The article decodes one sentence at a time, where it does not matter. --corrected "
        "hides padding.",
        "Its scores are filled with -1e9 where the causal mask hides them; no row of it is fully hidden. Corrected, a "
        "row can be, and then attends to nothing.",
        "It mentions beam search beside greedy decoding: --decoding=beam.",
        "Its vocabulary is that of a downloaded tokenizer; --src-vocab and --tgt-vocab set the size of yours. "
        "`zoo train translate` reads it with --tokenizer, or trains one on both languages. The learning rate is "
        "ours; the article does not train.",
    ),
)

USING_PYTORCH = Preset(
    "using-pytorch",
    "article: two embeddings, post-norm, a target mask that blanks whole rows",
    source="'Transformer using PyTorch', article, 23 July 2025",
    choices={
        "attention": "filled:fill=-1e9:dropout=0",
        "encoding": "sinusoidal",
        "norm": "post",
        "feedforward": "relu:dropout=0",
        "embedding": "unscaled:std=1",
        "masking": "blank-rows",
        "init": "torch",
        "loss": "cross-entropy",
        "schedule": "constant",
    },
    sizes={"dropout": 0.1},
    recipe={
        "steps": 100,
        "batch_size": 64,
        "lr": 1e-4,
        "betas": (0.9, 0.98),
        "eps": 1e-9,
        "weight_decay": 0.0,
        "warmup": 1,
    },
    corrected={"masking": "full", "attention": "eager:dropout=0"},
    notes=(
        "Trap: the target's padding mask lies over the queries instead of the keys. A padded position's row is hidden "
        "whole, and with a fill of -1e9 its softmax is even: it attends to everything, the future and padding "
        "included. With padding at the end no real position sees any of it, and the loss leaves padded positions "
        "out; with padding in front it leaks. --corrected hides padding as a key and keeps every row, and a row that "
        "has nothing to attend to attends to nothing.",
        "Dropout falls on every sublayer's output and on the sum of embedding and position only.",
        "Sizes, which the article's text leaves open, are the paper's.",
    ),
)

ASSEMBLED = Preset(
    "assembled",
    "article: nn.MultiheadAttention, one unscaled embedding, encode and decode apart",
    source="'Assembling a Transformer from Scratch', course chapter",
    choices={
        "attention": "torch",
        "encoding": "sinusoidal",
        "norm": "post",
        "feedforward": "relu",
        "embedding": "shared:std=1",
        "masking": "causal-only",
        "init": "torch",
    },
    sizes={
        "d_model": 128,
        "num_heads": 4,
        "d_ff": 512,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "dropout": 0.0,
        "src_vocab": 1000,
        "tgt_vocab": 1000,
        "max_len": 5000,
    },
    corrected={"masking": "full"},
    notes=(
        "Trap: the encoder and the cross-attention take no mask, so padding is attended to. --corrected hides it.",
        "The causal mask is the caller's to give, in torch's form (True = may NOT be attended to), and the article's "
        "own example gives none: that decoder sees the future. Here the model always makes it.",
        "nn.MultiheadAttention would draw its packed projection by Xavier and start its biases at 0; here all "
        "matrices and biases are drawn as nn.Linear draws them.",
    ),
)

WRITE_YOUR_OWN = Preset(
    "write-your-own",
    "article: additive masks, no biases, the norm on the branch (reversed words)",
    source="'A Complete Guide to Write your own Transformers', article, 24 February 2024",
    choices={
        "attention": "eager:bias=false",
        "encoding": "sinusoidal",
        "norm": "res-post",
        "feedforward": "relu",
        "embedding": "scaled-encoder:std=1",
        "mask": "additive",
        "init": "torch",
    },
    sizes={
        "d_model": 256,
        "num_heads": 4,
        "d_ff": 256,
        "num_encoder_layers": 1,
        "num_decoder_layers": 1,
        "dropout": 0.0,
        "src_vocab": 29,
        "tgt_vocab": 29,
        "max_len": 5000,
    },
    recipe={"lr": 1e-3},
    corrected={"embedding": "scaled"},
    notes=(
        "Trap: the embedding is multiplied by sqrt(d_model) on the encoder's side and left as it is on the decoder's. "
        "As nn.Embedding starts at a deviation of 1, positions weigh as much as words on the decoder's side, and are "
        "drowned on the encoder's. --corrected scales both, and starts them at the 1/sqrt(d_model) that the factor is "
        "for.",
        "Its recipe is not in the text. With that of `zoo train --preset write-your-own --task reverse` 31 of 1,000 "
        "unseen words are correct, with --corrected 965.",
        "Its masks of -inf make a fully masked row NaN; in the zoo such a row attends to nothing.",
        "The attention stores its weights, for pictures: attention=eager returns them.",
        "Of its five branches only one has dropout (the encoder's attention), which the zoo's single number cannot "
        "express: it is 0 here, and --dropout sets it for all branches and the embedding.",
        "d_ff is d_model. The number of layers is not in the article's text. Its decoder keeps the vector of padding "
        "at 0, which no real position attends to.",
    ),
)

DEEP_LEARNING = Preset(
    "deep-learning-from-scratch",
    "article: pre-norm, log-softmax head with smoothed KL loss (German to English)",
    source="Shlomo Stept, 'Building Deep Learning from Scratch, Part 3: A Transformer in PyTorch', 2023",
    choices={
        "attention": "filled:fill=-1e10",
        "encoding": "sinusoidal",
        "norm": "pre",
        "norm-type": "layernorm",
        "feedforward": "relu",
        "embedding": "scaled",
        "head": "log-softmax",
        "mask": "bool",
        "init": "xavier:tables=true",
        "loss": "kl:smoothing=0.1",
        "schedule": "constant",
        "decoding": "greedy",
    },
    sizes={"max_len": 75},
    recipe={
        "batch_size": 32,
        "lr": 1e-4,
        "betas": (0.9, 0.999),
        "eps": 1e-8,
        "weight_decay": 0.0,
        "warmup": 1,
    },
    tasks={
        "translate": {
            "joint": False,
            "vocab_size": 8000,
            "tokens": 512,
            "epochs": 68,
            "patience": 0,
            "clip": 0.0,
        }
    },
    corrected={"attention": "eager"},
    notes=(
        "Trap: -1e10 in place of -inf keeps a fully masked row from being NaN, and makes it attend evenly to all that "
        "should be hidden. It comes up only in a source of nothing but padding. --corrected lets such a row attend to "
        "nothing.",
        "The loss takes log-probabilities, and the head must give them: with another head the zoo refuses to build.",
        "The article makes a stack by deep copies of one layer; Xavier then draws each copy's weights anew, so that "
        "layers start apart, as here.",
        "Its biases keep what nn.Linear draws; here they start at 0.",
        "It names Adam, batches of 32 and 68 epochs, but no rate: 1e-4 is ours.",
        "`zoo train translate` makes batches by tokens, 512 a side, which is about 32 sentences of Multi30k; "
        "and subwords where the article has spaCy's words, in a vocabulary for each language.",
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
        "It turns the halves of a head against each other, the zoo neighbouring numbers: the same function, with the "
        "rows of the query and key projections in another order.",
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
        "It stores the gain of a norm less 1: the same function. It turns the halves of a head against each other, "
        "the zoo neighbouring numbers: the same function, with the rows of the query and key projections in another "
        "order.",
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

PRESETS = (
    REVERSE,
    VASWANI,
    MODERN,
    FROM_SCRATCH,
    USING_PYTORCH,
    ASSEMBLED,
    WRITE_YOUR_OWN,
    DEEP_LEARNING,
    GPT2,
    LLAMA,
    GEMMA,
    BERT,
    GPT_TINY,
    BERT_TINY,
    MODERNBERT_TINY,
    VIT,
    VIT_TINY,
)


@hookimpl
def zoo_presets() -> tuple[Preset, ...]:
    return PRESETS
