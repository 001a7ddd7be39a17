"""Mistakes in where norms and residual sums stand."""

from __future__ import annotations

from dataclasses import replace

from torch import Tensor

from grader.exercises.encoder_and_decoder.mistakes.collection import (
    BOTH,
    LAYERS,
    PAPER,
    PLACES,
    POST,
    PRE,
    XIONG,
    mistake,
)
from grader.exercises.encoder_and_decoder.reference import Call, Place, Steps


def _f(s: Steps, call: Call, name: str, x: Tensor) -> Tensor:
    return s.drop(call, name, s.run(call, name, x))


@mistake(
    "always-post-norm",
    'norm="pre" behaves like post-norm: the residual sum is normalized. In pre-norm, only the sublayer\'s '
    "input is normalized.",
    formula=PRE,
    hint='What does your code do differently for norm="pre"?',
    source=f"{XIONG}; harvardnlp/annotated-transformer#92",
    parts=LAYERS,
)
def always_post_norm(steps: Steps) -> Steps:
    return replace(steps, pre=steps.post)


@mistake(
    "always-pre-norm",
    'norm="post" behaves like pre-norm: the sublayer\'s input is normalized. In post-norm, the residual sum '
    "is normalized.",
    formula=POST,
    hint='What does your code do differently for norm="post"?',
    source=f"{PAPER}; hkproj/pytorch-transformer#14",
    parts=LAYERS,
)
def always_pre_norm(steps: Steps) -> Steps:
    return replace(steps, post=steps.pre)


@mistake(
    "pre-and-post-exchanged",
    'Pre-norm and post-norm are swapped: norm="pre" gives post-norm, and norm="post" pre-norm.',
    formula=BOTH,
    hint="In pre-norm, what comes directly after the norm?",
    source=PLACES,
    parts=LAYERS,
)
def pre_and_post_exchanged(steps: Steps) -> Steps:
    return replace(steps, pre=steps.post, post=steps.pre)


@mistake(
    "default-is-pre-norm",
    "Without the argument `norm`, the layer uses pre-norm; the default must be post-norm, as in the paper.",
    formula='norm="post"',
    hint="Compare the signature with the template's.",
    parts=LAYERS,
)
def default_is_pre_norm(steps: Steps) -> Steps:
    return replace(steps, placement=lambda given: given or "pre")


@mistake(
    "residual-missing",
    "A residual connection is missing: a sublayer's input is not added to its output.",
    formula=BOTH,
    hint="How does x itself bypass each sublayer?",
    source=PAPER,
    parts=LAYERS,
)
def residual_missing(steps: Steps) -> list[Steps]:
    def without(*names: str) -> Steps:
        def pre(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
            return (
                _f(s, call, name, s.norm(call, i, x))
                if name in names
                else steps.pre(s, call, i, name, x, given)
            )

        def post(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
            return (
                s.norm(call, i, _f(s, call, name, x))
                if name in names
                else steps.post(s, call, i, name, x, given)
            )

        return replace(steps, pre=pre, post=post)

    return [without(*steps.order), *(without(name) for name in steps.order)]


@mistake(
    "residual-from-normed",
    "In pre-norm, norm(x) is added to a sublayer's output instead of x. The residual stream is never "
    "normalized: only the sublayer gets norm(x).",
    formula=PRE,
    hint="After x = norm(x), the original x is lost.",
    source="Howuhh/faster-trajectory-transformer#3; datawhalechina/happy-llm#21",
    parts=LAYERS,
)
def residual_from_normed(steps: Steps) -> list[Steps]:
    def normed(*names: str) -> Steps:
        def pre(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
            if name not in names:
                return steps.pre(s, call, i, name, x, given)
            y = s.norm(call, i, x)
            return y + _f(s, call, name, y)

        return replace(steps, pre=pre)

    return [normed(*steps.order), *(normed(name) for name in steps.order)]


@mistake(
    "residual-from-layer-input",
    "A later residual sum adds the layer's input; it must add that sublayer's own input, which already "
    "contains the attention's output.",
    formula=BOTH,
    hint="Which x is in the second sum?",
    source="strutive07/transformer-tensorflow2.0#14; OpenNMT/OpenNMT-py#1689",
    parts=LAYERS,
)
def residual_from_layer_input(steps: Steps) -> list[Steps]:
    def pre(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        return given + _f(s, call, name, s.norm(call, i, x))

    def post(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        return s.norm(call, i, given + _f(s, call, name, x))

    def only(which: str, place: Place, usual: Place) -> Place:
        return lambda s, call, i, name, x, given: (place if name == which else usual)(
            s, call, i, name, x, given
        )

    found = [replace(steps, pre=pre, post=post)]
    for name in reversed(steps.order[1:]):
        one_pre, one_post = only(name, pre, steps.pre), only(name, post, steps.post)
        found += [
            replace(steps, pre=one_pre, post=one_post),
            replace(steps, pre=one_pre),
            replace(steps, post=one_post),
        ]
    return found


@mistake(
    "sublayers-parallel",
    "All sublayers get the layer's input; each must get the result of the sublayer before it.",
    formula=BOTH,
    hint="What is the input of the feed-forward network?",
    parts=LAYERS,
)
def sublayers_parallel(steps: Steps) -> list[Steps]:
    def pre(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        return x + _f(s, call, name, s.norm(call, i, given))

    def post(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        return s.norm(call, i, x + _f(s, call, name, given))

    return [replace(steps, pre=pre, post=post), replace(steps, pre=pre), replace(steps, post=post)]


@mistake(
    "norm-on-branch",
    "The norm is applied to a sublayer's output before x is added, so x itself is never normalized.",
    formula=BOTH,
    hint="In the formula, what is the argument of norm( )?",
    source=PLACES,
    parts=LAYERS,
)
def norm_on_branch(steps: Steps) -> list[Steps]:
    def branch(s: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
        return x + s.norm(call, i, _f(s, call, name, x))

    return [replace(steps, pre=branch, post=branch), replace(steps, post=branch), replace(steps, pre=branch)]


@mistake(
    "norm-before-sum",
    "In post-norm, x is normalized before the sublayer's output is added; the sum of both must be "
    "normalized.",
    formula=POST,
    hint="In the formula, what is inside the parentheses of norm( )?",
    source=PLACES,
    parts=LAYERS,
)
def norm_before_sum(steps: Steps) -> list[Steps]:
    def post(s: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
        return s.norm(call, i, x) + _f(s, call, name, x)

    def normed(s: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
        y = s.norm(call, i, x)
        return y + _f(s, call, name, y)

    return [replace(steps, post=post), replace(steps, post=normed)]


@mistake(
    "norm-missing",
    "A sublayer has no norm: it is not created, or not called.",
    formula=BOTH,
    hint="Count the norms in forward.",
    source=PAPER,
    parts=LAYERS,
)
def norm_missing(steps: Steps) -> list[Steps]:
    def without(*places: int) -> Steps:
        return replace(steps, norm=lambda call, i, x: x if i in places else steps.norm(call, i, x))

    count = len(steps.order)
    return [
        without(*range(count)),
        *(without(i) for i in range(count)),
        replace(without(*range(count)), count=lambda _n, _p: 0),
    ]


@mistake(
    "norm-twice",
    "There is a norm both before a sublayer and after its sum; each sublayer has only one.",
    formula=BOTH,
    hint="Count the norms in the formula.",
    source=PLACES,
    parts=LAYERS,
)
def norm_twice(steps: Steps) -> list[Steps]:
    def twice(s: Steps, call: Call, i: int, name: str, x: Tensor, _given: Tensor) -> Tensor:
        return s.norm(call, i, x + _f(s, call, name, s.norm(call, i, x)))

    return [replace(steps, pre=twice), replace(steps, post=twice), replace(steps, pre=twice, post=twice)]


@mistake(
    "attention-half-normed",
    "In pre-norm, query, key and value of self-attention differ: some are norm(x), and some are x. All "
    "three must be norm(x).",
    formula="pre: y = norm(x); x = x + drop(self_attention(y, y, y, mask))",
    hint="How many of the three arguments are normalized?",
    source="tier4/Diffusion-Planner#239; NVIDIA/TransformerEngine#392",
    parts=LAYERS,
)
def attention_half_normed(steps: Steps) -> list[Steps]:
    def half(query: bool, key: bool, value: bool) -> Steps:
        def pre(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
            if name != "self":
                return steps.pre(s, call, i, name, x, given)
            y = s.norm(call, i, x)
            q, k, v = (y if one else x for one in (query, key, value))
            return x + s.drop(call, name, call.parts[name](q, k, v, call.self_mask))

        return replace(steps, pre=pre)

    return [half(True, False, False), half(False, True, True), half(True, True, False)]


@mistake(
    "sublayer-output-lost",
    "The output of a sublayer is not used: x is added to itself, or nothing is added to it.",
    formula=BOTH,
    hint="Where is the result of each sublayer used?",
    source="kyegomez/BitNet#32",
    parts=LAYERS,
)
def sublayer_output_lost(steps: Steps) -> list[Steps]:
    def lost(factor: int, *names: str) -> Steps:
        def place(usual: Place, normed: bool) -> Place:
            def placed(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
                if name not in names:
                    return usual(s, call, i, name, x, given)
                s.run(call, name, s.norm(call, i, x) if not normed else x)
                return s.norm(call, i, factor * x) if normed else factor * x

            return placed

        return replace(steps, pre=place(steps.pre, False), post=place(steps.post, True))

    return [lost(2, name) for name in steps.order] + [lost(1, name) for name in steps.order]
