"""Mistakes in which mask each of the two attentions gets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.decoder.mistakes.collection import (
    CAUSAL,
    CROSS,
    INVERTED,
    LAYER,
    MASKS,
    SELF,
    SOURCE_MASK,
    mistake,
)
from grader.exercises.encoder_and_decoder.reference import Call, Mask, Steps

Turn = Callable[[Tensor], Tensor]


def _masks(steps: Steps, choose: Callable[[Mask, Mask], tuple[Mask, Mask]]) -> Steps:
    """With other masks for self-attention and cross-attention, made from both."""

    def called(call: Call) -> Call:
        given = steps.call(call)
        own, cross = choose(given.self_mask, given.cross_mask)
        return replace(given, self_mask=own, cross_mask=cross)

    return replace(steps, call=called)


@mistake(
    "masks-exchanged",
    "src_mask is passed to self-attention, and tgt_mask to cross-attention. A mask's columns are keys: "
    "target positions in self-attention, source positions in cross-attention.",
    formula=MASKS,
    hint="Try it with a target that is longer than its source.",
    source=SOURCE_MASK,
    parts=LAYER,
)
def masks_exchanged(steps: Steps) -> Steps:
    return _masks(steps, lambda own, cross: (cross, own))


@mistake(
    "cross-mask-is-target-mask",
    "Cross-attention gets tgt_mask. Its keys are the positions of the source, so it needs src_mask.",
    formula=CROSS,
    hint="A mask's columns are keys. Whose positions are the keys of cross-attention?",
    source=SOURCE_MASK,
    parts=LAYER,
)
def cross_mask_is_target_mask(steps: Steps) -> list[Steps]:
    def both(own: Mask, cross: Mask) -> Mask:
        return own & cross if own is not None and cross is not None else cross

    return [
        _masks(steps, lambda own, _cross: (own, own)),
        _masks(steps, lambda own, cross: (own, own if cross is None else cross)),
        _masks(steps, lambda own, cross: (own, both(own, cross))),
    ]


@mistake(
    "self-mask-is-source-mask",
    "Self-attention gets src_mask. Its keys are the positions of the target, so it needs tgt_mask.",
    formula=SELF,
    hint="A mask's columns are keys. Whose positions are the keys of self-attention?",
    parts=LAYER,
)
def self_mask_is_source_mask(steps: Steps) -> list[Steps]:
    return [
        _masks(steps, lambda _own, cross: (cross, cross)),
        _masks(steps, lambda own, cross: (cross if own is None else own, cross)),
    ]


@mistake(
    "cross-mask-not-passed",
    "src_mask is not passed to cross-attention (or no mask is passed to any attention), so the decoder "
    "attends to padding.",
    formula=CROSS,
    hint="Follow src_mask from forward's arguments to the attention.",
    source=SOURCE_MASK,
    parts=LAYER,
)
def cross_mask_not_passed(steps: Steps) -> list[Steps]:
    return [_masks(steps, lambda own, _cross: (own, None)), _masks(steps, lambda _own, _cross: (None, None))]


def _turned(steps: Steps, *turns: Turn) -> list[Steps]:
    """Something done to cross-attention's mask, or to both."""

    def on(turn: Turn, mask: Mask) -> Mask:
        return None if mask is None else turn(mask)

    def with_masks(turn: Turn, own: bool) -> Steps:
        return _masks(steps, lambda target, cross: (on(turn, target) if own else target, on(turn, cross)))

    return [with_masks(turn, own) for own in (False, True) for turn in turns]


@mistake(
    "cross-mask-inverted",
    "Cross-attention, or both attentions, get an inverted mask. True means that a key may be attended to. "
    "Pass masks on unchanged.",
    formula=MASKS,
    hint="Is there a ~ or a `== 0` around a mask?",
    source=INVERTED,
    parts=LAYER,
)
def cross_mask_inverted(steps: Steps) -> list[Steps]:
    return _turned(steps, lambda mask: mask == 0, lambda mask: ~mask)


@mistake(
    "cross-mask-converted",
    "Cross-attention, or both attentions, get their mask as the numbers 1 and 0, or in another shape. Pass "
    "masks on unchanged, whatever their form.",
    formula=MASKS,
    hint="What does your layer do to the masks before it passes them on?",
    source="pytorch/pytorch#29546",
    parts=LAYER,
)
def cross_mask_converted(steps: Steps) -> list[Steps]:
    return _turned(
        steps,
        lambda mask: mask.float(),
        lambda mask: mask.int(),
        lambda mask: mask.long(),
        lambda mask: mask.bool(),
        lambda mask: mask.unsqueeze(1),
        lambda mask: (1.0 - mask.float()) * -1e9,
    )


def _causal(rows: Tensor, columns: Tensor) -> Tensor:
    shape = (rows.size(1), columns.size(1))
    return torch.ones(shape, dtype=torch.bool, device=rows.device).tril()  # [Tq, Tk]


@mistake(
    "cross-attention-causal",
    "Cross-attention is causal: a target position attends only to source positions up to its own. The "
    "whole source is known before the first word is generated; only src_mask hides any of it.",
    formula=CROSS,
    hint="Which source positions may target position 0 attend to?",
    source=CAUSAL,
    parts=LAYER,
)
def cross_attention_causal(steps: Steps) -> list[Steps]:
    def asking(mask: Callable[[Mask, Tensor], Tensor]) -> Steps:
        def cross(call: Call, h: Tensor) -> Tensor:
            assert call.memory is not None
            chosen = mask(call.cross_mask, _causal(h, call.memory))
            return call.parts["cross"](h, call.memory, call.memory, chosen)

        return replace(steps, cross=cross)

    return [
        asking(lambda _mask, causal: causal),
        asking(lambda mask, causal: causal if mask is None else causal & mask),
        asking(lambda mask, causal: causal if mask is None else mask),
    ]


@mistake(
    "causal-mask-of-its-own",
    "The layer creates a causal mask itself. Only tgt_mask determines what self-attention may attend to; "
    "with None nothing is masked.",
    formula=SELF,
    hint="Masks are made by the caller, and passed on unchanged.",
    parts=LAYER,
)
def causal_mask_of_its_own(steps: Steps) -> list[Steps]:
    def attending(mask: Callable[[Mask, Tensor], Tensor]) -> Steps:
        return replace(
            steps,
            attend=lambda call, h: call.parts["self"](h, h, h, mask(call.self_mask, _causal(h, h))),
        )

    return [
        attending(lambda _mask, causal: causal),
        attending(lambda mask, causal: causal if mask is None else causal & mask),
        attending(lambda mask, causal: causal if mask is None else mask),
    ]
