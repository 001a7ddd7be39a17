"""The axes of the zoo: the kinds of parts that a Transformer is put together from."""

from __future__ import annotations

from zoo.registry import Axis, Capability

AXES = (
    Axis(
        "attention",
        "how positions exchange information",
        "eager",
        "Class(d_model, num_heads, dropout=0.0, **options); forward(query [B,Tq,D], key [B,Tk,D], value [B,Tk,D], "
        "mask=None) -> [B,Tq,D]. The mask broadcasts to [B,H,Tq,Tk], in one of the forms declared.",
        (
            Capability("mask_forms", ("bool", "additive"), "forms of mask it takes, the preferred one first"),
            Capability("causal", True, "honours any mask over keys, so also a causal one"),
            Capability("exact", False, "equals softmax(QK^T/sqrt(d))V with the same weights"),
            Capability("returns_weights", False, "offers forward_with_weights, weights [B,H,Tq,Tk]"),
            Capability("roles", ("self", "cross"), "where it may stand"),
            Capability("max_length", None, "longest sequence it takes, None for any"),
        ),
    ),
    Axis(
        "norm",
        "where the layer norm stands in a residual block",
        "pre",
        "Class(make_norm, num_sublayers, dropout=0.0, **options); forward(x [B,T,D], *sublayers) -> [B,T,D], "
        "each sublayer a function [B,T,D] -> [B,T,D].",
        (Capability("final_norm", False, "a stack of such layers ends in one more norm"),),
    ),
    Axis(
        "encoding",
        "how positions are told apart",
        "sinusoidal",
        "Class(d_model, max_len, **options); forward(x [B,T,D]) -> [B,T,D]. T > max_len raises ValueError.",
        (
            Capability(
                "positional", True, "tells positions apart; without it a stack is permutation equivariant"
            ),
        ),
    ),
    Axis(
        "mask",
        "the form in which masks travel through the model",
        "bool",
        "Class(); encode(keep, dtype) -> mask; decode(mask) -> keep, where keep is bool, True = may be attended to.",
    ),
    Axis(
        "feedforward",
        "the position-wise network of each layer",
        "relu",
        "Class(d_model, d_ff, dropout=0.0, **options); forward(x [..., D]) -> [..., D].",
    ),
    Axis(
        "embedding",
        "how token ids become vectors on both sides",
        "scaled",
        "Class(src_vocab, tgt_vocab, d_model, **options); src(tokens [B,S]) -> [B,S,D], tgt(tokens [B,L]) -> [B,L,D].",
        (Capability("one_vocabulary", False, "needs src_vocab == tgt_vocab"),),
    ),
)
