"""One optimizer step over one or more batches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from zoo.core.blueprint import Blueprint
from zoo.core.errors import ZooError
from zoo.models.builder import build_loss, build_schedule
from zoo.models.transformer import Transformer
from zoo.training.tasks.base import PAD, Batch
from zoo.training.trainer import DivergedError, make_optimizer, shift_right
from zoo.training.translation.settings import Settings


class Step(NamedTuple):
    """What a step did: mean loss over its target tokens before it, learning rate, number of target tokens."""

    loss: float
    lr: float
    tokens: int


@dataclass
class Loss:
    """The blueprint's loss of a model on batches, in the precision of the settings."""

    model: Transformer
    blueprint: Blueprint
    settings: Settings
    device: torch.device

    def __post_init__(self) -> None:
        check_precision(self.settings.precision, self.device)
        self.measure = build_loss(self.blueprint).to(self.device)
        self.narrow = self.settings.precision == "bf16"
        compiled = self.settings.compile
        self.forward: Any = torch.compile(self.model, dynamic=True) if compiled else self.model

    def __call__(self, batch: Batch) -> Tensor:
        """Mean over target tokens that are not padding, in float32: a scalar."""
        src, tgt = (side.to(self.device, non_blocking=True) for side in batch)
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.narrow):
            output = self.forward(src, shift_right(tgt))  # [B, L, V]
        return self.measure(output.float() if self.narrow else output, tgt)  # type: ignore[no-any-return]


class Updater:
    """Loss, optimizer and schedule of one training."""

    def __init__(self, loss: Loss, steps: int) -> None:
        """`steps` of the whole training, for the schedule; those beyond take its last rate."""
        self.loss, self.model, self.settings, self.steps = loss, loss.model, loss.settings, steps
        self.optimizer = make_optimizer(self.model, self.settings.recipe())
        self.schedule = build_schedule(loss.blueprint, steps, self.settings.warmup)

    def step(self, number: int, batches: Sequence[Batch]) -> Step:
        """Update the model, in train mode, by the gradient of the mean loss over all target tokens of `batches`.

        It is that of one batch with all their rows, whatever the number of tokens in each.

        Args:
            number: of the step, counted from 0.
            batches: as they come from `Dataset.batch`.

        Raises:
            DivergedError: the loss is not finite; the weights are then as before.
        """
        counts = [int((batch.tgt != PAD).sum()) for batch in batches]
        lr = self.settings.lr * self.schedule(min(number, self.steps - 1))
        for group in self.optimizer.param_groups:
            group["lr"] = lr
        self.optimizer.zero_grad()
        total = torch.zeros((), device=self.loss.device)
        for batch, count in zip(batches, counts, strict=True):
            share = self.loss(batch) * (count / sum(counts))
            share.backward()
            total += share.detach()
        value = total.item()
        if not math.isfinite(value):
            raise DivergedError(
                f"The loss became {value} at step {number + 1} and training stopped. A lower learning rate (now at "
                f"most {self.settings.lr:g}) or a longer warm-up may help, unless a part computes NaN."
            )
        if self.settings.clip:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        self.optimizer.step()
        return Step(value, lr, sum(counts))


def check_precision(precision: str, device: torch.device) -> None:
    """Raises ZooError where bf16 would not be faster: on a CPU without instructions for it."""
    if precision == "bf16" and device.type == "cpu" and not torch.cpu._is_avx512_bf16_supported():
        raise ZooError(
            "This CPU has no instructions for bf16, and would be slower with it. Take --precision=float32."
        )
