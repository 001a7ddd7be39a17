"""Mistakes with the cache: what is put in, what is taken out, and where it is kept."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from grader.exercises.attention.reference import Call
from grader.exercises.kv_cache.mistakes.collection import JOIN, STEP, mistake
from grader.exercises.kv_cache.reference import Pair, Steps


@mistake(
    "cache-ignored",
    "The cache has no effect: each position attends to itself alone.",
    formula=JOIN,
    hint="What does forward do with the argument cache?",
)
def cache_ignored(steps: Steps) -> list[Steps]:
    def empty(_call: Call, _cache: Any, _new: Pair, _everything: Pair) -> None:
        return None

    return [replace(steps, found=lambda _call, _cache: None), replace(steps, store=empty)]


@mistake(
    "only-last-step-cached",
    "The returned cache contains only the newest key and value; all earlier ones are lost.",
    formula=JOIN,
    hint="How long should the cache be after three steps?",
)
def only_last_cached(steps: Steps) -> Steps:
    return replace(steps, store=lambda _call, _cache, new, _everything: new)


@mistake(
    "only-first-step-cached",
    "The cache stays as it was after the first step: later keys and values are not added to it.",
    formula=JOIN,
    hint="How long should the cache be after three steps?",
)
def only_first_cached(steps: Steps) -> Steps:
    return replace(steps, store=lambda _call, cache, new, _everything: new if cache is None else cache)


@mistake(
    "cache-window",
    "Only the last few positions stay in the cache; full causal attention needs all of them.",
    formula=JOIN,
    hint="How long is the cache after many steps?",
)
def cache_window(steps: Steps) -> list[Steps]:
    def window(length: int) -> Steps:
        def store(_call: Call, _cache: Any, _new: Pair, everything: Pair) -> Pair:
            return everything[0][:, :, -length:], everything[1][:, :, -length:]

        return replace(steps, store=store)

    return [window(length) for length in (2, 3, 4, 5, 8, 10)]


@mistake(
    "keys-and-values-confused",
    "Keys and values are mixed up in the cache: keys are stored as values, values as keys, or both.",
    formula=JOIN,
    hint="Follow k and v into the cache and out of it again.",
    source="yflyzhang/AnnotatedTransformer#1",
)
def keys_and_values_confused(steps: Steps) -> list[Steps]:
    def store(first: int, second: int) -> Steps:
        return replace(
            steps,
            store=lambda _call, _cache, _new, everything: (everything[first], everything[second]),
        )

    return [store(0, 0), store(1, 1), store(1, 0)]


@mistake(
    "new-token-not-seen",
    "The new position does not attend to itself: its own key and value are not part of this step's keys "
    "and values.",
    formula=STEP,
    hint="In causal attention, may a position attend to itself?",
)
def new_token_not_seen(steps: Steps) -> list[Steps]:
    def without_itself(inner: Steps, call: Call, cache: Any, k: Tensor, v: Tensor) -> Pair:
        keys, values = steps.extend(inner, call, cache, k, v)
        return (keys, values) if cache is None else (keys[:, :, :-1], values[:, :, :-1])

    def stored(call: Call, cache: Any, new: Pair, everything: Pair) -> Any:
        both = (new, everything) if cache is None else (new, (cache[0], cache[1]))
        joined = (
            both[1]
            if cache is None
            else tuple(steps.join(call, old, one) for old, one in zip(both[1], new, strict=True))
        )
        return steps.store(call, cache, new, (joined[0], joined[1]))

    return [replace(steps, extend=without_itself, store=stored)]


@mistake(
    "keys-and-values-in-other-order",
    "New keys are added at one end and new values at the other, so a weight is applied to the value of "
    "another position.",
    formula=JOIN,
    hint="At which end is the new position, in both?",
)
def other_order(steps: Steps) -> list[Steps]:
    def front(at_front: int) -> Steps:
        def extend(inner: Steps, call: Call, cache: Any, k: Tensor, v: Tensor) -> Pair:
            if cache is None:
                return k, v
            new = (k, v)
            both = [
                inner.join(call, new[i], cache[i]) if i == at_front else inner.join(call, cache[i], new[i])
                for i in (0, 1)
            ]
            return both[0], both[1]

        return replace(steps, extend=extend)

    return [front(0), front(1)]


@mistake(
    "cache-wrong-dimension",
    "The shapes do not fit from the second step on. Most often old and new keys are concatenated along "
    "another dimension than the length, or only keys or only values are taken from the cache.",
    formula=JOIN,
    hint="Print the shapes of K and V in the second step, before and after torch.cat.",
    source="PrimeIntellect-ai/prime-rl#2681",
)
def cache_wrong_dimension(steps: Steps) -> list[Steps]:
    def only(which: int) -> Steps:
        def extend(inner: Steps, call: Call, cache: Any, k: Tensor, v: Tensor) -> Pair:
            keys, values = steps.extend(inner, call, cache, k, v)
            return (keys, v) if which == 0 else (k, values)

        return replace(steps, extend=extend)

    joined = [
        replace(steps, join=lambda _call, old, new, d=d: torch.cat([old, new], d))  # type: ignore[misc]
        for d in (0, 1, 3)
    ]
    return [*joined, only(0), only(1)]


@mistake(
    "cache-averaged",
    "Old and new keys are averaged or summed; they must be concatenated, so that each position keeps its "
    "own.",
    formula=JOIN,
    hint="How long should the cache be after three steps?",
)
def cache_averaged(steps: Steps) -> list[Steps]:
    return [
        replace(steps, join=lambda _call, old, new: (old + new) / 2),
        replace(steps, join=lambda _call, old, new: old + new),
    ]


@mistake(
    "cache-in-module",
    "Keys and values are stored in the module, so a second sequence attends to those of the first. Store "
    "all state in the cache that forward returns.",
    formula="forward(x, cache) -> (out, cache)",
    hint="Search for attributes that forward sets on self.",
)
def cache_in_module(steps: Steps) -> list[Steps]:
    def keep(call: Call, cache: Any, new: Pair, everything: Pair) -> Any:
        call.memory["cache"] = found = steps.store(call, cache, new, everything)
        return found

    def reset(call: Call, cache: Any) -> Any:
        return None if cache is None else call.memory.get("cache")

    def if_it_fits(call: Call, _cache: Any) -> Any:
        kept = call.memory.get("cache")
        return kept if kept is not None and kept[0].size(0) == call.query.size(0) else None

    return [
        replace(steps, found=lambda call, _cache: call.memory.get("cache"), store=keep),
        replace(steps, found=if_it_fits, store=keep),
        replace(
            steps, found=lambda call, cache: call.memory.get("cache") if cache is None else cache, store=keep
        ),
        replace(steps, found=reset, store=keep),
    ]


@mistake(
    "cache-not-returned",
    "forward does not return the cache. It must return both: out, cache.",
    formula="forward(x, cache) -> (out, cache)",
    hint="How many values does your code return?",
)
def cache_not_returned(steps: Steps) -> list[Steps]:
    return [
        replace(steps, finish=lambda _call, out, _cache: out),
        replace(steps, finish=lambda _call, out, cache: (out, *cache)),
        replace(steps, finish=lambda _call, _out, _cache: None),
    ]


@mistake(
    "results-swapped",
    "The two results are in the wrong order: first out, then the cache.",
    formula="forward(x, cache) -> (out, cache)",
    hint="Look at your return statement.",
)
def results_swapped(steps: Steps) -> Steps:
    return replace(steps, finish=lambda _call, out, cache: (cache, out))


@mistake(
    "cache-projected-again",
    "Cached keys and values go through W_K and W_V again at each step. Either cache projected keys and "
    "values and use them directly, or cache inputs and project them.",
    formula=JOIN,
    hint="How many times is the first position's key multiplied by W_K?",
)
def cache_projected_again(steps: Steps) -> Steps:
    def extend(inner: Steps, call: Call, cache: Any, k: Tensor, v: Tensor) -> Pair:
        if cache is None:
            return k, v
        old = [
            inner.split(call, role, inner.project(call, role, inner.merge(call, one)))
            for role, one in zip("kv", cache, strict=True)
        ]
        return inner.join(call, old[0], k), inner.join(call, old[1], v)

    return replace(steps, extend=extend)


@mistake(
    "cache-not-projected",
    "The cache contains inputs that never go through W_K and W_V, so earlier positions are used without "
    "projection.",
    formula=JOIN,
    hint="What is in the cache: x, or k and v?",
)
def cache_not_projected(steps: Steps) -> Steps:
    def store(call: Call, cache: Any, new: Pair, everything: Pair) -> Any:
        raw = steps.split(call, "k", call.query)
        keys, values = (torch.cat([one[:, :, :-1], raw], 2) for one in everything)
        return steps.store(call, cache, new, (keys, values))

    return replace(steps, store=store)
