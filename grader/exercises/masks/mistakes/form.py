"""Mistakes in a mask's shape and dtype, and in what is given back."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.masks.mistakes.collection import (
    everywhere,
    in_additive,
    in_causal,
    in_decoder,
    in_padding,
    mistake,
)
from grader.exercises.masks.reference import Steps


@mistake(
    "mask-dimensions-wrong",
    "The mask has too few or too many dimensions, or the wrong sizes. It must broadcast with scores [B, H, "
    "Tq, Tk]: its size is 1 in each dimension along which it is the same.",
    formula="padding [B, 1, 1, T], causal [1, 1, T, T], decoder [B, 1, T, T]",
    hint="Write the mask's shape below [B, H, Tq, Tk], aligned on the right.",
    source="PyTorch, broadcasting semantics",
)
def mask_dimensions_wrong(steps: Steps) -> list[Steps]:
    def rows(mask: Tensor) -> Tensor:
        return mask.expand(-1, -1, mask.size(-1), -1)

    of_padding: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda m: m[:, 0, 0],  # [B, T]
        lambda m: m[:, 0],  # [B, 1, T]
        lambda m: m[:, 0, 0][None, None],  # [1, 1, B, T]
        lambda m: m[:, 0, 0][None, :, None],  # [1, B, 1, T]
        rows,  # [B, 1, T, T]
        lambda m: rows(m)[:, 0],  # [B, T, T]
    )
    of_causal: tuple[Callable[[Tensor], Tensor], ...] = (lambda m: m[0, 0], lambda m: m[0])
    of_decoder: tuple[Callable[[Tensor], Tensor], ...] = (lambda m: m[:, 0], lambda m: m[:, None])
    return [
        *(in_padding(steps, change) for change in of_padding),
        *(in_causal(steps, change) for change in of_causal),
        *(in_decoder(steps, change) for change in of_decoder),
        in_additive(steps, lambda m: m.squeeze()),
        in_additive(steps, lambda m: m[None]),
    ]


@mistake(
    "mask-not-bool",
    "The mask is not bool. Attention would read 0 and 1 as an additive mask that masks nothing; 0 and -inf "
    "is the additive form, which only `to_additive` returns.",
    formula="dtype torch.bool",
    hint="Print mask.dtype. Which line turns True and False into numbers?",
    source="pytorch/pytorch#29546",
)
def mask_not_bool(steps: Steps) -> list[Steps]:
    def numbers(mask: Tensor) -> Tensor:
        return torch.zeros(mask.shape, device=mask.device).masked_fill(~mask, -math.inf)

    made = everywhere(steps, numbers)
    for dtype in (torch.float32, torch.int64, torch.int32, torch.uint8):
        made += everywhere(steps, lambda m, dtype=dtype: m.to(dtype))  # type: ignore[misc]
    return made


@mistake(
    "none-for-no-padding",
    "Without padding, None is returned instead of a mask. Callers combine masks, which fails with None: "
    "return a mask of all True.",
    formula="padding_mask [B, 1, 1, T], always",
    hint="What is returned for [[5, 8]]?",
)
def none_for_no_padding(steps: Steps) -> Steps:
    def unless_all(mask: Tensor) -> Any:
        return None if bool(mask.all()) else mask

    return replace(
        steps,
        padding=lambda tokens, pad: unless_all(steps.padding(tokens, pad)),
        join=lambda causal, padding: causal if padding is None else steps.join(causal, padding),
    )


@mistake(
    "row-without-keys-opened",
    "Rows without an allowed key are changed to allow one. They must stay as they are: a sentence of PAD "
    "only, or PAD at position 0, gives such rows, and attention handles them.",
    formula="padded queries keep their row; a row may have no allowed key",
    hint="What is row 0 of the result for tokens [[0, 5, 8]]?",
    source="pytorch/pytorch#103963",
)
def row_without_keys_opened(steps: Steps) -> list[Steps]:
    def all_open(mask: Tensor) -> Tensor:
        return mask | ~mask.any(-1, keepdim=True)

    def first_open(mask: Tensor) -> Tensor:
        opened = mask.clone()
        opened[..., 0] |= ~mask.any(-1)
        return opened

    def itself_open(mask: Tensor) -> Tensor:
        diagonal = torch.eye(mask.size(-1), dtype=torch.bool, device=mask.device)
        return mask | (diagonal & ~mask.any(-1, keepdim=True))

    def zeros(mask: Tensor) -> Tensor:
        return mask.masked_fill((mask == -math.inf).all(-1, keepdim=True), 0.0)

    return [
        *(change(steps, way) for change in (in_padding, in_decoder) for way in (all_open, first_open)),
        in_decoder(steps, itself_open),
        in_additive(steps, zeros),
    ]


@mistake(
    "argument-changed-in-place",
    "The tokens (or the mask) are modified in place. The caller still uses them, and the original batch is "
    "lost.",
    hint="Methods that end in _ (masked_fill_, logical_not_) and assignments such as tokens[...] = ... work in place.",
)
def argument_changed_in_place(steps: Steps) -> list[Steps]:
    def spoilt(change: Callable[[Tensor], object]) -> Callable[[Tensor, int], Any]:
        def padding(tokens: Tensor, pad: int) -> Any:
            mask = steps.padding(tokens.clone(), pad)
            change(tokens)
            return mask

        return padding

    def additive(mask: Tensor, dtype: torch.dtype) -> Any:
        out = steps.additive(mask.clone(), dtype)
        mask.logical_not_()
        return out

    ways: tuple[Callable[[Tensor], object], ...] = (
        lambda t: t.ne_(0),
        lambda t: t.zero_(),
        lambda t: t.clamp_(max=1),
    )
    return [*(replace(steps, padding=spoilt(way)) for way in ways), replace(steps, additive=additive)]
