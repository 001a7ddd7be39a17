"""Mistakes with the projections, the gradient and the arguments."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.attention.reference import Call
from grader.exercises.kv_cache.mistakes.collection import HEADS, PAPER, mistake
from grader.exercises.kv_cache.reference import Steps


@mistake(
    "output-projection-missing",
    "The heads are returned without the output projection W_O.",
    formula=HEADS,
    hint="How many projections are in the formula?",
    source=f"{PAPER}.2; awf/functional-transformer#8",
)
def output_projection_missing(steps: Steps) -> list[Steps]:
    def project(call: Call, role: str, x: Tensor) -> Tensor:
        return x if role == "out" else steps.project(call, role, x)

    return [replace(steps, project=project), replace(steps, project=project, roles=("q", "k", "v"))]


@mistake(
    "projection-missing",
    "Query, key or value is used without its projection.",
    formula=HEADS,
    hint="List your module's named_parameters() with their shapes.",
    source=f"{PAPER}.2",
)
def projection_missing(steps: Steps) -> list[Steps]:
    def without(*missing: str) -> list[Steps]:
        def project(call: Call, role: str, x: Tensor) -> Tensor:
            return x if role in missing else steps.project(call, role, x)

        roles = tuple(role for role in steps.roles if role not in missing)
        return [replace(steps, project=project), replace(steps, project=project, roles=roles)]

    return [one for missing in ("q", "k", "v", "qkv") for one in without(*missing)]


@mistake(
    "projection-shared",
    "One projection is used for two of query, key and value; each needs its own.",
    formula=HEADS,
    hint="Which matrix does each of the three lines use?",
    source="Khaliladib11/Transformer-from-scratch#1; jsbaan/transformer-from-scratch#1",
)
def projection_shared(steps: Steps) -> list[Steps]:
    def shared(used: dict[str, str]) -> list[Steps]:
        def project(call: Call, role: str, x: Tensor) -> Tensor:
            return steps.project(call, used.get(role, role), x)

        roles = tuple(role for role in steps.roles if role not in used)
        fewer = replace(steps, project=project, roles=roles)
        # With all four matrices in place, values that go through W_K are keys: another mistake's name.
        return [fewer] if used == {"v": "k"} else [replace(steps, project=project), fewer]

    pairs = ({"v": "k"}, {"k": "v"}, {"k": "q"}, {"q": "k"}, {"k": "q", "v": "q"})
    return [one for used in pairs for one in shared(used)]


@mistake(
    "projections-swapped",
    "Projections are swapped: query, key or value goes through another's matrix.",
    formula=HEADS,
    hint="Compare the names in each line.",
    source="yflyzhang/AnnotatedTransformer#1",
)
def projections_swapped(steps: Steps) -> list[Steps]:
    def swapped(used: dict[str, str]) -> Steps:
        return replace(steps, project=lambda call, role, x: steps.project(call, used.get(role, role), x))

    return [swapped({"k": "v", "v": "k"}), swapped({"q": "k", "k": "q"}), swapped({"q": "v", "v": "q"})]


@mistake(
    "projections-frozen",
    "Parameters have requires_grad=False, so they never learn.",
    hint="Search for requires_grad, detach and buffers.",
)
def projections_frozen(steps: Steps) -> Steps:
    return replace(steps, trained=False)


@mistake(
    "no-gradient",
    "No gradient flows through the current step: it is detached, or runs under torch.no_grad(). Only "
    "tensors from the cache may be detached.",
    hint="Search for detach, .data and no_grad.",
)
def no_gradient(steps: Steps) -> list[Steps]:
    def cut(*roles: str) -> Steps:
        def project(call: Call, role: str, x: Tensor) -> Tensor:
            out = steps.project(call, role, x)
            return out.detach() if role in roles else out

        return replace(steps, project=project)

    return [cut("out"), cut("k", "v"), cut("q", "k", "v")]


@mistake(
    "division-unchecked",
    "A d_model that is not divisible by num_heads is accepted, or rejected with an error other than "
    "ValueError.",
    formula="d_k = d_model / num_heads",
    hint="What is 6 // 4?",
)
def division_unchecked(steps: Steps) -> list[Steps]:
    def asserts(d_model: int, num_heads: int) -> None:
        assert d_model % num_heads == 0

    return [replace(steps, check=lambda _d_model, _num_heads: None), replace(steps, check=asserts)]


@mistake(
    "output-not-one-step",
    "The output is not [B, 1, D]: the length dimension is missing, or every step returns all positions "
    "again.",
    formula="out [B, 1, D]",
    hint="Print the shape of the output after three steps.",
)
def output_not_one_step(steps: Steps) -> list[Steps]:
    def squeezed(call: Call, out: Tensor, cache: Any) -> Any:
        return steps.finish(call, out.squeeze(1), cache)

    def all_so_far(call: Call, out: Tensor, cache: Any) -> Any:
        return steps.finish(call, out.expand(-1, cache[0].size(2), -1), cache)

    return [replace(steps, finish=squeezed), replace(steps, finish=all_so_far)]


@mistake(
    "input-changed-in-place",
    "The input is modified in place; the caller still uses it.",
    hint="Methods that end in _ and the operators += and *= work in place.",
)
def input_changed_in_place(steps: Steps) -> list[Steps]:
    def finish(call: Call, out: Tensor, cache: Any) -> Any:
        with torch.no_grad():
            call.query.mul_(0.5)
        return steps.finish(call, out, cache)

    return [replace(steps, finish=finish)]
