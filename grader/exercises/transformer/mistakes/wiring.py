"""Mistakes in what is given to which stack, and in what is kept between calls."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.exercises.transformer.mistakes.collection import DECODE, FORWARD, mistake
from grader.exercises.transformer.reference import Call, Mask, Steps


@mistake(
    "encoder-skipped",
    "The encoder is never called: encode returns the embeddings.",
    formula="memory = encoder(x, src_mask)",
    hint="Is the encoder used anywhere outside __init__?",
)
def encoder_skipped(steps: Steps) -> Steps:
    return replace(steps, run_encoder=lambda _call, x, _mask: x)


@mistake(
    "memory-is-embedding",
    "forward passes the source's embeddings as memory; the decoder needs the encoder's output.",
    formula=FORWARD,
    hint="Follow src through forward.",
)
def memory_is_embedding(steps: Steps) -> Steps:
    return replace(
        steps,
        forward=lambda inner, call, src, tgt: inner.decode(
            inner, call, tgt, inner.embed(inner, call, "src", src), src
        ),
    )


@mistake(
    "memory-ignored",
    "decode ignores its argument memory and computes it from src again. Step-by-step decoding then runs "
    "the encoder at each step.",
    formula=DECODE,
    hint="Is the argument memory used in decode?",
)
def memory_ignored(steps: Steps) -> list[Steps]:
    def encoded(inner: Steps, call: Call, tgt: Tensor, _memory: Tensor, src: Tensor) -> Any:
        return steps.decode(inner, call, tgt, inner.encode(inner, call, src), src)

    def embedded(inner: Steps, call: Call, tgt: Tensor, _memory: Tensor, src: Tensor) -> Any:
        return steps.decode(inner, call, tgt, inner.embed(inner, call, "src", src), src)

    return [replace(steps, decode=encoded), replace(steps, decode=embedded)]


@mistake(
    "encode-remembered",
    "decode uses the memory or a mask that an earlier call stored in the module, instead of its own "
    "arguments.",
    formula=DECODE,
    hint="Look for attributes that one call sets and another reads.",
    source="mlverse/torch#1473",
)
def encode_remembered(steps: Steps) -> list[Steps]:
    def encode_memory(inner: Steps, call: Call, src: Tensor) -> Any:
        call.memory["memory"] = found = steps.encode(inner, call, src)
        return found

    def decode_memory(inner: Steps, call: Call, tgt: Tensor, memory: Tensor, src: Tensor) -> Any:
        return steps.decode(inner, call, tgt, call.memory.get("memory", memory), src)

    def encode_mask(inner: Steps, call: Call, src: Tensor) -> Any:
        call.memory["mask"] = inner.src_mask(inner, call, src)
        return steps.encode(inner, call, src)

    def cross_mask(inner: Steps, call: Call, src: Tensor, tgt: Tensor) -> Mask:
        found: Mask = call.memory.get("mask", steps.cross_mask(inner, call, src, tgt))
        return found

    def strict_mask(_inner: Steps, call: Call, _src: Tensor, _tgt: Tensor) -> Mask:
        if "mask" not in call.memory:
            raise AttributeError("no mask yet")
        found: Mask = call.memory["mask"]
        return found

    def strict_memory(inner: Steps, call: Call, tgt: Tensor, _memory: Tensor, src: Tensor) -> Any:
        if "memory" not in call.memory:
            raise AttributeError("no memory yet")
        return steps.decode(inner, call, tgt, call.memory["memory"], src)

    def once(inner: Steps, call: Call, src: Tensor) -> Any:
        if "memory" not in call.memory:
            call.memory["memory"] = steps.encode(inner, call, src)
        return call.memory["memory"]

    def first_mask(inner: Steps, call: Call, tgt: Tensor) -> Mask:
        if "target" not in call.memory:
            call.memory["target"] = steps.tgt_mask(inner, call, tgt)
        found: Mask = call.memory["target"]
        return found

    return [
        replace(steps, encode=encode_memory, decode=decode_memory),
        replace(steps, encode=encode_mask, cross_mask=cross_mask),
        replace(steps, encode=encode_mask, cross_mask=strict_mask),
        replace(steps, encode=encode_memory, decode=strict_memory),
        replace(steps, encode=once),
        replace(steps, tgt_mask=first_mask),
    ]


@mistake(
    "decoder-arguments-swapped",
    "The decoder gets memory as x, and x as memory.",
    formula="decoder(x, memory, src_mask, tgt_mask)",
    hint="Look at the order of the arguments of the decoder's forward.",
)
def decoder_arguments_swapped(steps: Steps) -> Steps:
    return replace(
        steps, run_decoder=lambda call, x, memory, src, tgt: steps.run_decoder(call, memory, x, src, tgt)
    )


@mistake(
    "decoder-without-memory",
    "The decoder gets its own input as memory, so it gets no information about the source.",
    formula="decoder(x, memory, src_mask, tgt_mask)",
    hint="Change the source: do the logits change?",
)
def decoder_without_memory(steps: Steps) -> Steps:
    return replace(
        steps, run_decoder=lambda call, x, _memory, _src, tgt: steps.run_decoder(call, x, x, tgt, tgt)
    )


@mistake(
    "forward-arguments-swapped",
    "forward takes its arguments in the order (tgt, src); it must be forward(src, tgt).",
    formula=FORWARD,
    hint="Compare the signature with the template's.",
)
def forward_arguments_swapped(steps: Steps) -> list[Steps]:
    return [
        replace(steps, order={**(steps.order or {}), "forward": ("tgt", "src")}),
        replace(steps, forward=lambda inner, call, src, tgt: steps.forward(inner, call, tgt, src)),
    ]


@mistake(
    "decode-arguments-reordered",
    "decode takes its arguments in another order; it must be decode(tgt, memory, src).",
    formula="decode(tgt, memory, src) -> logits",
    hint="Compare the signature with the template's.",
)
def decode_arguments_reordered(steps: Steps) -> list[Steps]:
    orders = (
        ("memory", "tgt", "src"),
        ("tgt", "src", "memory"),
        ("src", "memory", "tgt"),
        ("memory", "src", "tgt"),
    )
    return [replace(steps, order={**(steps.order or {}), "decode": order}) for order in orders]


@mistake(
    "target-shifted",
    "forward shifts the target (drops a token, or prepends SOS). tgt is already the decoder's input: "
    "shift_right is applied once, before the model is called.",
    formula=FORWARD,
    hint="Are there as many logits as tokens in tgt? Is the first token used?",
    source="Kyubyong/transformer#94; Project-MONAI/GenerativeModels#314",
)
def target_shifted(steps: Steps) -> list[Steps]:
    changes = (
        lambda tgt: tgt[:, :-1],
        lambda tgt: tgt[:, 1:],
        lambda tgt: F.pad(tgt[:, :-1], (1, 0), value=1),
        lambda tgt: F.pad(tgt, (1, 0), value=1),
    )
    return [
        replace(steps, forward=lambda inner, call, src, tgt, f=f: steps.forward(inner, call, src, f(tgt)))  # type: ignore[misc]
        for f in changes
    ]


@mistake(
    "encoder-cut-off",
    "No gradient flows back to the encoder: memory is detached, or encode runs under torch.no_grad().",
    formula=FORWARD,
    hint="Search for detach, .data and no_grad.",
)
def encoder_cut_off(steps: Steps) -> Steps:
    return replace(
        steps, run_encoder=lambda call, x, mask: steps.run_encoder(call, x.detach(), mask).detach()
    )


@mistake(
    "embeddings-cut-off",
    "No gradient flows back to an embedding: it is detached, or used under torch.no_grad().",
    formula="x = positions(embed(tokens) * sqrt(d_model))",
    hint="Search for detach, .data and no_grad.",
)
def embeddings_cut_off(steps: Steps) -> list[Steps]:
    return [
        replace(
            steps,
            lookup=lambda call, side, tokens, cut=cut: (  # type: ignore[misc]
                steps.lookup(call, side, tokens).detach() if side in cut else steps.lookup(call, side, tokens)
            ),
        )
        for cut in (("tgt",), ("src", "tgt"))
    ]


@mistake(
    "dropout-of-its-own",
    "The model applies dropout itself in train mode. Here dropout belongs only in the layers that are "
    "passed in.",
    formula=FORWARD,
    hint="Search for dropout.",
)
def dropout_of_its_own(steps: Steps) -> list[Steps]:
    def dropped(call: Call, x: Tensor) -> Tensor:
        return F.dropout(x, 0.1, call.module.training)

    return [
        replace(steps, place=lambda call, side, x: dropped(call, steps.place(call, side, x))),
        replace(steps, project=lambda call, x: dropped(call, steps.project(call, x))),
    ]


@mistake(
    "batch-and-length-swapped",
    "Batch and length are swapped before encoder and decoder, so sentences of a batch attend to one "
    "another. Everything here is batch first.",
    formula="x is [B, T, D]",
    hint="Is there a transpose(0, 1) in your file?",
    source="DaoyuanLi2816/Molecule-Generator#22; rish-16/tokenlearner-pytorch#1",
)
def batch_and_length_swapped(steps: Steps) -> Steps:
    def encoder(call: Call, x: Tensor, _mask: Mask) -> Any:
        return steps.run_encoder(call, x.transpose(0, 1), None).transpose(0, 1)  # [T, B, D] -> back

    return replace(steps, run_encoder=encoder)


@mistake(
    "input-changed-in-place",
    "An argument is modified in place; the caller still uses it.",
    hint="Methods that end in _ and the operators += and *= work in place.",
)
def input_changed_in_place(steps: Steps) -> list[Steps]:
    def spoilt_memory(inner: Steps, call: Call, tgt: Tensor, memory: Tensor, src: Tensor) -> Any:
        found = steps.decode(inner, call, tgt, memory.clone(), src)
        with torch.no_grad():
            memory.mul_(0.5)
        return found

    def spoilt_ids(inner: Steps, call: Call, src: Tensor) -> Any:
        found = steps.encode(inner, call, src.clone())
        src.clamp_(max=1)
        return found

    return [
        replace(steps, decode=spoilt_memory),
        replace(
            steps,
            encode=spoilt_ids,
            forward=lambda inner, call, src, tgt: inner.decode(
                inner, call, tgt, steps.encode(inner, call, src), src
            ),
        ),
    ]
