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
    "PreNorm normalizes the residual sum, after the sublayer. That is post-norm; in pre-norm, only the "
    "sublayer's input is normalized.",
    formula=PRE,
    hint="Is x itself normalized before it is added?",
    source=f"{XIONG}; harvardnlp/annotated-transformer#92",
    parts=PRE_ONLY,
)
def post_norm_for_pre(steps: Steps) -> Steps:
    return _placed(steps, pre=steps.post)


@mistake(
    "pre-norm-for-post",
    "PostNorm normalizes the sublayer's input, and not the residual sum. That is pre-norm; in post-norm, "
    "the sum is normalized.",
    formula=POST,
    hint="What is the last step in post-norm?",
    source=f"{PAPER}; hkproj/pytorch-transformer#14",
    parts=POST_ONLY,
)
def pre_norm_for_post(steps: Steps) -> Steps:
    return _placed(steps, post=steps.pre)


@mistake(
    "residual-missing",
    "There is no residual connection: x is not added to the sublayer's output.",
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
    "norm(x) is added to the sublayer's output instead of x. In pre-norm the residual stream is never "
    "normalized: only the sublayer gets norm(x).",
    formula=PRE,
    hint="After x = norm(x), the original x is lost.",
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
    hint="norm(x) returns its result; x stays unchanged.",
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
    "The norm is applied to the sublayer's output before x is added, so x itself is never normalized.",
    formula=BOTH_FORMULAS,
    hint="In the formula, what is the argument of norm( )?",
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
    "The norm is applied twice, to the sublayer's input and to the sum; pre-norm and post-norm use it once "
    "each.",
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
    "PostNorm normalizes x and then adds the sublayer's output; the sum of both must be normalized.",
    formula=POST,
    hint="In the formula, what is inside the parentheses of norm( )?",
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
    "The sublayer's output is added to itself, because x is overwritten before it is added. The sum must "
    "contain x.",
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
    hint="How often is x added in the formula?",
)
def residual_doubled(steps: Steps) -> Steps:
    return _placed(
        steps,
        lambda s, call, x: x + x + _f(s, call, call.norm(x)),
        lambda s, call, x: call.norm(x + x + _f(s, call, x)),
    )
