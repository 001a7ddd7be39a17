"""Weights of packed and wrapped projections under their canonical names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn


def keep_canonical_names(module: nn.Module, packed: Callable[[str], str], widths: Sequence[int]) -> None:
    """Let `state_dict` and `load_state_dict` of `module` speak of q_proj, k_proj and v_proj.

    The module holds the three projections of [width, D] in one parameter of [sum of widths, D] (and
    [sum of widths] for the bias). With this, weights can be exchanged with every other attention, and
    saved models do not depend on how a variant stores them.

    Args:
        packed: name of the packed parameter for kind "weight" or "bias".
        widths: how many rows are q_proj's, k_proj's and v_proj's.
    """

    def split(_module: nn.Module, state: dict[str, Any], prefix: str, _meta: dict[str, Any]) -> None:
        for kind in ("weight", "bias"):
            whole = state.pop(prefix + packed(kind), None)
            if whole is not None:
                for letter, part in zip(
                    "qkv", whole.split(widths), strict=True
                ):  # [sum, ..] -> 3 x [width, ..]
                    state[f"{prefix}{letter}_proj.{kind}"] = part

    def join(_module: nn.Module, state: dict[str, Any], prefix: str, *_rest: object) -> None:
        for kind in ("weight", "bias"):
            names = [f"{prefix}{letter}_proj.{kind}" for letter in "qkv"]
            if all(name in state for name in names):
                state[prefix + packed(kind)] = torch.cat([state.pop(name) for name in names])  # -> [sum, ..]

    module.register_state_dict_post_hook(split)
    module.register_load_state_dict_pre_hook(join)


def hide_child(module: nn.Module, child: str) -> None:
    """Let `state_dict` and `load_state_dict` of `module` name the weights of its only child as its own."""

    def hide(_module: nn.Module, state: dict[str, Any], prefix: str, _meta: dict[str, Any]) -> None:
        for name in [name for name in state if name.startswith(f"{prefix}{child}.")]:
            state[prefix + name.removeprefix(f"{prefix}{child}.")] = state.pop(name)

    def show(_module: nn.Module, state: dict[str, Any], prefix: str, *_rest: object) -> None:
        for name in [name for name in state if name.startswith(prefix)]:
            state[f"{prefix}{child}.{name.removeprefix(prefix)}"] = state.pop(name)

    module.register_state_dict_post_hook(hide)
    module.register_load_state_dict_pre_hook(show)
