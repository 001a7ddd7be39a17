"""Mistakes in which masks a stack of decoder layers hands on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.exercises.decoder.mistakes.collection import INVERTED, LOOP, SOURCE_MASK, STACK, mistake
from grader.exercises.decoder.mistakes.stack import calling
from grader.exercises.encoder_and_decoder.reference import Mask, Steps


def _masks(steps: Steps, choose: Callable[[int, Mask, Mask], tuple[Mask, Mask]]) -> Steps:
    """With other masks for the layers, made from a layer's number and both masks."""

    def arguments(i: int, x: Tensor, memory: Tensor, src: Mask, tgt: Mask) -> Sequence[Any]:
        return x, memory, *choose(i, src, tgt)

    return calling(steps, arguments)


@mistake(
    "stack-masks-exchanged",
    "The layers get tgt_mask as src_mask, and vice versa.",
    formula=LOOP,
    hint="Compare the order of the arguments with the layer's forward.",
    source=SOURCE_MASK,
    parts=STACK,
)
def stack_masks_exchanged(steps: Steps) -> Steps:
    return _masks(steps, lambda _i, src, tgt: (tgt, src))


@mistake(
    "stack-one-mask-for-both",
    "The layers get the same mask twice. src_mask is for cross-attention, tgt_mask for self-attention.",
    formula=LOOP,
    hint="What are the last two arguments of each layer?",
    source=SOURCE_MASK,
    parts=STACK,
)
def stack_one_mask_for_both(steps: Steps) -> list[Steps]:
    return [
        _masks(steps, lambda _i, _src, tgt: (tgt, tgt)),
        _masks(steps, lambda _i, src, _tgt: (src, src)),
    ]


@mistake(
    "stack-mask-in-wrong-place",
    "One mask is passed as the other: layer(x, memory, tgt_mask) passes tgt_mask as src_mask.",
    formula=LOOP,
    hint="Which argument of the layer's forward is the third?",
    parts=STACK,
)
def stack_mask_in_wrong_place(steps: Steps) -> list[Steps]:
    return [
        _masks(steps, lambda _i, _src, tgt: (tgt, None)),
        _masks(steps, lambda _i, src, _tgt: (None, src)),
    ]


@mistake(
    "stack-source-mask-not-passed",
    "src_mask is not passed to the layers, or not to all of them (or neither mask is), so the decoder "
    "attends to padding.",
    formula=LOOP,
    hint="Are both masks passed in the call of every layer?",
    source=SOURCE_MASK,
    parts=STACK,
)
def stack_source_mask_not_passed(steps: Steps) -> list[Steps]:
    return [
        _masks(steps, lambda _i, _src, tgt: (None, tgt)),
        _masks(steps, lambda i, src, tgt: (None if i else src, tgt)),
        _masks(steps, lambda _i, _src, _tgt: (None, None)),
        _masks(steps, lambda i, src, tgt: (None, None) if i else (src, tgt)),
    ]


@mistake(
    "stack-source-mask-inverted",
    "The layers get src_mask, or both masks, inverted. True means that a key may be attended to. Pass "
    "masks on unchanged.",
    formula=LOOP,
    hint="Is there a ~ or a `== 0` around a mask?",
    source=INVERTED,
    parts=STACK,
)
def stack_source_mask_inverted(steps: Steps) -> list[Steps]:
    return _turned(steps, lambda mask: mask == 0, lambda mask: ~mask)


@mistake(
    "stack-masks-converted",
    "The layers get a mask as the numbers 1 and 0, or in another shape. Pass masks on unchanged, whatever "
    "their form.",
    formula=LOOP,
    hint="What does the stack do to the masks before it passes them on?",
    source="pytorch/pytorch#29546",
    parts=STACK,
)
def stack_masks_converted(steps: Steps) -> list[Steps]:
    both = _turned(
        steps,
        lambda mask: mask.float(),
        lambda mask: mask.int(),
        lambda mask: mask.bool(),
        lambda mask: mask.unsqueeze(1),
        lambda mask: (1.0 - mask.float()) * -1e9,
    )
    own = [
        _masks(steps, lambda _i, src, tgt: (src, None if tgt is None else tgt.float())),
        _masks(steps, lambda _i, src, tgt: (src, None if tgt is None else tgt.unsqueeze(1))),
    ]
    return [*both, *own]


def _turned(steps: Steps, *turns: Callable[[Tensor], Tensor]) -> list[Steps]:
    """Something done to src_mask, or to both masks."""

    def on(turn: Callable[[Tensor], Tensor], mask: Mask) -> Mask:
        return None if mask is None else turn(mask)

    def with_masks(turn: Callable[[Tensor], Tensor], own: bool) -> Steps:
        return _masks(steps, lambda _i, src, tgt: (on(turn, src), on(turn, tgt) if own else tgt))

    return [with_masks(turn, own) for own in (False, True) for turn in turns]


@mistake(
    "stack-causal-mask-of-its-own",
    "The stack creates a causal mask itself. Only tgt_mask determines what self-attention may attend to; "
    "with None nothing is masked.",
    formula=LOOP,
    hint="Masks are made by the caller, and passed on unchanged.",
    parts=STACK,
)
def stack_causal_mask_of_its_own(steps: Steps) -> list[Steps]:
    def own(mask: Callable[[Mask, Tensor], Tensor]) -> Steps:
        def arguments(_i: int, x: Tensor, memory: Tensor, src: Mask, tgt: Mask) -> Sequence[Any]:
            causal = torch.ones(x.size(1), x.size(1), dtype=torch.bool, device=x.device).tril()
            return x, memory, src, mask(tgt, causal)

        return calling(steps, arguments)

    return [
        own(lambda _mask, causal: causal),
        own(lambda mask, causal: causal if mask is None else causal & mask),
        own(lambda mask, causal: causal if mask is None else mask),
    ]
