"""Weights of packed projections under their canonical names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

KINDS = ("weight", "bias")


def keep_canonical_names(module: nn.Module, packed: str, widths: Sequence[int]) -> None:
    """Let `state_dict` and `load_state_dict` of `module` speak of q_proj, k_proj and v_proj.

    The module holds the three projections of [width, D] in one parameter of [sum of widths, D] (and
    [sum of widths] for the bias). With this, weights can be exchanged with every other attention, and
    saved models do not depend on how a variant stores them.

    Args:
        packed: name of the packed parameters, up to "weight" or "bias".
        widths: how many rows are q_proj's, k_proj's and v_proj's.
    """
    # no local functions: a module that holds one cannot be pickled
    module.register_state_dict_post_hook(partial(_split, packed, widths))
    module.register_load_state_dict_pre_hook(partial(_join, packed, widths))


def _split(
    packed: str, widths: Sequence[int], _module: nn.Module, state: dict[str, Any], prefix: str, _meta: object
) -> None:
    """Name the parts of the packed parameters in `state`."""
    for kind in KINDS:
        whole = state.pop(f"{prefix}{packed}{kind}", None)
        if whole is not None:
            parts = whole.split(widths)  # [sum, ..] -> 3 x [width, ..]
            state.update(zip(_names(prefix, kind), parts, strict=True))


def _join(
    packed: str,
    widths: Sequence[int],
    module: nn.Module,
    state: dict[str, Any],
    prefix: str,
    _meta: object,
    _strict: bool,
    missing: list[str],
    _unexpected: list[str],
    errors: list[str],
) -> None:
    """Pack the parts in `state`. Those that are missing or of another shape are noted, and stay what they were."""
    held = dict(module.named_parameters())
    for kind in KINDS:
        whole = f"{prefix}{packed}{kind}"
        if f"{packed}{kind}" not in held or whole in state:
            continue
        parts, kept = [], held[f"{packed}{kind}"].detach().split(widths)  # [sum, ..] -> 3 x [width, ..]
        for name, old in zip(_names(prefix, kind), kept, strict=True):
            part = state.pop(name, None)
            if part is None:
                missing.append(name)
            elif part.shape != old.shape:
                errors.append(  # as torch puts it
                    f"size mismatch for {name}: copying a param with shape {part.shape} from checkpoint, the "
                    f"shape in current model is {old.shape}."
                )
                part = None
            parts.append(part)
        if any(part is None for part in parts):
            parts = [old if part is None else part.to(old) for part, old in zip(parts, kept, strict=True)]
        state[whole] = torch.cat(parts)  # 3 x [width, ..] -> [sum, ..]


def _names(prefix: str, kind: str) -> list[str]:
    """The canonical names of the three parts."""
    return [f"{prefix}{letter}_proj.{kind}" for letter in "qkv"]
