"""Mistakes in the masks over the source, and in PAD on either side."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.api import ASKED_FOR
from grader.exercises.transformer.mistakes.collection import MASKS, PAPER_MASKS, mistake
from grader.exercises.transformer.reference import Call, Steps


@mistake(
    "encoder-mask-missing",
    "The encoder is called without src_mask: words attend to PAD, so the result for a sentence depends on "
    "the length of the others in its batch.",
    formula=MASKS,
    hint="What does the encoder need besides x?",
    source="DaoyuanLi2816/Molecule-Generator#22",
)
def encoder_mask_missing(steps: Steps) -> Steps:
    return replace(steps, run_encoder=lambda call, x, _mask: steps.run_encoder(call, x, None))


@mistake(
    "cross-mask-missing",
    "The decoder is called without src_mask, so its cross-attention attends to the padding of the source.",
    formula=MASKS,
    hint="Which masks does the decoder need, and what is each for?",
    source="keras-team/keras-io#1046, #1964; speechbrain/speechbrain#1107",
)
def cross_mask_missing(steps: Steps) -> Steps:
    return replace(steps, cross_mask=lambda *_: None)


@mistake(
    "source-masks-missing",
    "The padding of the source is not masked, neither in the encoder nor in the decoder's cross-attention.",
    formula=MASKS,
    hint="Which attentions have the source's tokens as keys?",
    source="DaoyuanLi2816/Molecule-Generator#22; keras-team/keras-io#1046",
)
def source_masks_missing(steps: Steps) -> Steps:
    return replace(steps, src_mask=lambda *_: None)


@mistake(
    "cross-mask-of-target",
    "The mask for cross-attention is made from tgt. Its keys come from memory, so it must be the padding "
    "mask of src.",
    formula=MASKS,
    hint="In cross-attention, whose tokens are the keys?",
    source="keras-team/keras-io#1046; fchollet/deep-learning-with-python-notebooks#209",
)
def cross_mask_of_target(steps: Steps) -> list[Steps]:
    return [
        replace(steps, cross_mask=lambda _steps, call, _src, tgt: steps.padding(call, tgt, call.pad)),
        replace(steps, cross_mask=lambda inner, call, _src, tgt: steps.tgt_mask(inner, call, tgt)),
    ]


@mistake(
    "cross-mask-causal",
    "Cross-attention is causal; the decoder may attend to the whole source at each step.",
    formula=MASKS,
    hint="May the first word of the target attend to the end of the source?",
    source="zhouhaoyi/Informer2020#38",
)
def cross_mask_causal(steps: Steps) -> Steps:
    def masked(inner: Steps, call: Call, src: Tensor, tgt: Tensor) -> Tensor:
        early = torch.ones(tgt.size(1), src.size(1), dtype=torch.bool, device=ASKED_FOR).tril()  # [L, S]
        return early & inner.padding(call, src, call.pad)

    return replace(steps, cross_mask=masked)


@mistake(
    "encoder-causal",
    "The encoder's mask is causal. A word of the source may attend to its whole sentence; only the decoder "
    "is causal.",
    formula=MASKS,
    hint="Which side generates one word after the other?",
    source=PAPER_MASKS,
)
def encoder_causal(steps: Steps) -> Steps:
    def masked(inner: Steps, call: Call, src: Tensor) -> Tensor:
        return inner.causal(src.size(1)) & inner.padding(call, src, call.pad)

    return replace(
        steps, src_mask=masked, cross_mask=lambda inner, call, src, _: inner.padding(call, src, call.pad)
    )


@mistake(
    "decoder-masks-swapped",
    "The decoder gets its two masks in the wrong order: tgt_mask as src_mask, and src_mask as tgt_mask.",
    formula="decoder(x, memory, src_mask, tgt_mask)",
    hint="Look at the order of the arguments of the decoder's forward.",
)
def decoder_masks_swapped(steps: Steps) -> Steps:
    return replace(
        steps, run_decoder=lambda call, x, memory, src, tgt: steps.run_decoder(call, x, memory, tgt, src)
    )


@mistake(
    "masks-inverted",
    "The masks are inverted: True (or 0, in an additive mask) must mean that a key may be attended to.",
    formula=MASKS,
    hint="Print a mask: is it True at PAD?",
    source="rasbt/LLMs-from-scratch#1061; pytorch/pytorch#170415",
)
def masks_inverted(steps: Steps) -> Steps:
    def source(inner: Steps, call: Call, src: Tensor) -> Tensor | None:
        mask = steps.src_mask(inner, call, src)
        return None if mask is None else ~mask

    def target(inner: Steps, call: Call, tgt: Tensor) -> Tensor | None:
        mask = steps.tgt_mask(inner, call, tgt)
        return None if mask is None else ~mask

    return replace(steps, src_mask=source, tgt_mask=target)


@mistake(
    "masks-as-numbers",
    "The masks are the numbers 0 and 1. Attention adds such a mask to its scores, and adding 1 masks "
    "nothing. A mask must be bool, or consist of 0 and -inf.",
    formula=MASKS,
    hint="Print mask.dtype. Which line turns True and False into numbers?",
    source="pytorch/pytorch#29546",
)
def masks_as_numbers(steps: Steps) -> list[Steps]:
    def numbers(mask: Tensor | None, *, inverted: bool) -> Tensor | None:
        return None if mask is None else (~mask if inverted else mask).float()

    def both(inverted: bool) -> tuple[Steps, Steps]:
        source = replace(
            steps,
            src_mask=lambda inner, call, src: numbers(steps.src_mask(inner, call, src), inverted=inverted),
        )
        everywhere = replace(
            source,
            tgt_mask=lambda inner, call, tgt: numbers(steps.tgt_mask(inner, call, tgt), inverted=inverted),
        )
        return everywhere, source

    return [*both(False), *both(True)]


@mistake(
    "padding-inverted",
    "The padding mask is inverted (tokens == pad): only PAD is attended to.",
    formula=MASKS,
    hint="True means that a key may be attended to. May PAD be?",
    source="pytorch/pytorch#120668; lucidrains/x-transformers#164",
)
def padding_inverted(steps: Steps) -> list[Steps]:
    def padding(call: Call, tokens: Tensor, pad: int) -> Tensor:
        return ~steps.padding(call, tokens, pad)

    return [
        replace(steps, padding=padding),
        replace(steps, src_mask=lambda _inner, call, src: padding(call, src, call.pad)),
        replace(
            steps,
            tgt_mask=lambda inner, call, tgt: inner.causal(tgt.size(1)) & padding(call, tgt, call.pad),
        ),
    ]


@mistake(
    "padding-on-queries",
    "The padding mask is along the queries, [B, 1, T, 1]; it must be along the keys, [B, 1, 1, T].",
    formula=MASKS,
    hint="Which of the last two dimensions of the scores is the keys?",
    source="bentrevett/pytorch-seq2seq#96; hyunwoongko/transformer#40",
)
def padding_on_queries(steps: Steps) -> Steps:
    def turned(call: Call, tokens: Tensor, pad: int) -> Tensor:
        return steps.padding(call, tokens, pad).transpose(2, 3)  # [B, 1, T, 1]

    return replace(steps, padding=turned)


@mistake(
    "padded-queries-hidden",
    "A mask hides whole rows, where the query is PAD. Only the key must be checked: a row without any "
    "allowed key gives NaN in many attentions.",
    formula=MASKS,
    hint="What is in your mask's row for a query that is PAD?",
)
def padded_queries_hidden(steps: Steps) -> list[Steps]:
    def rows(call: Call, tokens: Tensor) -> Tensor:
        return steps.padding(call, tokens, call.pad).transpose(2, 3)  # [B, 1, T, 1]

    def source(_inner: Steps, call: Call, src: Tensor) -> Tensor:
        return steps.padding(call, src, call.pad) & rows(call, src)  # [B, 1, S, S]

    def target(inner: Steps, call: Call, tgt: Tensor) -> Tensor:
        mask: Tensor = inner.causal(tgt.size(1)) & steps.padding(call, tgt, call.pad) & rows(call, tgt)
        return mask

    def cross(_inner: Steps, call: Call, src: Tensor, tgt: Tensor) -> Tensor:
        return steps.padding(call, src, call.pad) & rows(call, tgt)  # [B, 1, L, S]

    def plain(_inner: Steps, call: Call, src: Tensor, _tgt: Tensor) -> Tensor:
        return steps.padding(call, src, call.pad)

    return [
        replace(steps, src_mask=source, cross_mask=plain),
        replace(steps, tgt_mask=target),
        replace(steps, cross_mask=cross),
        replace(steps, src_mask=source, tgt_mask=target, cross_mask=cross),
    ]


@mistake(
    "pad-ignored",
    "The argument `pad` is ignored: 0 (or another fixed id) is taken as PAD.",
    formula="tokens != pad",
    hint="Create a model with pad=3. Where is the 3 used?",
    source="hyunwoongko/transformer#11",
)
def pad_ignored(steps: Steps) -> list[Steps]:
    def fixed(call: Call, tokens: Tensor, _pad: int) -> Tensor:
        return steps.padding(call, tokens, 0)

    return [
        replace(steps, padding=fixed),
        replace(steps, src_mask=lambda _inner, call, src: fixed(call, src, 0)),
        replace(steps, tgt_mask=lambda inner, call, tgt: inner.causal(tgt.size(1)) & fixed(call, tgt, 0)),
    ]


@mistake(
    "pad-as-order",
    "Ids are compared with pad by size (tokens > pad). Ids below pad are ordinary tokens: compare for "
    "equality.",
    formula="tokens != pad",
    hint="With pad=3, is the id 2 an ordinary token?",
)
def pad_as_order(steps: Steps) -> Steps:
    return replace(steps, padding=lambda _call, tokens, pad: (tokens > pad)[:, None, None])


@mistake(
    "padding-by-length",
    "The padding mask is computed from the number of tokens, as if PAD were only at the end. PAD may be "
    "anywhere: check each token.",
    formula="tokens != pad",
    hint="What is your mask for [5, PAD, 7]?",
)
def padding_by_length(steps: Steps) -> Steps:
    def padding(_call: Call, tokens: Tensor, pad: int) -> Tensor:
        lengths = (tokens != pad).sum(1, keepdim=True)  # [B, 1]
        return (torch.arange(tokens.size(1), device=ASKED_FOR) < lengths)[:, None, None]

    return replace(steps, padding=padding)


@mistake(
    "padding-of-first-sentence",
    "The padding of one sentence is used for the whole batch; each sentence needs its own.",
    formula=MASKS,
    hint="Does your padding mask have a batch dimension?",
)
def padding_of_first(steps: Steps) -> list[Steps]:
    return [
        replace(steps, padding=lambda call, tokens, pad: steps.padding(call, tokens[:1], pad)),
        replace(
            steps, padding=lambda call, tokens, pad: steps.padding(call, tokens, pad).all(0, keepdim=True)
        ),
    ]


@mistake(
    "masks-without-head-dimension",
    "A mask has the shape [B, T, T] or [B, 1, T], so its batch dimension is aligned with the heads of the "
    "scores [B, H, Tq, Tk]. Add a dimension of size 1 for the heads: [B, 1, 1, T], [B, 1, T, T].",
    formula=MASKS,
    hint="Write both shapes below each other, aligned on the right.",
    source="lsdefine/attention-is-all-you-need-keras#36",
)
def masks_without_head_dimension(steps: Steps) -> list[Steps]:
    def padding(call: Call, tokens: Tensor, pad: int) -> Tensor:
        return steps.padding(call, tokens, pad).squeeze(1)  # [B, 1, T]

    def target(inner: Steps, call: Call, tgt: Tensor) -> Tensor | None:
        mask = steps.tgt_mask(inner, call, tgt)
        return None if mask is None else mask.squeeze(1)  # [B, T, T]

    return [replace(steps, padding=padding), replace(steps, tgt_mask=target)]
