"""Mistakes in the projections, and in which input goes through which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.attention.mistakes.collection import BOTH, CLASS, HEADS, PAPER_HEADS, mistake
from grader.exercises.attention.reference import Call, Steps, linear

HEAD = "head_i = Attention(Q W_Q, K W_K, V W_V)"
WORDS = {"q": "query", "k": "key", "v": "value", "out": "output"}


def without(steps: Steps, *roles: str) -> Callable[[int, int], dict[str, tuple[int, ...]]]:
    """The shapes, less those of some roles."""

    def shapes(d_model: int, num_heads: int) -> dict[str, tuple[int, ...]]:
        everything = steps.shapes(d_model, num_heads)
        return {name: shape for name, shape in everything.items() if name.split(".")[0] not in roles}

    return shapes


def using(steps: Steps, weights_of: dict[str, str]) -> Steps:
    """Some roles go through the weights of another role; their own are not there."""

    def project(call: Call, role: str) -> Tensor:
        if role not in weights_of:
            return steps.project(call, role)
        return linear(call, weights_of[role], call.inputs[("q", "k", "v").index(role)])

    return replace(steps, project=project)


def reading(steps: Steps, inputs: dict[str, str]) -> Steps:
    """Some inputs are replaced by another one."""

    def prepare(call: Call) -> Call:
        now = dict(zip(("query", "key", "value"), call.inputs, strict=True))
        return call.taking([now[inputs.get(name, name)] for name in now])

    return replace(steps, prepare=prepare)


@mistake(
    "no-output-projection",
    "There is no output projection: the concatenated heads are returned without W_O, so they cannot "
    "exchange information.",
    formula=HEADS,
    hint="What comes after Concat?",
    source=PAPER_HEADS,
    parts=CLASS,
)
def no_output_projection(steps: Steps) -> list[Steps]:
    unused = replace(steps, project_out=lambda _call, x: x)
    return [replace(unused, shapes=without(steps, "out")), unused]


def _unprojected(role: str) -> None:
    @mistake(
        f"no-{WORDS[role]}-projection",
        f"The {WORDS[role]} is used without its projection: W_{role.upper()} is missing or not used.",
        formula=HEAD,
        hint="Three inputs, three projections, before the heads are split.",
        source=PAPER_HEADS,
        parts=CLASS,
    )
    def missing(steps: Steps) -> list[Steps]:
        def project(call: Call, which: str) -> Tensor:
            if which == role:
                return call.inputs[("q", "k", "v").index(role)]
            return steps.project(call, which)

        unused = replace(steps, project=project)
        return [replace(unused, shapes=without(steps, role)), unused]


for _role in ("q", "k", "v"):
    _unprojected(_role)


@mistake(
    "no-input-projections",
    "Query, key and value are used without projections, so the heads cannot learn what to compare.",
    formula=HEAD,
    hint="Three inputs, three projections, before the heads are split.",
    source=PAPER_HEADS,
    parts=CLASS,
)
def no_input_projections(steps: Steps) -> Steps:
    def project(call: Call, role: str) -> Tensor:
        return call.inputs[("q", "k", "v").index(role)]

    return replace(steps, project=project, shapes=without(steps, "q", "k", "v"))


def _borrowed(role: str, other: str) -> None:
    @mistake(
        f"{WORDS[role]}-through-{WORDS[other]}-projection",
        f"The {WORDS[role]} is multiplied by the projection of the {WORDS[other]} (W_{other.upper()}) instead "
        f"of its own.",
        formula=HEAD,
        hint=f"Which matrix multiplies the {WORDS[role]}?",
        source="yflyzhang/AnnotatedTransformer#1",
        parts=CLASS,
    )
    def borrowed(steps: Steps) -> list[Steps]:
        patched = using(steps, {role: other})
        return [patched, replace(patched, shapes=without(steps, role))]


for _role, _other in (("k", "q"), ("v", "k"), ("v", "q"), ("q", "k"), ("k", "v"), ("q", "v")):
    _borrowed(_role, _other)


@mistake(
    "one-projection-for-all",
    "The same projection is used for query, key and value; each needs its own matrix.",
    formula=HEAD,
    hint="Three inputs, three projections.",
    source=PAPER_HEADS,
    parts=CLASS,
)
def one_projection_for_all(steps: Steps) -> list[Steps]:
    ways = []
    for one, others in (("q", "kv"), ("k", "qv"), ("v", "qk")):
        patched = using(steps, dict.fromkeys(others, one))
        ways += [patched, replace(patched, shapes=without(steps, *others))]
    return ways


def _exchanged(role: str, other: str) -> None:
    @mistake(
        f"{WORDS[role]}-and-{WORDS[other]}-projections-swapped",
        f"The projections of {WORDS[role]} and {WORDS[other]} are swapped: each goes through the matrix that is named "
        "for the other.",
        formula=HEAD,
        hint="Follow each input to the matrix it meets.",
        source="Khaliladib11/Transformer-from-scratch#1",
        parts=CLASS,
    )
    def exchanged(steps: Steps) -> Steps:
        return using(steps, {role: other, other: role})


for _role, _other in (("q", "k"), ("k", "v"), ("q", "v")):
    _exchanged(_role, _other)


@mistake(
    "key-and-value-inputs-swapped",
    "The inputs key and value are swapped: the queries are compared with the values, and the output is a "
    "weighted sum of the keys.",
    formula=HEAD,
    hint="Check the order of the arguments, also where one function calls another.",
    source="jsbaan/transformer-from-scratch#1",
    parts=BOTH,
)
def key_and_value_inputs_swapped(steps: Steps) -> Steps:
    return reading(steps, {"key": "value", "value": "key"})


@mistake(
    "query-and-key-inputs-swapped",
    "The inputs query and key are swapped: keys are used as queries, and queries as keys.",
    formula=HEAD,
    hint="Check the order of the arguments, also where one function calls another.",
    parts=CLASS,
)
def query_and_key_inputs_swapped(steps: Steps) -> Steps:
    return reading(steps, {"key": "query", "query": "key"})


@mistake(
    "cross-attention-ignored",
    "Keys and values are computed from the query input, so the module always attends to its own sequence, "
    "and a decoder never sees the encoder's output.",
    formula=HEAD,
    hint="Which of the three inputs does each projection take?",
    parts=CLASS,
)
def cross_attention_ignored(steps: Steps) -> Steps:
    return reading(steps, {"key": "query", "value": "query"})


def _misread(name: str, other: str) -> None:
    # In the function alone, taking another input for the value is what "weights-times-..." names.
    parts = CLASS if name == "value" else BOTH

    @mistake(
        f"{name}-input-ignored-for-{other}",
        f"The input `{name}` is never used; `{other}` is used instead. In self-attention both are the same tensor, "
        "which hides the mistake.",
        formula=HEAD,
        hint=f"If only `{name}` changes, the output must change.",
        parts=parts,
    )
    def misread(steps: Steps) -> Steps:
        return reading(steps, {name: other})


for _name, _source in (
    ("key", "query"), ("value", "query"), ("value", "key"), ("key", "value"), ("query", "key"), ("query", "value"),
):  # fmt: skip
    _misread(_name, _source)


@mistake(
    "output-projection-twice",
    "The output projection is applied twice.",
    formula=HEADS,
    hint="Count the matrices between Concat and the result.",
    parts=CLASS,
)
def output_projection_twice(steps: Steps) -> Steps:
    return replace(steps, project_out=lambda call, x: steps.project_out(call, steps.project_out(call, x)))


@mistake(
    "output-through-value-projection",
    "The concatenated heads go through one of the input projections, not through the output projection W_O.",
    formula=HEADS,
    hint="Which matrix multiplies the concatenated heads?",
    parts=CLASS,
)
def output_through_value_projection(steps: Steps) -> list[Steps]:
    return [replace(steps, project_out=lambda call, x, r=role: linear(call, r, x)) for role in "vqk"]  # type: ignore[misc]


@mistake(
    "biases-not-used",
    "The projections' biases exist but are not added.",
    formula="x W^T + b",
    hint="Use the whole layer, not just its weight.",
    parts=CLASS,
)
def biases_not_used(steps: Steps) -> list[Steps]:
    def bare(call: Call) -> Call:
        return replace(call, weights={name: w for name, w in call.weights.items() if name.endswith("weight")})

    def output_bare(call: Call, x: Tensor) -> Tensor:
        return steps.project_out(bare(call), x)

    return [
        replace(steps, prepare=lambda call: bare(steps.prepare(call))),
        replace(steps, project_out=output_bare),
    ]


@mistake(
    "residual-inside",
    "The input is added to the output inside the attention. The residual connection belongs in the layer "
    "around it, which would add the input again.",
    formula=HEADS,
    hint="What does the formula add after the output projection?",
    source="jadore801120/attention-is-all-you-need-pytorch#142",
    parts=CLASS,
)
def residual_inside(steps: Steps) -> list[Steps]:
    return [
        replace(steps, finish=lambda call, x: steps.finish(call, x) + call.query),
        replace(steps, finish=lambda call, x: steps.finish(call, x) + call.value),
    ]


def _normed(x: Tensor) -> Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:])


@mistake(
    "norm-inside",
    "Layer normalization is applied inside the attention; it belongs in the layer around it.",
    formula=HEADS,
    hint="The formula has no layer normalization.",
    source="jadore801120/attention-is-all-you-need-pytorch#150",
    parts=CLASS,
)
def norm_inside(steps: Steps) -> list[Steps]:
    def first(call: Call) -> Call:
        return replace(call, query=_normed(call.query), key=_normed(call.key), value=_normed(call.value))

    return [
        replace(steps, finish=lambda call, x: _normed(steps.finish(call, x))),
        replace(steps, finish=lambda call, x: _normed(steps.finish(call, x) + call.query)),
        replace(steps, prepare=first),
        replace(steps, prepare=lambda call: replace(call, query=_normed(call.query))),
    ]


@mistake(
    "activation-inside",
    "A nonlinearity (ReLU, GELU, tanh) is applied in the projections or to the output. The softmax is the "
    "only nonlinear step of attention.",
    formula=HEADS,
    hint="The projections are linear.",
    parts=CLASS,
)
def activation_inside(steps: Steps) -> list[Steps]:
    ways: list[Steps] = []
    for bend in (torch.relu, torch.nn.functional.gelu, torch.tanh):
        ways += [
            replace(steps, finish=lambda call, x, f=bend: f(steps.finish(call, x))),  # type: ignore[misc]
            replace(steps, project=lambda call, role, f=bend: f(steps.project(call, role))),  # type: ignore[misc]
            replace(steps, merge=lambda call, x, f=bend: f(steps.merge(call, x))),  # type: ignore[misc]
        ]
    return ways
