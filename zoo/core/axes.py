"""The axes of the zoo: the kinds of parts that a Transformer is put together from."""

from __future__ import annotations

from zoo.core.registry import Axis, Capability

NEEDS = Capability(
    "needs", (), "sizes that its class also takes, by keyword (or `causal`, true in a decoder)"
)

AXES = (
    Axis(
        "attention",
        "how positions exchange information",
        "eager",
        "Class(d_model, num_heads, dropout=0.0, **options); forward(query [B,Tq,D], key [B,Tk,D], value [B,Tk,D], "
        "mask=None) -> [B,Tq,D]. The mask broadcasts to [B,H,Tq,Tk], in one of the formats declared. A class "
        "that declares positions, cacheable or packs also takes the keyword arguments positions=None, cache=None or "
        "packing=None (see zoo.parts.attention.base, zoo.accelerate.padding).",
        (
            Capability("mask_forms", ("bool", "additive"), "mask forms it accepts, preferred one first"),
            Capability("causal", True, "supports any mask over keys, including a causal one"),
            Capability("exact", False, "equals softmax(QK^T/sqrt(d))V with the same weights"),
            Capability("returns_weights", False, "offers forward_with_weights, weights [B,H,Tq,Tk]"),
            Capability("roles", ("self", "cross"), "where it can be used", ("self", "cross")),
            Capability("cross", "", "attention used in its place for cross-attention; itself if empty"),
            Capability(
                "positions",
                (),
                "where a positional encoding can be applied: queries-keys, scores",
                ("queries-keys", "scores"),
            ),
            Capability("cacheable", False, "decodes token by token with cached keys and values"),
            Capability("packs", False, "works on batches whose padding was removed (zoo.accelerate)"),
            Capability("blanks_rows", True, "a fully masked row attends to nothing"),
            Capability("head_multiple", 1, "head_dim must be a multiple of this"),
            Capability("max_length", None, "longest sequence it accepts, None for any"),
            Capability("open_lengths", True, "can be exported with dynamic sequence lengths"),
        ),
        per_layer=True,
    ),
    Axis(
        "encoding",
        "how positions are encoded",
        "sinusoidal",
        "Class(d_model, max_len, **options); forward(x [B,T,D], start=0) -> [B,T,D]. More than max_len positions raise "
        "ValueError. A class that acts inside the attention also has positions(num_queries, num_keys, like) (see "
        "zoo.parts.encoding.base).",
        (
            Capability(
                "positional", True, "distinguishes positions; without it a stack is permutation equivariant"
            ),
            Capability(
                "acts_on",
                "embedding",
                "embedding, queries-keys or scores",
                ("embedding", "queries-keys", "scores"),
            ),
            Capability("cacheable", False, "encodes one more token without the earlier ones"),
            Capability("head_multiple", 1, "head_dim must be a multiple of this"),
            NEEDS,
        ),
        per_layer=True,
    ),
    Axis(
        "norm",
        "where the norm is in a residual block",
        "pre",
        "Class(make_norm, num_sublayers, dropout=0.0, **options); forward(x [B,T,D], *sublayers) -> [B,T,D], "
        "each sublayer a function [B,T,D] -> [B,T,D].",
        (
            Capability("final_norm", False, "a stack of such layers ends in one more norm"),
            Capability("cacheable", False, "treats every position independently"),
            NEEDS,
        ),
    ),
    Axis(
        "norm-type",
        "which norm",
        "torch-layernorm",
        "Class(d_model, **options); forward(x [..., D]) -> [..., D].",
    ),
    Axis(
        "feedforward",
        "the position-wise network of each layer",
        "relu",
        "Class(d_model, d_ff, dropout=0.0, **options); forward(x [..., D]) -> [..., D].",
        per_layer=True,
    ),
    Axis(
        "embedding",
        "how token ids become vectors on both sides",
        "scaled",
        "Class(src_vocab, tgt_vocab, d_model, **options); src(tokens [B,S]) -> [B,S,D], tgt(tokens [B,L]) -> [B,L,D]; "
        "forward(tokens, side), which zoo.parts.embedding.base.Embeddings has, calls one of them.",
        (
            Capability("one_vocabulary", False, "needs src_vocab == tgt_vocab"),
            Capability("tied", False, "its tgt_table [V,D] is the weight of the head too"),
        ),
    ),
    Axis(
        "head",
        "how hidden vectors become scores of the next token",
        "logits",
        "Class(d_model, tgt_vocab, **options); forward(x [B,L,D]) -> [B,L,V]; with a tied embedding, `weight` [V,D].",
        (Capability("output", "logits", "logits, log-probs or probs", ("logits", "log-probs", "probs")),),
    ),
    Axis(
        "masking",
        "which positions are hidden",
        "full",
        "Class(pad); src(tokens [B,S]) -> keep [B,1,1,S] or None, for the encoder and for cross-attention; "
        "tgt(tokens [B,L], num_queries) -> keep [B,1,num_queries,L] or None, for the last num_queries positions.",
        (
            Capability("blank_rows", False, "its masks can hide everything from a position"),
            Capability("causal", True, "hides later positions on the target side"),
        ),
    ),
    Axis(
        "mask",
        "the format of masks inside the model",
        "bool",
        "Class(); encode(keep, dtype) -> mask; decode(mask, num_keys) -> keep, where keep is bool, True = may be "
        "attended to.",
    ),
    Axis(
        "init",
        "initial weights",
        "xavier",
        "Class(**options); matrix(name, value [out,in]), bias(name, value, fan_in) and table(name, value [V,D]) fill "
        "one parameter in place, from torch's global generator (see zoo.parts.init.base).",
        (NEEDS,),
    ),
    Axis(
        "loss",
        "what training minimizes",
        "cross-entropy",
        "Class(pad, **options); forward(output [B,L,V], labels [B,L]) -> scalar, mean over labels that are not pad.",
        (
            Capability(
                "takes", "logits", "what the head must give: logits or log-probs", ("logits", "log-probs")
            ),
        ),
    ),
    Axis(
        "schedule",
        "how the learning rate changes",
        "linear",
        "Class(steps, warmup, **options); __call__(step) -> share of the highest rate, step counted from 0. No torch.",
    ),
    Axis(
        "optimizer",
        "how a gradient changes the weights",
        "adamw",
        "Class(params, lr, **options), derived from torch.optim.Optimizer; the rate of each step is set in its "
        "param_groups, times the `lr_factor` of a group.",
        (
            Capability(
                "recipe",
                (),
                "settings of the training recipe that its class also takes, by keyword; options override them",
                ("beta1", "beta2", "eps", "weight_decay"),
            ),
            Capability("matrices", False, "also takes `matrices`: the parameters [out,in] of layers"),
        ),
    ),
    Axis(
        "decoding",
        "how an answer is chosen, token by token",
        "greedy",
        "Class(**options); __call__(stepper, start [B], max_len, eos, pad) -> tokens "
        "[B, <= max_len] (see zoo.parts.decoding.base).",
    ),
    Axis(
        "assembly",
        "which stacks a model is made of",
        "encoder-decoder",
        "Class(parts), derived from zoo.models.transformer.Model; forward takes the tokens of the stacks it has, "
        "source [B,S] for an encoder, target [B,L] for a decoder -> [B,L,V] ([B,S,V] without a decoder).",
        (
            Capability(
                "stacks",
                ("encoder", "decoder"),
                "the stacks it has; with both, the decoder attends to the encoder",
                ("encoder", "decoder"),
            ),
            Capability(
                "reads", "tokens", "what it reads: tokens, or images [B, C, H, W]", ("tokens", "images")
            ),
        ),
    ),
)
