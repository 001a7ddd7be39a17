"""Masks of all the forms that attention takes, for the attentions of a layer."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from grader.api import Draws, additive
from grader.exercises.encoder_and_decoder.suite.kinds import Kind, Size

Form = Callable[[Draws, int, int, int], Tensor]  # of a batch, so many queries, so many keys
Forms = Mapping[str, Form]


def padding(draws: Draws, batch: int, _queries: int, keys: int) -> Tensor:
    """bool [B, 1, 1, Tk]."""
    return draws.padding(batch, keys)


def square(draws: Draws, _batch: int, queries: int, keys: int) -> Tensor:
    """bool [Tq, Tk]."""
    return draws.mask(queries, keys)


def of_three_dimensions(draws: Draws, _batch: int, queries: int, keys: int) -> Tensor:
    """bool [H, Tq, Tk]: one for each of three heads, for all sentences."""
    return draws.mask(3, queries, keys)


def separate(draws: Draws, batch: int, queries: int, keys: int) -> Tensor:
    """bool [B, 1, Tq, Tk]: one for each sentence."""
    return draws.mask(batch, 1, queries, keys)


def closed_row(draws: Draws, batch: int, queries: int, keys: int) -> Tensor:
    """As `separate`, with a query that may attend to nothing."""
    mask = separate(draws, batch, queries, keys)
    mask[0, 0, queries - 1] = False
    return mask


def of_numbers(draws: Draws, batch: int, queries: int, keys: int) -> Tensor:
    """float [B, 1, Tq, Tk]: -inf where a key is hidden, else a number that is added to the score."""
    mask = additive(separate(draws, batch, queries, keys))
    return mask + draws.normal(*mask.shape).to(mask.dtype)


def open_numbers(_draws: Draws, batch: int, queries: int, keys: int) -> Tensor:
    """float [B, 1, Tq, Tk] of 0: every key is allowed."""
    return additive(torch.ones(batch, 1, queries, keys, dtype=torch.bool))


def every(kind: Kind, form: Form) -> Forms:
    """All of forward's masks in one form."""
    return dict.fromkeys(kind.masks.values(), form)


def drawn(kind: Kind, draws: Draws, size: Size, forms: Forms) -> dict[str, Tensor]:
    """Masks by the names of forward's arguments."""
    keys = {"self_attention": size.length, "cross_attention": size.source}
    return {
        mask: forms[mask](draws, size.batch, size.length, keys[attention])
        for attention, mask in kind.masks.items()
        if mask in forms
    }
