"""What the hidden tests ask `MultiHeadAttention`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor

from grader.engine.cases import Case, Inputs, Observation, finite_only, without_empty_rows
from grader.engine.draws import Draws, causal
from grader.exercises.attention.suite.function_cases import _both_kinds, as_additive

Shapes = Mapping[str, tuple[int, ...]]
SIZES = ((8, 2), (12, 3), (6, 1))  # d_model, num_heads


class Maker:
    """Makes cases of the sizes whose parameters are known."""

    def __init__(self, seed: int, shapes: Callable[[int, int], Shapes]) -> None:
        self.draws, self.shapes = Draws(seed + 1), shapes

    def case(self, title: str, group: str, inputs: Inputs, heads: int, *traits: str) -> Case:
        weights = self.draws.weights(self.shapes(inputs[0].size(-1), heads))
        known = {*traits, *(["unequal lengths"] if inputs[0].size(1) != inputs[1].size(1) else [])}
        return Case(title, "class", group, inputs, heads=heads, weights=weights, traits=frozenset(known))


def class_cases(seed: int, shapes: Callable[[int, int], Shapes]) -> list[Case]:
    """The whole battery, in the order of the tests. `shapes`: canonical weights that are there, by size."""
    maker = Maker(seed, shapes)
    makers = (_plain, _masks, _leaks, _empty_rows, _gradients, _dropout, _dtypes, _state)
    return [replace(case, seed=seed) for make in makers for case in make(maker)]


def _plain(make: Maker) -> list[Case]:
    draws = make.draws
    same = draws.normal(2, 5, 8)
    many: dict[str, tuple[Inputs, int, tuple[str, ...]]] = {
        "self-attention": ((same, same.clone(), same.clone()), 2, ("self-attention",)),
        "three different inputs of equal length": (draws.inputs((3,), 4, 4, 8), 2, ()),
        "cross-attention of 3 queries and 5 keys": (draws.inputs((2,), 3, 5, 12), 3, ()),
        "cross-attention of 6 queries and 4 keys": (draws.inputs((2,), 6, 4, 8), 2, ()),
        "one head": (draws.inputs((2,), 4, 4, 6), 1, ("one head",)),
        "a batch of one and a length of one": (draws.inputs((1,), 1, 1, 8), 2, ("length one",)),
    }
    cases = [
        make.case(title, "numbers", inputs, heads, *traits) for title, (inputs, heads, traits) in many.items()
    ]
    query, key, value = draws.inputs((2,), 4, 5, 8)
    large = make.case(
        "scores of several hundred", "large scores", (query * 15, key * 15, value), 2, "large scores"
    )
    return [*cases, replace(large, slack=100.0)]


def _masks(make: Maker) -> list[Case]:
    draws, size = make.draws, make.draws.integer(4, 6)
    shaped = {
        "a causal mask [T, T]": (draws.inputs((2,), size, size, 8), 2, causal(size)),
        "a causal mask [T, T], T heads and T sentences": (draws.inputs((3,), 3, 3, 12), 3, causal(3)),
        "a padding mask [B, 1, 1, Tk]": (draws.inputs((3,), 3, 5, 8), 2, draws.padding(3, 5)),
        "a padding mask [B, 1, 1, Tk] and equal lengths": (
            draws.inputs((3,), 5, 5, 12),
            3,
            draws.padding(3, 5),
        ),
        "a mask [B, 1, Tq, Tk]": (draws.inputs((3,), 4, 4, 8), 2, draws.mask(3, 1, 4, 4)),
        "a mask [B, H, Tq, Tk]": (draws.inputs((2,), 3, 4, 12), 3, draws.mask(2, 3, 3, 4)),
    }
    cases = []
    for title, (inputs, heads, mask) in shaped.items():
        traits = ("a bool mask", f"a {mask.dim()}-dimensional mask")
        bool_case = make.case(f"{title} (bool)", "bool masks", inputs, heads, *traits)
        bool_case = replace(bool_case, mask=mask)
        cases += [bool_case, as_additive(bool_case, f"{title} (additive)")]
    return cases


def _leaks(make: Maker) -> list[Case]:
    query, key, value = make.draws.inputs((2,), 3, 5, 8)
    mask = make.draws.closed(2, 1, 3, 5)
    key[:, 4] *= 1e3
    value[:, 4] *= 1e4
    huge = make.case(
        "huge numbers at masked positions", "leaks", (query, key, value), 2, "huge masked values"
    )
    return [*_both_kinds(replace(huge, mask=mask)), *_both_kinds(_low_scores(make))]


def _low_scores(make: Maker) -> Case:
    """One visible key, which fits so badly that a weak fill value would beat it."""
    query, key, value = make.draws.inputs((1,), 2, 2, 8)
    case = make.case(
        "very low scores at the visible positions", "leaks", (query, key, value), 2, "very low visible scores"
    )
    weights = dict(_transparent(case).weights)
    for role in ("q", "k"):
        if weights.get(f"{role}.weight", torch.zeros(0)).shape == (8, 8):
            weights[f"{role}.weight"] = torch.eye(8, dtype=torch.float64)
    # Scores of few bits are exact in whatever order they are computed: one unit in the last place of others is 0.2.
    query = query.abs().ceil().clamp(max=3)
    key[:, 0] = -(2.0**20)
    return replace(
        case, inputs=(query, key, value), weights=weights, mask=torch.tensor([[True, False], [True, False]])
    )


def _empty_rows(make: Maker) -> list[Case]:
    draws = make.draws
    mask = draws.mask(2, 1, 4, 5)
    mask[0, :, 1] = False
    mask[1] = False
    case = make.case(
        "a query that may attend to nothing",
        "empty rows",
        draws.inputs((2,), 4, 5, 8),
        2,
        "a fully masked row",
    )
    case = replace(case, mask=mask, digest=without_empty_rows)
    backward = replace(
        case,
        title="the gradient with a query that may attend to nothing",
        digest=finite_only,
        cotangents=(draws.normal(2, 4, 8), None),
        traits=case.traits | {"the backward pass"},
    )
    return [*_both_kinds(case), *_both_kinds(backward)]


def _gradients(make: Maker) -> list[Case]:
    draws = make.draws
    plain = make.case(
        "the gradient without a mask", "gradients", draws.inputs((2,), 3, 5, 12), 3, "the backward pass"
    )
    plain = replace(plain, cotangents=(draws.normal(2, 3, 12), None))
    return [plain, *_both_kinds(replace(plain, title="the gradient", mask=draws.mask(2, 1, 3, 5)))]


def _dropout(make: Maker) -> list[Case]:
    draws = make.draws
    plain = make.case(
        "eval mode with dropout=0.5",
        "dropout in eval",
        draws.inputs((2,), 4, 5, 8),
        2,
        "dropout in eval mode",
    )
    off = make.case("train mode with dropout=0.0", "dropout", draws.inputs((2,), 4, 5, 8), 2, "train mode")
    return [
        replace(plain, dropout=0.5),
        replace(off, training=True),
        _weights_shown(make),
        _one_key(make),
    ]


def _weights_shown(make: Maker) -> Case:
    """Values that spell the weights: with identity matrices, column h*d + t of the output is head h's "
    "weight of key t."""
    batch, length, width, heads = 24, 4, 8, 2
    query, key, _ = make.draws.inputs((batch,), length, length, width)
    value = torch.eye(length, dtype=torch.float64).repeat(1, heads).expand(batch, length, width)
    case = make.case(
        "train mode with dropout=0.25, four keys",
        "dropout",
        (query, key, value),
        heads,
        "dropout in train mode",
    )
    return replace(_transparent(case), dropout=0.25, training=True, digest=dropped)


def _one_key(make: Maker) -> Case:
    """One key has weight 1: its value comes through scaled, or not at all, whole head by whole head."""
    query, key, value = make.draws.inputs((24,), 4, 1, 8)
    value = value.abs() + 0.5
    case = make.case(
        "train mode with dropout=0.25, one key", "dropout", (query, key, value), 2, "dropout in train mode"
    )
    return replace(_transparent(case), dropout=0.25, training=True, digest=dropped)


def _transparent(case: Case) -> Case:
    """Identity for value and output projection, no biases."""
    weights = dict(case.weights)
    for name, w in weights.items():
        role = name.split(".")[0]
        if role in ("v", "out") and name.endswith("weight") and w.size(0) == w.size(1):
            weights[name] = torch.eye(w.size(0), dtype=w.dtype)
        elif name.endswith("bias"):
            weights[name] = torch.zeros_like(w)
    return replace(case, weights=weights)


def undropped(case: Case) -> Tensor:
    """The output that the case has without dropout."""
    from grader.engine.subjects import Patched
    from grader.exercises.attention.reference import REFERENCE

    right = Patched(REFERENCE).run(replace(case.exact(), training=False, digest=None))
    return right.values.get("output", torch.ones_like(case.inputs[0]))


def dropped(case: Case, seen: Observation, plain: Tensor | None = None) -> Observation:
    """What dropout did to the `plain` output, as numbers that do not depend on chance."""
    output = seen.values.get("output")
    if output is None or output.shape != case.inputs[0].shape:
        return seen
    ratio = (output.double() / (undropped(case) if plain is None else plain)).unflatten(
        -1, (case.heads, -1)
    )  # [B, T, H, d]
    gone = ratio.abs() < 1e-4
    kept = ratio[~gone]
    share = float(gone.double().mean())
    whole = bool(((gone.all(-1)) | (~gone.any(-1))).all())
    even = bool(kept.numel()) and float(kept.max() - kept.min()) < 1e-2
    shown = {
        "share of weights dropped": _near(share, case.dropout, 1 - case.dropout),
        "factor of the weights kept": round(float(kept.mean()), 2) if even else -1.0,
        "heads dropped as a whole": float(whole),
        "same for all queries": float(bool((gone == gone[:, :1]).all())),
        "same for all heads": float(bool((gone == gone[:, :, :1]).all())),
        "rows that sum to 1": float(
            bool((ratio.sum(-1) / ratio.size(-1)).isfinite().all() and _sums(output))
        ),
    }
    return replace(
        seen, values={name: torch.tensor(number, dtype=torch.float64) for name, number in shown.items()}
    )


def _near(share: float, *wanted: float) -> float:
    """The wanted share that this one is a sample of; 0 and 1 are themselves."""
    if share in (0.0, 1.0):
        return share
    return next((one for one in wanted if abs(share - one) < 0.15), 0.5)


def _sums(output: Tensor) -> bool:
    return bool((output.unflatten(-1, (2, -1)).sum(-1) - 1).abs().max() < 1e-3)


def _dtypes(make: Maker) -> list[Case]:
    cases = []
    for name, dtype in (("float64", torch.float64), ("bfloat16", torch.bfloat16)):
        plain = make.case(f"{name} inputs", "dtypes", make.draws.inputs((2,), 3, 5, 8), 2, f"{name} inputs")
        plain = replace(plain, dtype=dtype)
        cases += [plain, *_both_kinds(replace(plain, mask=make.draws.mask(2, 1, 3, 5)))]
    return cases


def _state(make: Maker) -> list[Case]:
    masked = make.case("a call with a mask", "state", make.draws.inputs((2,), 4, 5, 8), 2)
    masked = replace(masked, mask=make.draws.mask(2, 1, 4, 5))
    after = make.case(
        "a call after one with a mask", "state", make.draws.inputs((2,), 4, 5, 8), 2, "an earlier call"
    )
    return [replace(after, earlier=masked)]
