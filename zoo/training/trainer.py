"""Training on a task, and the score: decoding of texts that were not trained on."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.core.blueprint import Sizes
from zoo.core.errors import CombinationError, PluginError, ZooError
from zoo.core.recipe import Recipe as Recipe
from zoo.core.tasks import get_task
from zoo.models.transformer import Transformer
from zoo.parts.decoding.base import Decoding
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.loss.cross_entropy import CrossEntropyLoss
from zoo.parts.schedule.base import Schedule
from zoo.parts.schedule.linear import LinearSchedule
from zoo.training.tasks.base import EOS, PAD, SOS, Batch, TaskData

SCORED = 1000
CHUNK = 250
"""How many unseen texts are scored, and how many are decoded at a time."""

OnStep = Callable[[int, float], None]


class DivergedError(ZooError):
    """The loss became infinite or NaN."""


@dataclass(frozen=True)
class Example:
    """A text, what the model made of it, and what it should have made."""

    text: str
    got: str
    expected: str

    @property
    def right(self) -> bool:
        return self.got == self.expected


@dataclass(frozen=True)
class Score:
    """How many texts a model got exactly right, every letter and the end."""

    examples: tuple[Example, ...]

    @property
    def correct(self) -> int:
        return sum(example.right for example in self.examples)

    @property
    def total(self) -> int:
        return len(self.examples)

    @property
    def share(self) -> float:
        return self.correct / self.total


def load_task(name: str) -> TaskData:
    """The data of the task called `name`.

    Raises:
        UnknownNameError: there is no such task.
        PluginError: its class cannot be loaded.
        ZooError: the task is trained and scored by commands of its own.
    """
    path = get_task(name).path
    if not path:
        raise ZooError(f"The task '{name}' has commands of its own: `zoo train --task={name} --help`.")
    module, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module), attribute)()  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise PluginError(f"Task '{name}' cannot be loaded from {path}: {error}") from error


def check_sizes(sizes: Sizes, task: TaskData) -> None:
    """Raises CombinationError if a model of these sizes cannot take the task's tokens."""
    for name in ("src_vocab", "tgt_vocab", "max_len"):
        given, needed = getattr(sizes, name), getattr(task, name)
        if given < needed:
            raise CombinationError(f"{name}={given} is too small for the task: expected at least {needed}.")
    if sizes.pad != PAD:
        raise CombinationError(f"pad={sizes.pad}: the tasks of the zoo pad with {PAD}.")


@contextmanager
def steady(device: torch.device) -> Iterator[None]:
    """One thread and denormals flushed to zero, which is fastest for small models; then as it was before.

    torch's global random generators, also that of `device`, come out as they went in.
    """
    threads, flushing = torch.get_num_threads(), sys.float_info.min / 2 == 0.0
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    try:
        with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
            yield
    finally:
        torch.set_flush_denormal(flushing)
        torch.set_num_threads(threads)


def train(
    model: Transformer,
    task: TaskData,
    recipe: Recipe,
    *,
    loss: SequenceLoss | None = None,
    schedule: Schedule | None = None,
    device: torch.device | str = "cpu",
    on_step: OnStep | None = None,
) -> list[float]:
    """Train `model` on `task` by teacher forcing, in place, and leave it in train mode on `device`.

    Args:
        model: of sizes that pass `check_sizes`.
        task: where batches come from.
        recipe: steps, learning rate, seed.
        loss: what is minimised; cross-entropy if not given.
        schedule: of the learning rate; linear if not given.
        device: where to train.
        on_step: called after each step with the number of steps done and the batch's loss; what it
            raises ends the training.

    Returns:
        the loss of each step, before the step: mean over tokens that are not PAD.

    Raises:
        DivergedError: the loss is not finite.
    """
    device = torch.device(device)
    model.to(device).train()
    optimizer = make_optimizer(model, recipe)
    losses: list[float] = []
    loss = CrossEntropyLoss(PAD) if loss is None else loss
    schedule = LinearSchedule(recipe.steps, recipe.warmup) if schedule is None else schedule
    batches = task.batches(torch.Generator().manual_seed(recipe.seed), recipe.batch_size)
    with steady(device):
        torch.manual_seed(recipe.seed)
        for step in range(recipe.steps):
            for group in optimizer.param_groups:
                group["lr"] = recipe.lr * schedule(step)
            losses.append(_step(model, loss, optimizer, next(batches), device))
            _check_loss(losses[-1], step, recipe)
            if on_step is not None:
                on_step(step + 1, losses[-1])
    _check_weights(model, recipe)
    return losses


def _check_loss(loss: float, step: int, recipe: Recipe) -> None:
    if not math.isfinite(loss):
        raise DivergedError(
            f"The loss became {loss} at step {step + 1} of {recipe.steps} and training stopped. "
            f"A lower learning rate (now {recipe.lr:g}) may help, unless a part computes NaN."
        )


def _check_weights(model: nn.Module, recipe: Recipe) -> None:
    if not all(bool(parameter.isfinite().all()) for parameter in model.parameters()):
        raise DivergedError(
            f"The last step of {recipe.steps} left weights that are not finite. A lower learning rate (now "
            f"{recipe.lr:g}) may help."
        )


def make_optimizer(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """AdamW over all parameters of `model`, as `recipe` says."""
    return torch.optim.AdamW(
        model.parameters(),
        lr=recipe.lr,
        betas=recipe.betas,
        eps=recipe.eps,
        weight_decay=recipe.weight_decay,
        fused=all(parameter.device.type in ("cpu", "cuda") for parameter in model.parameters()),
    )


def _step(
    model: Transformer,
    loss: SequenceLoss,
    optimizer: torch.optim.Optimizer,
    batch: Batch,
    device: torch.device,
) -> float:
    src, tgt = (side.to(device) for side in batch)
    value = loss(model(src, shift_right(tgt)), tgt)
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    return value.item()  # type: ignore[no-any-return]


def shift_right(tgt: Tensor) -> Tensor:
    """The decoder's input: tgt [B, L] -> [B, L], SOS in front, the last token gone."""
    return F.pad(tgt[:, :-1], (1, 0), value=SOS)  # [B, L-1] -> [B, L]


def exact_match(
    model: Transformer,
    task: TaskData,
    texts: Sequence[str] | None = None,
    *,
    decoding: Decoding | None = None,
    seed: int = 0,
    device: torch.device | str = "cpu",
) -> Score:
    """Let `model` answer `texts`, token after token from its own output.

    Args:
        model: moved to `device`; its mode is left as it was.
        task: how texts become tokens, and what is right.
        texts: the first 1,000 held-out ones if not given.
        decoding: how tokens are chosen; greedily if not given.
        seed: of what a decoding draws.
        device: where to decode.
    """
    device, decoding = torch.device(device), decoding or GreedyDecoding()
    model.to(device)
    texts = task.held_out[:SCORED] if texts is None else texts
    examples: list[Example] = []
    with steady(device):
        torch.manual_seed(seed)
        for start in range(0, len(texts), CHUNK):
            chunk = texts[start : start + CHUNK]
            src = task.batch(chunk).src.to(device)
            rows = generate(model, src, task.max_len, decoding, sos=SOS, eos=EOS, pad=PAD).tolist()
            examples += [
                Example(text, task.decode(row), task.answer(text))
                for text, row in zip(chunk, rows, strict=True)
            ]
    return Score(tuple(examples))
