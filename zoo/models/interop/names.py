"""The names of weights in torch's Transformer parts and in the zoo's."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

import torch
from torch import Tensor

PAIRS = (
    ("self_attn", "self_attention"),
    ("multihead_attn", "cross_attention"),
    ("linear1", "feed_forward.up_proj"),
    ("linear2", "feed_forward.down_proj"),
    ("norm1", "norm.norms.0"),
    ("norm2", "norm.norms.1"),
    ("norm3", "norm.norms.2"),
    ("norm", "final_norm"),
)
"""A part of a weight's name: torch's, the zoo's."""


def _renaming(pairs: Mapping[str, str]) -> Callable[[str], str]:
    names = sorted(map(re.escape, pairs), key=len, reverse=True)
    whole_parts = re.compile(rf"(?<![^.])(?:{'|'.join(names)})(?![^.])")
    return lambda name: whole_parts.sub(lambda match: pairs[match[0]], name)


_ours, _theirs = _renaming(dict(PAIRS)), _renaming({ours: theirs for theirs, ours in PAIRS})


def zoo_names(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """A torch part's `state_dict` as the zoo names it, each in_proj [3D, ..] cut into q_proj, k_proj and v_proj."""
    found: dict[str, Tensor] = {}
    for name, value in state.items():
        prefix, packed, kind = name.rpartition("in_proj_")
        if packed:
            for letter, part in zip("qkv", value.chunk(3), strict=True):  # [3D, ..] -> 3 x [D, ..]
                found[f"{_ours(prefix[:-1])}{prefix[-1:]}{letter}_proj.{kind}"] = part
        else:
            found[_ours(name)] = value
    return found


def torch_names(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The way back from `zoo_names`."""
    found: dict[str, Tensor] = {}
    for name, value in state.items():
        match = re.fullmatch(r"(.*\.|)([qkv])_proj\.(weight|bias)", name)
        if not match:
            found[_theirs(name)] = value
        elif match[2] == "q":
            parts = [state[f"{match[1]}{letter}_proj.{match[3]}"] for letter in "qkv"]
            name = f"{_theirs(match[1][:-1])}{match[1][-1:]}in_proj_{match[3]}"
            found[name] = torch.cat(parts)  # 3 x [D, ..] -> [3D, ..]
    return found
