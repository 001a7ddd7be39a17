"""Attention in small steps, so that a known mistake is the reference with exactly one step replaced.

softmax(Q K^T / sqrt(d_k)) V, and several such heads side by side ("Attention Is All You Need",
sections 3.2.1 and 3.2.2). The steps compute in whatever dtype they are given: the judge's reference
numbers come from float64.

Masks: bool True = may be attended to; float 0 = may, -inf = may not. A row that may attend to nothing
gives zero weights, zero output and finite gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor, nn

FUNCTION, CLASS = "scaled_dot_product_attention", "MultiHeadAttention"
ROLES = ("q", "k", "v", "out")
INPUTS = ("query", "key", "value")


@dataclass(frozen=True)
class Call:
    """One call, as every step sees it.

    `heads` is 0 in the plain function. `memory` survives from call to call, as a module's attributes do.
    """

    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None = None
    heads: int = 0
    weights: Mapping[str, Tensor] = field(default_factory=dict)
    dropout: float = 0.0
    training: bool = False
    memory: dict[str, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> tuple[Tensor, Tensor, Tensor]:
        return self.query, self.key, self.value

    def taking(self, inputs: Sequence[Tensor]) -> Call:
        """The same call with other inputs."""
        query, key, value = inputs
        return replace(self, query=query, key=key, value=value)


def unchanged(_call: Call, x: Tensor) -> Tensor:
    """The step that does nothing."""
    return x


def prepare(call: Call) -> Call:
    """Before anything else."""
    return call


def check(d_model: int, num_heads: int) -> None:
    """The constructor's refusal."""
    if d_model % num_heads:
        raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")


def shapes(d_model: int, num_heads: int) -> dict[str, tuple[int, ...]]:  # noqa: ARG001 (a mistake's shapes may need it)
    """The parameters the class registers."""
    square = {f"{role}.weight": (d_model, d_model) for role in ROLES}
    return {**square, **{f"{role}.bias": (d_model,) for role in ROLES}}


def linear(call: Call, role: str, x: Tensor) -> Tensor:
    """x W^T + b, with the weights of one role. The bias may be absent."""
    x = x @ call.weights[f"{role}.weight"].T
    if f"{role}.bias" in call.weights:
        x = x + call.weights[f"{role}.bias"]
    return x


def project(call: Call, role: str) -> Tensor:
    """The query, key or value input through its own projection: [B, T, D]."""
    return linear(call, role, call.inputs[("q", "k", "v").index(role)])


def split(call: Call, _role: str, x: Tensor) -> Tensor:
    """Head h gets the columns h*d .. (h+1)*d."""
    batch, length, width = x.shape
    return x.view(batch, length, call.heads, width // call.heads).transpose(1, 2)  # [B, H, T, d]


def score(_call: Call, q: Tensor, k: Tensor) -> Tensor:
    return q @ k.transpose(-2, -1)  # [..., Tq, Tk]


def scale(_call: Call, scores: Tensor, _q: Tensor, k: Tensor) -> Tensor:
    return scores / math.sqrt(k.size(-1))


def apply_mask(call: Call, scores: Tensor) -> Tensor:
    if call.mask is None:
        return scores
    if call.mask.dtype == torch.bool:
        return scores.masked_fill(~call.mask, -math.inf)
    return scores + call.mask


def normalise(_call: Call, scores: Tensor) -> Tensor:
    """Softmax over the keys; a row without any key gets zeros, and finite gradients."""
    nowhere = (scores == -math.inf).all(-1, keepdim=True)
    return scores.masked_fill(nowhere, 0.0).softmax(-1).masked_fill(nowhere, 0.0)


def drop(call: Call, weights: Tensor) -> Tensor:
    """Dropout falls on the weights, in training mode only."""
    return nn.functional.dropout(weights, call.dropout, call.training) if call.heads else weights


def mix(_call: Call, weights: Tensor, v: Tensor) -> Tensor:
    return weights @ v  # [..., Tq, Dv]


def merge(_call: Call, x: Tensor) -> Tensor:
    """Heads side by side again."""
    batch, heads, length, depth = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * depth)  # [B, T, D]


def project_out(call: Call, x: Tensor) -> Tensor:
    return linear(call, "out", x)


def give_pair(_call: Call, output: Tensor, weights: Tensor) -> Any:
    return output, weights


def give_output(_call: Call, output: Tensor, _weights: Tensor) -> Any:
    return output


class Score(Protocol):
    def __call__(self, call: Call, scores: Tensor, q: Tensor, k: Tensor, /) -> Tensor: ...


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it."""

    NAMES: ClassVar[Mapping[str, str]] = {
        "project": "{} projection", "split": "{} in heads", "score": "Q K^T", "scale": "scaled scores",
        "mask": "masked scores", "normalise": "weights", "reweigh": "weights", "drop": "weights after dropout",
        "mix": "mixed values", "after_mix": "mixed values", "merge": "merged heads", "project_out": "output",
        "finish": "output",
    }  # fmt: skip

    check: Callable[[int, int], None] = check
    shapes: Callable[[int, int], dict[str, tuple[int, ...]]] = shapes
    prepare: Callable[[Call], Call] = prepare
    project: Callable[[Call, str], Tensor] = project
    split: Callable[[Call, str, Tensor], Tensor] = split
    score: Callable[[Call, Tensor, Tensor], Tensor] = score
    scale: Score = scale
    mask: Callable[[Call, Tensor], Tensor] = apply_mask
    normalise: Callable[[Call, Tensor], Tensor] = normalise
    reweigh: Callable[[Call, Tensor], Tensor] = unchanged
    drop: Callable[[Call, Tensor], Tensor] = drop
    mix: Callable[[Call, Tensor, Tensor], Tensor] = mix
    after_mix: Callable[[Call, Tensor], Tensor] = unchanged
    merge: Callable[[Call, Tensor], Tensor] = merge
    project_out: Callable[[Call, Tensor], Tensor] = project_out
    finish: Callable[[Call, Tensor], Tensor] = unchanged
    give_function: Callable[[Call, Tensor, Tensor], Any] = give_pair
    give_class: Callable[[Call, Tensor, Tensor], Any] = give_output
    registered: bool = True

    def attend(self, call: Call, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """From queries, keys and values to (mixed values, weights)."""
        scores = self.mask(call, self.scale(call, self.score(call, q, k), q, k))
        weights = self.reweigh(call, self.normalise(call, scores))
        weights = self.drop(call, weights)
        return self.after_mix(call, self.mix(call, weights, v)), weights

    def function(self, call: Call) -> Any:
        """The plain function: (output [..., Tq, Dv], weights [..., Tq, Tk])."""
        call = self.prepare(call)
        output, weights = self.attend(call, *call.inputs)
        return self.give_function(call, self.finish(call, output), weights)

    def multi_head(self, call: Call) -> Any:
        """The class's forward: [B, Tq, D]."""
        call = self.prepare(call)
        q, k, v = (self.split(call, role, self.project(call, role)) for role in ("q", "k", "v"))
        mixed, weights = self.attend(call, q, k, v)
        output = self.project_out(call, self.merge(call, mixed))
        return self.give_class(call, self.finish(call, output), weights)


REFERENCE = Steps()


def _fill(value: float) -> Steps:
    def weakly(call: Call, scores: Tensor) -> Tensor:
        if call.mask is None:
            return scores
        if call.mask.dtype == torch.bool:
            return scores.masked_fill(~call.mask, value)
        return scores + call.mask.clamp(min=value)

    return replace(REFERENCE, mask=weakly)


def _fill_both(value: float) -> Steps:
    def filled(call: Call, scores: Tensor) -> Tensor:
        if call.mask is None:
            return scores
        seen = call.mask if call.mask.dtype == torch.bool else call.mask == 0
        return scores.masked_fill(~seen, value)

    return replace(REFERENCE, mask=filled)


def _zero_rows() -> Steps:
    """Zeros where nothing may be attended to, by the mask and not by the scores."""

    def zeroed(call: Call, weights: Tensor) -> Tensor:
        if call.mask is None:
            return weights
        seen = call.mask if call.mask.dtype == torch.bool else call.mask == 0
        return weights.masked_fill(~seen.any(-1, keepdim=True), 0.0)

    return replace(_fill(-1e30), reweigh=zeroed)


# Right answers that are free to differ where the contract leaves a choice (rows that may attend to
# nothing), so that a mistake made on top of one of them is recognised as well.
BASES = (
    REFERENCE,
    _fill(-1e9),
    _fill(-1e30),
    _fill_both(-1e9),
    _zero_rows(),
    replace(REFERENCE, reweigh=lambda _call, weights: weights.nan_to_num(0.0)),
)


def _first_call(d_model: int, *_rest: Any, **_options: Any) -> list[Tensor]:
    return [torch.zeros(1, 2, d_model) for _ in INPUTS]


FIRST_CALLS = {"MultiHeadAttention": _first_call}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps, function_steps: Steps | None = None) -> dict[str, Any]:
    """Return the names that a file with these steps defines; its function may have steps of its own."""
    plain = steps if function_steps is None else function_steps
    remembered: dict[str, Any] = {}

    def scaled_dot_product_attention(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> Any:
        return plain.function(Call(query, key, value, mask, memory=remembered))

    class MultiHeadAttention(nn.Module):
        def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
            super().__init__()
            steps.check(d_model, num_heads)
            self.heads, self.dropout = num_heads, dropout
            self.memory: dict[str, Any] = {}
            made = {
                name: nn.Parameter(torch.randn(shape) / math.sqrt(d_model))
                for name, shape in steps.shapes(d_model, num_heads).items()
            }
            self.hidden: dict[str, nn.Parameter] = {} if steps.registered else made
            for name, value in made.items() if steps.registered else ():
                self.register_parameter(name.replace(".", "_"), value)

        def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None) -> Any:
            registered = {name.replace("_", "."): p for name, p in self.named_parameters()}
            weights = registered or self.hidden
            call = Call(
                query, key, value, mask, self.heads, weights, self.dropout, self.training, self.memory
            )
            return steps.multi_head(call)

    return {
        "scaled_dot_product_attention": scaled_dot_product_attention,
        "MultiHeadAttention": MultiHeadAttention,
    }


def with_mistake(steps: Steps, parts: Sequence[str]) -> dict[str, Any]:
    """A file that has the mistake in these components (none means both) and is right in the other."""
    return namespace(
        steps if not parts or CLASS in parts else REFERENCE,
        steps if not parts or FUNCTION in parts else REFERENCE,
    )
