"""Presets of articles that explain the Transformer; `corrected` fixes their known mistakes. Metadata only."""

from zoo.core.blueprint import Preset

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
        "Trap: the target's padding mask is applied to queries instead of keys. The whole row of a padded position is "
        "masked, and with a fill of -1e9 its softmax is uniform: it attends to everything, the future and padding "
        "included. With padding at the end no real position is affected, and the loss leaves padded positions out; "
        "with padding in front, real positions attend to padding. --corrected masks padding as a key.",
        "Dropout is applied to every sublayer's output and to the sum of embedding and position only.",
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
        "nn.Embedding starts at a standard deviation of 1, so on the decoder's side positions are as large as words, "
        "and on the encoder's far smaller. --corrected scales both, and starts them at a standard deviation of "
        "1/sqrt(d_model), as the factor assumes.",
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
        "The article makes a stack by deep copies of one layer; Xavier then draws each copy's weights again, so that "
        "layers start apart, as here.",
        "Its biases keep what nn.Linear draws; here they start at 0.",
        "It names Adam, batches of 32 and 68 epochs, but no rate: 1e-4 is ours.",
        "`zoo train translate` makes batches by tokens, 512 per side, which is about 32 sentences of Multi30k; "
        "and subwords where the article has spaCy's words, in a vocabulary for each language.",
    ),
)
