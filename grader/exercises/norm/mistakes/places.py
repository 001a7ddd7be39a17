"""Mistakes in where norm and residual stand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from torch import Tensor

from grader.exercises.norm.mistakes.collection import BOTH_FORMULAS, PAPER, POST, PRE, XIONG, mistake
from grader.exercises.norm.reference import Call, Steps

Place = Callable[[Steps, Call, Tensor], Any]
PRE_ONLY, POST_ONLY = ("PreNorm",), ("PostNorm",)


def _f(steps: Steps, call: Call, x: Tensor) -> Tensor:
    return steps.drop(call, call.f(x))


def _placed(steps: Steps, pre: Place | None = None, post: Place | None = None) -> Steps:
    return replace(steps, pre=pre or steps.pre, post=post or steps.post)


@mistake(
    "post-norm-for-pre",
    "PreNorm norms the sum, behind the sublayer. That is post-norm; in pre-norm the sublayer's input is normed, and "
    "the sum is not.",
    formula=PRE,
    hint="Does x itself go through the norm before it is added?",
    source=f"{XIONG}; harvardnlp/annotated-transformer#92",
    parts=PRE_ONLY,
)
def post_norm_for_pre(steps: Steps) -> Steps:
    return _placed(steps, pre=steps.post)


@mistake(
    "pre-norm-for-post",
    "PostNorm norms the sublayer's input, and not the sum. That is pre-norm; in post-norm the sum is normed.",
    formula=POST,
    hint="What is the last thing that happens in post-norm?",
    source=f"{PAPER}; hkproj/pytorch-transformer#14",
    parts=POST_ONLY,
)
def pre_norm_for_post(steps: Steps) -> Steps:
    return _placed(steps, post=steps.pre)


@mistake(
    "residual-missing",
    "x is not added to what the sublayer gives: there is no residual connection.",
    formula=BOTH_FORMULAS,
    hint="How does x itself bypass the sublayer?",
    source=PAPER,
)
def residual_missing(steps: Steps) -> Steps:
    return _placed(
        steps, lambda s, call, x: _f(s, call, call.norm(x)), lambda s, call, x: call.norm(_f(s, call, x))
    )


@mistake(
    "residual-from-normed",
    "The normed x is added to the sublayer's output. In pre-norm the residual stream itself is not "
    "normalized: only the sublayer gets norm(x).",
    formula=PRE,
    hint="x = norm(x) loses what x was.",
    source="Howuhh/faster-trajectory-transformer#3; datawhalechina/happy-llm#21",
    parts=PRE_ONLY,
)
def residual_from_normed(steps: Steps) -> Steps:
    def pre(s: Steps, call: Call, x: Tensor) -> Tensor:
        y = call.norm(x)
        return y + _f(s, call, y)

    return _placed(steps, pre)


@mistake(
    "norm-not-used",
    "The norm that is passed in is not called, or its result is not used.",
    formula=BOTH_FORMULAS,
    hint="norm(x) gives the result back; x stays as it is.",
)
def norm_not_used(steps: Steps) -> list[Steps]:
    def plain(s: Steps, call: Call, x: Tensor) -> Tensor:
        return x + _f(s, call, x)

    def wasted(s: Steps, call: Call, x: Tensor) -> Tensor:
        call.norm(x)
        return x + _f(s, call, x)

    return [_placed(steps, plain, plain), _placed(steps, wasted, wasted)]


@mistake(
    "norm-on-branch",
    "The norm is applied to the sublayer's output before x is added; x itself is not normalized.",
    formula=BOTH_FORMULAS,
    hint="Which brackets does the norm's argument have in the formula?",
    source="harvardnlp/annotated-transformer#92",
)
def norm_on_branch(steps: Steps) -> list[Steps]:
    def branch(s: Steps, call: Call, x: Tensor) -> Tensor:
        return x + call.norm(_f(s, call, x))

    def dropped_last(s: Steps, call: Call, x: Tensor) -> Tensor:
        return x + s.drop(call, call.norm(call.f(x)))

    return [_placed(steps, branch, branch), _placed(steps, dropped_last, dropped_last)]


@mistake(
    "norm-twice",
    "The norm is applied twice, to the sublayer's input and to the sum; each placement has one norm.",
    formula=BOTH_FORMULAS,
    hint="Count the norms in the formula.",
    source="harvardnlp/annotated-transformer#92",
)
def norm_twice(steps: Steps) -> Steps:
    def twice(s: Steps, call: Call, x: Tensor) -> Tensor:
        return call.norm(x + _f(s, call, call.norm(x)))

    return _placed(steps, twice, twice)


@mistake(
    "norm-before-sum",
    "PostNorm norms x alone and then adds the sublayer's output; the sum of both is to be normed.",
    formula=POST,
    hint="What is inside the brackets of norm( )?",
    parts=POST_ONLY,
)
def norm_before_sum(steps: Steps) -> list[Steps]:
    def post(s: Steps, call: Call, x: Tensor) -> Tensor:
        return call.norm(x) + _f(s, call, x)

    def normed(s: Steps, call: Call, x: Tensor) -> Tensor:
        y = call.norm(x)
        return y + _f(s, call, y)

    return [_placed(steps, post=post), _placed(steps, post=normed)]


@mistake(
    "residual-of-output",
    "The sublayer's output is added to itself, or x is replaced before it is added: the sum contains the "
    "branch twice and not x.",
    formula=BOTH_FORMULAS,
    hint="After x = f(x), what is x + f(x)?",
    source="kyegomez/BitNet#32",
)
def residual_of_output(steps: Steps) -> list[Steps]:
    def pre(s: Steps, call: Call, x: Tensor) -> Tensor:
        y = _f(s, call, call.norm(x))
        return y + y

    def post(s: Steps, call: Call, x: Tensor) -> Tensor:
        y = _f(s, call, x)
        return call.norm(y + y)

    return [_placed(steps, pre, post)]


@mistake(
    "residual-doubled",
    "x is added twice to the sublayer's output.",
    formula=BOTH_FORMULAS,
    hint="How often is x itself in the formula?",
)
def residual_doubled(steps: Steps) -> Steps:
    return _placed(
        steps,
        lambda s, call, x: x + x + _f(s, call, call.norm(x)),
        lambda s, call, x: call.norm(x + x + _f(s, call, x)),
    )
