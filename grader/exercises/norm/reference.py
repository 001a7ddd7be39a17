"""Layer norm and its two placements in small steps, so that a known mistake is the reference with one step replaced.

gain * (x - mean) / sqrt(variance + eps) + bias over the last dimension (Ba et al. 2016, arXiv 1607.06450).
Pre: x + drop(f(norm(x))). Post: norm(x + drop(f(x))) ("Attention Is All You Need", section 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.api import Wanted, one_token


def wanted(d_model: int) -> list[Wanted]:
    """The parameters of `LayerNorm`."""
    return [
        Wanted("gain", (d_model,), r"gain|weight|gamma|scale|alpha|a_2|^g$|^w$|^a$"),
        Wanted("shift", (d_model,), r"shift|bias|beta|offset|b_2|^b$"),
    ]


@dataclass(frozen=True)
class Call:
    """What the steps of a placement see: the parts that were handed in, and how they are to be called.

    `rest` and `named` are the further arguments of forward, by position and by keyword.
    """

    norm: Callable[[Tensor], Tensor]
    sublayer: Callable[..., Tensor]
    dropout: float
    training: bool
    rest: tuple[Any, ...] = ()
    named: Mapping[str, Any] = field(default_factory=dict)

    def f(self, x: Tensor) -> Tensor:
        """The sublayer, with everything that it is to be given."""
        return self.sublayer(x, *self.rest, **self.named)


def variance(x: Tensor, mean: Tensor) -> Tensor:
    """The mean of the squared deviations: [..., D], [..., 1] -> [..., 1]."""
    return (x - mean).square().mean(-1, keepdim=True)


def affine(x_hat: Tensor, weights: Mapping[str, Tensor]) -> Tensor:
    """gain * x_hat + bias, with those of them that there are."""
    if "gain" in weights:
        x_hat = x_hat * weights["gain"]
    return x_hat + weights["shift"] if "shift" in weights else x_hat


def drop(call: Call, x: Tensor) -> Tensor:
    """Dropout, in training mode only."""
    return F.dropout(x, call.dropout, call.training)


def keep(module: nn.Module, name: str, part: nn.Module) -> None:
    """Register a part that was handed in."""
    setattr(module, name, part)


def parameters(d_model: int) -> dict[str, nn.Parameter]:
    """Gain of ones and shift of zeros."""
    return {"gain": nn.Parameter(torch.ones(d_model)), "shift": nn.Parameter(torch.zeros(d_model))}


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it."""

    NAMES: ClassVar[Mapping[str, str]] = {
        "enter": "x", "mean": "mean", "variance": "variance", "centre": "deviations", "divide": "normalized x",
        "affine": "output", "finish": "output", "drop": "sublayer output after dropout", "pre": "output",
        "post": "output",
    }  # fmt: skip

    parameters: Callable[[int], Mapping[str, nn.Parameter]] = parameters
    eps: Callable[[float | None], float] = lambda given: 1e-5 if given is None else given
    enter: Callable[[Tensor], Tensor] = lambda x: x
    mean: Callable[[Tensor], Tensor] = lambda x: x.mean(-1, keepdim=True)
    variance: Callable[[Tensor, Tensor], Tensor] = variance
    centre: Callable[[Tensor, Tensor], Tensor] = lambda x, mean: x - mean
    divide: Callable[[Tensor, Tensor, float], Tensor] = lambda x, variance, eps: x / (variance + eps).sqrt()
    affine: Callable[[Tensor, Mapping[str, Tensor]], Tensor] = affine
    finish: Callable[[Tensor, Tensor], Any] = lambda _x, out: out
    keep: Callable[[nn.Module, str, nn.Module], None] = keep
    drop: Callable[[Call, Tensor], Tensor] = drop
    call: Callable[[Call], Call] = lambda call: call
    pre: Callable[[Steps, Call, Tensor], Any] = lambda steps, call, x: (
        x + steps.drop(call, call.f(call.norm(x)))
    )
    post: Callable[[Steps, Call, Tensor], Any] = lambda steps, call, x: call.norm(
        x + steps.drop(call, call.f(x))
    )

    def layer_norm(self, x: Tensor, weights: Mapping[str, Tensor], eps: float) -> Any:
        """x [..., D] -> [..., D]."""
        given, x = x, self.enter(x)
        mean = self.mean(x)
        x_hat = self.divide(self.centre(x, mean), self.variance(x, mean), eps)
        return self.finish(given, self.affine(x_hat, weights))


REFERENCE = Steps()


FIRST_CALLS = {"LayerNorm": one_token}
"""Of the classes that have parameters, see `grader.core.submission.Submission`."""


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    class LayerNorm(nn.Module):
        def __init__(self, d_model: int, eps: float | None = None) -> None:
            super().__init__()
            self.eps = steps.eps(eps)
            for name, made in steps.parameters(d_model).items():
                self.register_parameter(name, made)

        def forward(self, x: Tensor) -> Any:
            return steps.layer_norm(x, dict(self.named_parameters()), self.eps)

    class Placed(nn.Module):
        def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
            super().__init__()
            self.dropout = dropout
            steps.keep(self, "norm", norm)
            steps.keep(self, "sublayer", sublayer)

        def make_call(self, rest: tuple[Any, ...], named: Mapping[str, Any]) -> Call:
            norm: Any = self.norm
            sublayer: Any = self.sublayer
            return steps.call(Call(norm, sublayer, self.dropout, self.training, rest, named))

    class PreNorm(Placed):
        def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
            return steps.pre(steps, self.make_call(args, kwargs), x)

    class PostNorm(Placed):
        def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Any:
            return steps.post(steps, self.make_call(args, kwargs), x)

    return {"LayerNorm": LayerNorm, "PreNorm": PreNorm, "PostNorm": PostNorm}
