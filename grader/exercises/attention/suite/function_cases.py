"""What the hidden tests ask `scaled_dot_product_attention`."""

from __future__ import annotations

from dataclasses import replace

import torch

from grader.engine.cases import Case, finite_only, without_empty_rows
from grader.engine.draws import Draws, additive, causal

WIDTH, VALUE_WIDTH = 8, 6


def function_cases(seed: int) -> list[Case]:
    """The whole battery, in the order of the tests."""
    draws = Draws(seed)
    makers = (_plain, _large_scores, _bool_masks, _leaks, _empty_rows, _gradients, _dtypes, _state)
    return [replace(case, seed=seed) for make in makers for case in make(draws)]


def _case(
    title: str, group: str, inputs: tuple[torch.Tensor, torch.Tensor, torch.Tensor], *traits: str
) -> Case:
    return Case(title, "function", group, inputs, traits=frozenset(traits))


def _plain(draws: Draws) -> list[Case]:
    queries, keys = draws.integer(3, 4), draws.integer(5, 7)
    lead = (2, 3)
    many = {
        "[batch, heads, length, width] inputs of equal lengths": ((*lead,), 5, 5, WIDTH),
        f"{queries} queries and {keys} keys": ((*lead,), queries, keys, WIDTH),
        "a value that is narrower than the key": ((*lead,), 5, 5, VALUE_WIDTH),
        "[length, width] inputs": ((), 4, 5, VALUE_WIDTH),
        "[batch, length, width] inputs": ((3,), 4, 5, WIDTH),
        "five-dimensional inputs": ((2, 1, 3), 3, 4, WIDTH),
        "a single query, key and batch": ((1, 1), 1, 1, WIDTH),
        "a single query": ((*lead,), 1, keys, WIDTH),
    }
    cases = []
    for title, (front, tq, tk, value_width) in many.items():
        traits = {f"{len(front) + 2}-dimensional inputs"} - {"4-dimensional inputs"}
        traits |= {"more keys than queries"} if tq != tk else set()
        traits |= {"a value of another width than the key"} if value_width != WIDTH else set()
        cases.append(_case(title, "numbers", draws.inputs(front, tq, tk, WIDTH, value_width), *traits))
    return cases


def _large_scores(draws: Draws) -> list[Case]:
    query, key, value = draws.inputs((2, 2), 4, 5, 4)
    large = ((query * 30).round(), (key * 30).round(), value)
    return [replace(_case("scores of several hundred", "large scores", large, "large scores"), slack=50.0)]


def _bool_masks(draws: Draws) -> list[Case]:
    """Every mask as bool and as numbers."""
    size, queries, keys = draws.integer(4, 5), 3, draws.integer(5, 6)
    shaped = {
        "a causal mask": (draws.inputs((2, 3), size, size, WIDTH), causal(size)),
        "a padding mask": (draws.inputs((3, 2), queries, keys, WIDTH), draws.padding(3, keys)),
        "a padding mask and equal lengths": (draws.inputs((3, 2), keys, keys, WIDTH), draws.padding(3, keys)),
        "a mask for each head": (draws.inputs((2, 3), queries, keys, WIDTH), draws.mask(2, 3, queries, keys)),
        "a mask for each sentence": (draws.inputs((2, 3), size, size, WIDTH), draws.mask(2, 1, size, size)),
        "[length, width] inputs": (draws.inputs((), 4, 5, WIDTH), draws.mask(4, 5)),
        "[batch, length, width] inputs": (draws.inputs((3,), 4, 5, WIDTH), draws.mask(3, 4, 5)),
    }
    cases = []
    for title, (inputs, mask) in shaped.items():
        same = {"more keys than queries"} if inputs[0].size(-2) != inputs[1].size(-2) else set()
        same |= {f"{inputs[0].dim()}-dimensional inputs"} - {"4-dimensional inputs"}
        bool_case = replace(_case(f"{title} (bool)", "bool masks", inputs, "a bool mask", *same), mask=mask)
        cases.append(bool_case)
        cases.append(as_additive(bool_case, f"{title} (additive)"))
    return cases


def as_additive(case: Case, title: str) -> Case:
    """The same case with its mask as numbers."""
    if case.mask is None:
        raise AssertionError("a case without a mask")
    traits = (case.traits - {"a bool mask"}) | {"an additive mask"}
    group = case.group.replace("bool", "additive")
    return replace(case, title=title, group=group, mask=additive(case.mask), traits=traits)


def _both_kinds(case: Case) -> list[Case]:
    """The case with its bool mask, and with the same mask as numbers."""
    return [
        replace(case, title=f"{case.title} (bool mask)", traits=case.traits | {"a bool mask"}),
        as_additive(case, f"{case.title} (additive mask)"),
    ]


def _leaks(draws: Draws) -> list[Case]:
    query, key, value = draws.inputs((2, 2), 3, 5, WIDTH)
    mask = draws.closed(2, 2, 3, 5)
    key[..., 4, :] *= 1e3
    value[..., 4, :] *= 1e5
    huge = replace(
        _case("huge numbers at masked positions", "leaks", (query, key, value), "huge masked values"),
        mask=mask,
    )
    # Scores of few bits are exact in whatever order they are computed: one unit in the last place of others is 0.2.
    query, key, value = draws.inputs((1, 1), 2, 2, 4)
    query = query.abs().ceil().clamp(max=3)
    key[..., 0, :] = -(2.0**19)
    low = replace(
        _case(
            "very low scores at the visible positions",
            "leaks",
            (query, key * 2, value),
            "very low visible scores",
        ),
        mask=torch.tensor([[True, False], [True, False]]),
    )
    return [*_both_kinds(huge), *_both_kinds(low)]


def _empty_rows(draws: Draws) -> list[Case]:
    inputs = draws.inputs((2, 2), 4, 5, WIDTH)
    mask = draws.mask(2, 1, 4, 5)
    mask[0, :, 1] = False
    mask[1, :, 3] = False
    case = replace(
        _case("a query that may attend to nothing", "empty rows", inputs, "a fully masked row"),
        mask=mask,
        digest=without_empty_rows,
    )
    backward = replace(
        case,
        title="the gradient with a query that may attend to nothing",
        digest=finite_only,
        cotangents=(draws.normal(2, 2, 4, WIDTH), None),
        traits=case.traits | {"the backward pass"},
    )
    return [*_both_kinds(case), *_both_kinds(backward)]


def _gradients(draws: Draws) -> list[Case]:
    inputs = draws.inputs((2, 3), 4, 6, WIDTH, VALUE_WIDTH)
    plain = replace(
        _case("the gradient without a mask", "gradients", inputs, "the backward pass"),
        cotangents=(draws.normal(2, 3, 4, VALUE_WIDTH), None),
    )
    masked = replace(plain, title="the gradient", mask=draws.mask(2, 1, 4, 6))
    return [plain, *_both_kinds(masked)]


def _dtypes(draws: Draws) -> list[Case]:
    cases = []
    for name, dtype in (("float64", torch.float64), ("bfloat16", torch.bfloat16)):
        inputs = draws.inputs((2, 3), 3, 5, WIDTH)
        plain = replace(_case(f"{name} inputs", "dtypes", inputs, f"{name} inputs"), dtype=dtype)
        cases += [plain, *_both_kinds(replace(plain, mask=draws.mask(2, 1, 3, 5)))]
    return cases


def _state(draws: Draws) -> list[Case]:
    inputs = draws.inputs((2, 3), 3, 5, WIDTH)
    masked = replace(_case("a call with a mask", "state", inputs), mask=draws.mask(2, 1, 3, 5))
    after = _case(
        "a call after one with a mask", "state", draws.inputs((2, 3), 3, 5, WIDTH), "an earlier call"
    )
    return [replace(after, earlier=masked)]
