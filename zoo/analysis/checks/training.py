"""Properties of the parts that training needs: initialisations, losses, schedules and optimizers."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from zoo.analysis.checks.base import DoesNotHold, Properties
from zoo.analysis.checks.common import distance, finite, in_dtypes, same, tensor
from zoo.analysis.checks.part import PAD, VOCAB, Part, ragged, words

INIT, LOSS, SCHEDULE, OPTIMIZER = Properties(), Properties(), Properties(), Properties()
NAMES = (
    "encoder.layers.0.self_attention.q_proj.weight",
    "decoder.layers.1.self_attention.out_proj.weight",
    "decoder.layers.1.feed_forward.down_proj.weight",
    "head.weight",
)


def _filled(part: Part, method: str, name: str, shape: tuple[int, ...], seed: int) -> Tensor:
    """Return what a method makes of a tensor of sevens."""
    value, more = torch.full(shape, 7.0), (24,) * (method == "bias")
    torch.manual_seed(seed)
    with torch.no_grad():
        getattr(part.make(), method)(name, value, *more)
    return finite(value, f"{method}({name!r}): what it fills")


@INIT("fills matrices in place with finite numbers")
def matrices(part: Part) -> None:
    """Of every name that a model has, wide and tall."""
    for name in NAMES:
        for shape in ((16, 24), (24, 16), (1, 5)):
            if torch.all(_filled(part, "matrix", name, shape, 0) == 7):
                raise DoesNotHold(f"matrix({name!r}) leaves the matrix as it was.")


@INIT("draws from torch's generator")
def seeds(part: Part) -> None:
    """One seed gives the same weights again, another seed others."""
    for name in NAMES:
        first, again, other = (_filled(part, "matrix", name, (16, 24), seed) for seed in (0, 0, 1))
        if not torch.equal(first, again):
            raise DoesNotHold(f"matrix({name!r}): one seed does not give the same weights twice.")
        if torch.equal(first, other):
            raise DoesNotHold(f"matrix({name!r}): two seeds give the same weights.")


@INIT("fills biases and tables with finite numbers, or leaves them unchanged")
def others(part: Part) -> None:
    """In place."""
    _filled(part, "bias", NAMES[0].replace("weight", "bias"), (16,), 0)
    _filled(part, "table", "embeddings.src_table.weight", (VOCAB, 16), 0)


@INIT("the weights are neither huge nor close to 0")
def size(part: Part) -> None:
    """Standard deviation of a matrix [64, 64] from 1e-4 to 10."""
    for name in NAMES:
        spread = _filled(part, "matrix", name, (64, 64), 0).std().item()
        if not 1e-4 <= spread <= 10:
            raise DoesNotHold(f"matrix({name!r}) has standard deviation {spread:.2g}.")


def _outputs(part: Part, shape: tuple[int, int], dtype: torch.dtype | None = None) -> Tensor:
    """Return what a head gives that goes with the loss: logits or log-probabilities [B, L, V]."""
    logits = part.randn(*shape, VOCAB)
    if part.can("takes") == "log-probs":
        logits = logits.log_softmax(-1)
    return logits.to(dtype or part.dtype)


def _labels(rows: int = 3, length: int = 4) -> Tensor:
    return ragged(words(rows, length, seed=1))


def _loss(part: Part, output: Tensor, labels: Tensor) -> Tensor:
    got = tensor(part.make()(output, labels), part)
    if got.shape != ():
        raise DoesNotHold(f"Expected one number, got shape {list(got.shape)}.")
    return finite(got, "The loss")


@LOSS("is a finite scalar, in float32, float64 and bfloat16")
def scalar(part: Part) -> None:
    """For a batch with padding, and for one token."""

    def attempt(dtype: torch.dtype) -> None:
        for labels in (_labels(), words(1, 1)):
            _loss(part, _outputs(part, (labels.size(0), labels.size(1)), dtype), labels)

    in_dtypes(part, attempt)


@LOSS("the gradient is finite, reaches every token, and is 0 at padding")
def loss_gradient(part: Part) -> None:
    """Return what is answered where the label is padding does not count."""
    labels = _labels()
    output = _outputs(part, (3, 4)).requires_grad_()
    (gradient,) = torch.autograd.grad(_loss(part, output, labels), output)
    reached = finite(gradient, "The gradient").abs().amax(-1) > 0  # [B, L]
    if (reached & (labels == PAD)).any():
        raise DoesNotHold("What is answered at padding counts.")
    if not reached[labels != PAD].all():
        raise DoesNotHold("What is answered at some word does not count.")


@LOSS("the loss is lower for a better answer")
def better(part: Part) -> None:
    """The same scores, with those of the right words raised."""
    labels, output = _labels(), _outputs(part, (3, 4))
    raised = output + torch.nn.functional.one_hot(labels, VOCAB).to(output)
    if part.can("takes") == "log-probs":
        raised = raised.log_softmax(-1)
    before, after = _loss(part, output, labels).item(), _loss(part, raised, labels).item()
    if not after < before:
        raise DoesNotHold(f"With the right words more probable, it goes from {before:.3g} to {after:.3g}.")


@LOSS("is a mean over words")
def mean(part: Part) -> None:
    """Two batches with as many words each: the loss of both together is the mean; more padding changes nothing."""
    labels, first, second = _labels(), _outputs(part, (3, 4)), _outputs(part, (3, 4))
    both = _loss(part, torch.cat((first, second)), torch.cat((labels, labels)))
    one, other = _loss(part, first, labels), _loss(part, second, labels)
    same(both, (one + other) / 2, "The loss of two batches together is not their mean")
    padded = torch.cat((labels, torch.full((3, 2), PAD)), dim=1)
    longer = torch.cat((first, _outputs(part, (3, 2))), dim=1)
    same(_loss(part, longer, padded), one, "More padding changes the loss")


@LOSS("does not modify its inputs")
def loss_untouched(part: Part) -> None:
    """Nothing is changed in place."""
    labels, output = _labels(), _outputs(part, (3, 4))
    before = output.clone()
    _loss(part, output, labels)
    if distance(output, before) or not torch.equal(labels, _labels()):
        raise DoesNotHold("The output of the model or the labels were changed in place.")


def _shares(schedule: Any, steps: int) -> list[float]:
    shares = [schedule(step) for step in range(steps)]
    for step, share in enumerate(shares):
        if not isinstance(share, (int, float)):
            raise DoesNotHold(f"Step {step}: expected a number, got {type(share).__name__}.")
        if not math.isfinite(share) or not -1e-9 <= share <= 1 + 1e-9:
            raise DoesNotHold(f"Step {step}: expected a share from 0 to 1, got {share:.4g}.")
    return shares


@SCHEDULE("gives a share from 0 to 1 at every step")
def shares(part: Part) -> None:
    """For long and short trainings, with and without a warm-up, and one longer than the training."""
    for steps, warmup in ((10, 3), (100, 10), (1, 0), (1, 1), (5, 0), (5, 5), (3, 20)):
        _shares(part.make(steps=steps, warmup=warmup), steps)


@SCHEDULE("reaches the highest rate")
def peak(part: Part) -> None:
    """At some step of 100, at least 0.9 of it."""
    highest = max(_shares(part.make(steps=100, warmup=10), 100))
    if highest < 0.9:
        raise DoesNotHold(f"It comes up to {highest:.3g} of the highest rate.")


@SCHEDULE("gives the same rate for a step, in any order of calls")
def stateless(part: Part) -> None:
    """Backwards, and a second time."""
    schedule = part.make(steps=10, warmup=3)
    forwards = [schedule(step) for step in range(10)]
    if [schedule(step) for step in reversed(range(10))][::-1] != forwards:
        raise DoesNotHold("Called in another order, it returns other values.")


def _halved_squares(model: nn.Module) -> Tensor:
    """A quadratic loss, whose gradient is the parameters themselves."""
    return torch.stack([parameter.square().sum() for parameter in model.parameters()]).sum() / 2


def _steps(model: nn.Module, optimizer: torch.optim.Optimizer, count: int) -> None:
    for _ in range(count):
        optimizer.zero_grad()
        _halved_squares(model).backward()
        optimizer.step()


@OPTIMIZER("has every parameter of a model in exactly one group")
def groups(part: Part) -> None:
    """None is left out, and none is moved twice."""
    model = part.model()
    found = [id(p) for group in part.optimizer_of(model).param_groups for p in group["params"]]
    for name, parameter in model.named_parameters():
        if found.count(id(parameter)) != 1:
            raise DoesNotHold(f"{name} is in {found.count(id(parameter))} groups.")


@OPTIMIZER("ten steps lower a quadratic loss of every parameter")
def descends(part: Part) -> None:
    """Half the sum of squares, from random numbers."""
    model = part.model()
    before = [parameter.detach().square().sum() for parameter in model.parameters()]
    _steps(model, part.optimizer_of(model), 10)
    for (name, parameter), then in zip(model.named_parameters(), before, strict=True):
        now = finite(parameter, name).detach().square().sum()
        if not now < then:
            raise DoesNotHold(f"Half the square of {name} goes from {then / 2:.4g} to {now / 2:.4g}.")


@OPTIMIZER("uses the learning rate of its parameter groups")
def rated(part: Part) -> None:
    """With all rates at 0 nothing moves, as at the end of a schedule."""
    model = part.model()
    optimizer = part.optimizer_of(model)
    _steps(model, optimizer, 1)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    for group in optimizer.param_groups:
        group["lr"] = 0.0
    _steps(model, optimizer, 1)
    for (name, parameter), then in zip(model.named_parameters(), before, strict=True):
        if not torch.equal(parameter, then):
            raise DoesNotHold(f"A step at a rate of 0 changes {name}.")


@OPTIMIZER("resumes from a saved state with the same steps")
def resumed(part: Part) -> None:
    """Three steps, or two and, with a new optimizer and the state of the first, one more."""
    model, other = part.model(), part.model()
    _steps(model, part.optimizer_of(model), 3)
    first, second = part.optimizer_of(other), part.optimizer_of(other)
    _steps(other, first, 2)
    second.load_state_dict(first.state_dict())
    _steps(other, second, 1)
    for (name, parameter), resumed in zip(model.named_parameters(), other.parameters(), strict=True):
        same(resumed, parameter, f"{name} differs after a step from a saved state")
