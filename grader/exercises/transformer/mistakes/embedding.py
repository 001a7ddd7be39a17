"""Mistakes in what the stacks are given: embeddings, their scale, positions."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor, nn

from grader.exercises.transformer.mistakes.collection import INPUT, PAPER, mistake
from grader.exercises.transformer.reference import Call, Steps


def _on(side: str, steps: Steps, change: Callable[[Call, Tensor], Tensor]) -> Steps:
    """Another scale on one side."""
    return replace(
        steps, scale=lambda call, where, x: change(call, x) if where == side else steps.scale(call, where, x)
    )


@mistake(
    "scale-missing",
    "The embeddings are not multiplied by sqrt(d_model), so they are small compared with the positions.",
    formula=INPUT,
    hint="What happens to an embedding before the positions are added?",
    source=f"{PAPER}; SamLynnEvans/Transformer#10, pytorch/tutorials#2849",
)
def scale_missing(steps: Steps) -> Steps:
    return replace(steps, scale=lambda _call, _side, x: x)


@mistake(
    "scale-one-side",
    "Only one of the two embeddings is multiplied by sqrt(d_model); source and target both must be.",
    formula=INPUT,
    hint="Compare what encode does to src with what decode does to tgt.",
    source=PAPER,
)
def scale_one_side(steps: Steps) -> list[Steps]:
    return [_on(side, steps, lambda _call, x: x) for side in ("src", "tgt")]


@mistake(
    "scale-divided",
    "The embeddings are divided by sqrt(d_model); they must be multiplied by it. (Attention scores are "
    "divided.)",
    formula=INPUT,
    hint="Does the formula multiply or divide?",
    source=f"{PAPER}; pytorch/tutorials#2849",
)
def scale_divided(steps: Steps) -> Steps:
    return replace(steps, scale=lambda call, _side, x: x / math.sqrt(call.d_model))


@mistake(
    "scale-not-the-root",
    "The embeddings are multiplied by d_model itself, or by its square, instead of by its square root.",
    formula=INPUT,
    hint="Print the factor for d_model=16.",
    source=PAPER,
)
def scale_not_the_root(steps: Steps) -> list[Steps]:
    return [
        replace(steps, scale=lambda call, _side, x, p=p: x * call.d_model**p)  # type: ignore[misc]
        for p in (1, 2)
    ]


@mistake(
    "scale-twice",
    "The embeddings are multiplied by sqrt(d_model) twice.",
    formula=INPUT,
    hint="Search your file for sqrt.",
)
def scale_twice(steps: Steps) -> Steps:
    # Times d_model is the same; the way of writing it differs on one side only.
    return _on("tgt", steps, lambda call, x: x * call.d_model)


@mistake(
    "scale-by-other-size",
    "The embeddings are multiplied by the square root of another size than d_model: of the length, or of "
    "the batch.",
    formula=INPUT,
    hint="Which size does size(...) return?",
)
def scale_by_other_size(steps: Steps) -> list[Steps]:
    return [
        replace(steps, scale=lambda _call, _side, x, d=d: x * math.sqrt(x.size(d)))  # type: ignore[misc]
        for d in (0, 1)
    ]


@mistake(
    "scale-after-positions",
    "The sum of embeddings and positions is multiplied by sqrt(d_model); only the embeddings must be.",
    formula=INPUT,
    hint="In which order are the two steps?",
    source=PAPER,
)
def scale_after_positions(steps: Steps) -> list[Steps]:
    def placed(call: Call, side: str, x: Tensor) -> Tensor:
        return steps.scale(call, side, steps.place(call, side, x))

    def only(which: str) -> Steps:
        return replace(
            steps,
            scale=lambda call, side, x: x if side == which else steps.scale(call, side, x),
            place=lambda call, side, x: (
                placed(call, side, x) if side == which else steps.place(call, side, x)
            ),
        )

    return [replace(steps, scale=lambda _call, _side, x: x, place=placed), only("src"), only("tgt")]


@mistake(
    "scale-on-positions",
    "The positions are multiplied by sqrt(d_model) instead of the embeddings.",
    formula=INPUT,
    hint="Which of the two terms has the factor?",
    source=PAPER,
)
def scale_on_positions(steps: Steps) -> Steps:
    def placed(call: Call, side: str, x: Tensor) -> Tensor:
        return x + steps.scale(call, side, steps.place(call, side, x) - x)

    return replace(steps, scale=lambda _call, _side, x: x, place=placed)


@mistake(
    "positions-missing",
    "`positions` is never called, so the model does not know the order of the tokens.",
    formula=INPUT,
    hint="Is `positions` used anywhere outside __init__?",
    source="Attention Is All You Need, section 3.5",
)
def positions_missing(steps: Steps) -> Steps:
    return replace(steps, place=lambda _call, _side, x: x)


@mistake(
    "positions-one-side",
    "Positions are added on one side only; source and target both need them.",
    formula=INPUT,
    hint="Compare what encode does to src with what decode does to tgt.",
    source="Attention Is All You Need, section 3.5",
)
def positions_one_side(steps: Steps) -> list[Steps]:
    return [
        replace(steps, place=lambda call, side, x, m=m: x if side == m else steps.place(call, side, x))  # type: ignore[misc]
        for m in ("tgt", "src")
    ]


@mistake(
    "positions-added-to-x-again",
    "x is added to positions(x), which adds x itself, so the embeddings are added twice.",
    formula=INPUT,
    hint="What does the forward of positions.py return?",
)
def positions_added_again(steps: Steps) -> Steps:
    return replace(steps, place=lambda call, side, x: x + steps.place(call, side, x))


@mistake(
    "positions-twice",
    "The positions are added twice: `positions` is called twice for one sentence.",
    formula=INPUT,
    hint="Count the calls of positions for one sentence.",
)
def positions_twice(steps: Steps) -> Steps:
    return replace(steps, place=lambda call, side, x: steps.place(call, side, steps.place(call, side, x)))


@mistake(
    "positions-along-batch",
    "The positions run along the batch: batch and length are swapped around the call, so all tokens of a "
    "sentence get the same position.",
    formula=INPUT,
    hint="Everything here is [batch, length, d_model].",
    source="pytorch/tutorials#1547; cmu-l3/anlp-fall2025-code#1",
)
def positions_along_batch(steps: Steps) -> Steps:
    return replace(
        steps,
        place=lambda call, side, x: steps.place(call, side, x.transpose(0, 1)).transpose(
            0, 1
        ),  # [T, B, D] -> back
    )


@mistake(
    "positions-copied",
    "One side uses a copy of `positions`. Use the module that is passed in, for both sides.",
    formula=INPUT,
    hint="Does your file use deepcopy?",
)
def positions_copied(steps: Steps) -> Steps:
    def prepare(module: nn.Module) -> None:
        steps.prepare(module)
        module.other_positions = copy.deepcopy(module.positions)

    def placed(call: Call, side: str, x: Tensor) -> Tensor:
        if side == "src":
            return steps.place(call, side, x)
        found: Tensor = call.part("other_positions")(x)
        return found

    return replace(steps, prepare=prepare, place=placed)


@mistake(
    "one-embedding-for-both",
    "One embedding is used for source and target. They have different vocabularies: src_embed is for src, "
    "tgt_embed for tgt.",
    formula="src_embed(src) and tgt_embed(tgt)",
    hint="Which embedding does encode use, and which decode?",
)
def one_embedding(steps: Steps) -> list[Steps]:
    return [
        replace(steps, lookup=lambda call, _side, tokens, only=only: steps.lookup(call, only, tokens))  # type: ignore[misc]
        for only in ("src", "tgt")
    ]


@mistake(
    "embeddings-swapped",
    "src_embed and tgt_embed are swapped.",
    formula="src_embed(src) and tgt_embed(tgt)",
    hint="Compare the order of your arguments with the template's.",
)
def embeddings_swapped(steps: Steps) -> Steps:
    other = {"src": "tgt", "tgt": "src"}
    return replace(steps, lookup=lambda call, side, tokens: steps.lookup(call, other[side], tokens))
