"""One optimizer step over one or more batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.core.errors import ZooError
from zoo.core.recipe import Recipe
from zoo.models.transformer import Model
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.optimizer.adamw import AdamW
from zoo.parts.optimizer.base import LR_FACTOR
from zoo.parts.schedule.base import Schedule
from zoo.training.tasks.base import PAD, SOS, Aligned, Batch


class DivergedError(ZooError):
    """The loss became infinite or NaN."""


class Step(NamedTuple):
    """What a step did: mean loss over its target tokens before it, learning rate, number of target tokens."""

    loss: float
    lr: float
    tokens: int


@dataclass
class Loss:
    """The loss of a model on batches, by teacher forcing.

    Attributes:
        model: on `device`.
        measure: output [B, L, V] and labels [B, L] -> scalar.
        precision: "float32", or "bf16" for autocast.
        compile: whether the model runs through torch.compile.
    """

    model: Model
    measure: SequenceLoss
    device: torch.device
    precision: str = "float32"
    compile: bool = False

    def __post_init__(self) -> None:
        check_precision(self.precision, self.device)
        self.measure.to(self.device)
        self.narrow = self.precision == "bf16"
        self.forward: Any = torch.compile(self.model, dynamic=True) if self.compile else self.model

    def __call__(self, batch: Batch | Aligned) -> Tensor:
        """Mean over target tokens that are not padding, in float32: a scalar."""
        src, tgt = (side.to(self.device, non_blocking=True) for side in batch)
        inputs: tuple[Tensor, ...] = (src,)
        labels = tgt
        if not isinstance(batch, Aligned):
            if has_encoder(self.model):
                inputs = (src, shift_right(tgt))
            else:
                inputs, labels = joined(src, tgt)
        with torch.autocast(self.device.type, torch.bfloat16) if self.narrow else nullcontext():
            output = self.forward(*inputs)  # [B, L, V]
        return self.measure(output.float() if self.narrow else output, labels)  # type: ignore[no-any-return]


class Updater:
    """Loss, optimizer and schedule of one training."""

    def __init__(
        self,
        loss: Loss,
        recipe: Recipe,
        schedule: Schedule,
        steps: int,
        clip: float = 0.0,
        optimizer: torch.optim.Optimizer | None = None,
    ) -> None:
        """
        Args:
            recipe: of the optimizer.
            schedule: of the learning rate, as a share of the recipe's.
            steps: of the whole training; those beyond take the last rate.
            clip: largest norm of the gradient; 0 leaves it.
            optimizer: of the model's parameters, on their device; AdamW if not given.
        """
        self.loss, self.model, self.recipe, self.schedule = loss, loss.model, recipe, schedule
        self.steps, self.clip = steps, clip
        self.optimizer = optimizer or make_optimizer(self.model, recipe)

    def step(self, number: int, batches: Sequence[Batch | Aligned]) -> Step:
        """Update the model, in train mode, by the gradient of the mean loss over all target tokens of `batches`.

        It is that of one batch with all their rows, whatever the number of tokens in each.

        Args:
            number: of the step, counted from 0.
            batches: at least one.

        Raises:
            DivergedError: the loss is not finite; the weights are then as before.
        """
        counts = [int((batch.tgt != PAD).sum()) for batch in batches]
        lr = self.recipe.lr * self.schedule(min(number, self.steps - 1))
        for group in self.optimizer.param_groups:
            group["lr"] = lr * group.get(LR_FACTOR, 1.0)
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self.loss.device)
        for batch, count in zip(batches, counts, strict=True):
            share = self.loss(batch) * (count / sum(counts))
            share.backward()
            total += share.detach()
        value = total.item()
        if not math.isfinite(value):
            raise DivergedError(
                f"The loss became {value} at step {number + 1} of {self.steps} and training stopped. {self.advice}, "
                "unless a part computes NaN."
            )
        if self.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        self.optimizer.step()
        return Step(value, lr, sum(counts))

    def check_weights(self, step: int) -> None:
        """Raises DivergedError if weights are not finite after `step` steps."""
        if not all(bool(parameter.isfinite().all()) for parameter in self.model.parameters()):
            raise DivergedError(
                f"Step {step} of {self.steps} left weights that are not finite. {self.advice}."
            )

    @property
    def advice(self) -> str:
        """Return what may help against a loss that is not finite."""
        return f"A lower learning rate (now at most {self.recipe.lr:g}) or a longer warm-up may help"


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW over all parameters of `model`, as `recipe` says."""
    return AdamW(model.parameters(), recipe.lr, *recipe.betas, recipe.eps, recipe.weight_decay)


def has_encoder(model: Model) -> bool:
    """Return whether `model` reads its source apart, and not as a prompt."""
    return "encoder" in model.stacks


def prompts(src: Tensor) -> Tensor:
    """Return the prompts of a decoder by itself for src [B, S]: src, then SOS, [B, S + 1]."""
    return F.pad(src, (0, 1), value=SOS)


def joined(src: Tensor, tgt: Tensor) -> tuple[tuple[Tensor], Tensor]:
    """Source, SOS and target in one row, for a decoder by itself: its input and its labels, both [B, S + L].

    Labels are the target's; what is in the source is not to be learned, and PAD there. Padding goes to the end.
    """
    tokens = torch.cat((prompts(src), tgt[:, :-1]), dim=1)
    labels = torch.cat((torch.full_like(src, PAD), tgt), dim=1)
    order = (tokens == PAD).to(torch.uint8).argsort(dim=1, stable=True)  # PAD last, all else as it is
    return (tokens.gather(1, order),), labels.gather(1, order)


def shift_right(tgt: Tensor) -> Tensor:
    """The decoder's input: tgt [B, L] -> [B, L], SOS in front, the last token gone."""
    return F.pad(tgt[:, :-1], (1, 0), value=SOS)  # [B, L-1] -> [B, L]


def check_precision(precision: str, device: torch.device) -> None:
    """Raises ZooError where bf16 would not be faster: on a CPU without instructions for it."""
    if precision == "bf16" and device.type == "cpu" and not torch.cpu._is_avx512_bf16_supported():
        raise ZooError(
            "This CPU has no instructions for bf16, and would be slower with it. Use --precision=float32."
        )
