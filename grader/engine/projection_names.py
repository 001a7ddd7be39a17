"""The role of a parameter in attention, by its name."""

from __future__ import annotations

import re
from functools import lru_cache
from math import prod

import torch

_WORDS = {
    "q": "q|query|queries",
    "k": "k|key|keys",
    "v": "v|value|values|val|vals",
    "out": "o|out|output|outputs",
}
_AROUND = r"(?:w|b|to|lin|linear|fc|proj|projection|p|mat|matrix|weight|weights|bias|s)?"
_ROLE = {role: re.compile(f"{_AROUND}(?:{words}){_AROUND}s?") for role, words in _WORDS.items()}
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


@lru_cache(maxsize=4096)
def role_of(name: str) -> str | None:
    """ "q", "k", "v" or "out" where a name says so plainly; None where it is silent or says several.

    `q_proj.weight`, `W_q`, `to_k`, `linear_v.bias`, `heads.0.query.weight`, `fc_out`, `wo`: plain.
    `qkv`, `in_proj_weight`, `linears.2.weight`, `dense`: not.
    """
    found = set()
    for word in re.split(r"[^a-zA-Z]+", _CAMEL.sub("_", name)):
        found |= {role for role, pattern in _ROLE.items() if pattern.fullmatch(word.lower())}
    return found.pop() if len(found) == 1 else None


def is_bias(name: str, dimensions: int) -> bool:
    """Return whether a parameter is a bias, by its dimensions or its name."""
    words = re.split(r"[^a-zA-Z]+", name.lower())
    return (
        dimensions <= 1
        or "bias" in words
        or "biases" in words
        or re.search(r"(^|\.)b_?[qkvo]$", name.lower()) is not None
    )


@lru_cache(maxsize=4096)
def is_bias_of(name: str, shape: torch.Size, width: int) -> bool:
    """The same, in a layer of a width; also one that is split by head, [H, d]: no dimension meets the width."""
    split = prod(shape) in (width, 2 * width, 3 * width, 4 * width) and all(size % width for size in shape)
    return split or is_bias(name, sum(size > 1 for size in shape))  # ones in a shape say nothing


@lru_cache(maxsize=4096)
def stem(name: str) -> str:
    """The name without its last part, which tells weight from bias: siblings share it."""
    for ending in ("_weight", "_bias", "weight", "bias"):
        if name.endswith(ending):
            return name[: -len(ending)]
    return name
