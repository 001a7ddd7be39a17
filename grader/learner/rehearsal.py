"""Training and spelling with an assembly: the learner's loss, steps, decoding and cache, where they are solved."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from grader.learner.assembly import CAUSAL, PRESET, OwnLoss
from grader.training.training import spelled
from zoo.core.blueprint import get_preset
from zoo.models.transformer import Model
from zoo.parts.schedule.linear import LinearSchedule
from zoo.training.tasks.base import EOS, PAD, SOS, TaskData
from zoo.training.trainer import Recipe, Score, exact_match, make_optimizer, steady, train

WORDS = 1000
OnStep = Callable[[int, float], None]


def rehearse(
    model: Model, own: Mapping[str, ModuleType], task: TaskData, recipe: Recipe, on_step: OnStep
) -> None:
    """Train the assembly in place, with the learner's steps, rate, batches and loss where they are solved."""
    if "training" not in own:
        loss = OwnLoss(own["loss"], PAD) if "loss" in own else None
        train(model, task, recipe, loss=loss, on_step=on_step)
        return
    module, draws, optimizer = own["training"], random.Random(recipe.seed), make_optimizer(model, recipe)
    width = get_preset(PRESET).blueprint().sizes.d_model
    peak = module.noam(recipe.warmup, width, recipe.warmup)
    falling = LinearSchedule(recipe.steps, 0)
    with steady(torch.device("cpu")):
        torch.manual_seed(recipe.seed)
        for step in range(recipe.steps):
            src, tgt = module.reverse_words(draws.sample(task.training, recipe.batch_size))
            share = min(module.noam(step + 1, width, recipe.warmup) / peak, 1.0)
            for group in optimizer.param_groups:
                group["lr"] = recipe.lr * share * falling(step)
            on_step(step + 1, module.train_step(model, optimizer, src, tgt))


def recital(model: Model, own: Mapping[str, ModuleType], task: TaskData) -> Score:
    """Return how many unseen words it spells backwards, by the learner's greedy decoding where that is solved."""
    texts = task.held_out[:WORDS]
    if "decoding" not in own:
        return exact_match(model, task, texts)
    model.eval()
    with steady(torch.device("cpu")):
        src = task.batch(texts).src
        rows: Tensor = own["decoding"].greedy_decode(model, src, task.max_len, sos=SOS, eos=EOS, pad=PAD)
    return spelled(task, texts, rows.tolist())


class StepByStep(nn.Module):
    """A causal self-attention that is computed one position at a time, with the learner's cache."""

    def __init__(self, cached: nn.Module) -> None:
        super().__init__()
        self.cached = cached

    def forward(
        self, query: Tensor, _key: Tensor, _value: Tensor, _mask: Tensor | None = None, *_: Any
    ) -> Tensor:
        """query [B, L, D], which is key and value too -> [B, L, D]."""
        cache, outputs = None, []
        for t in range(query.size(1)):
            output, cache = self.cached(query[:, t : t + 1], cache)
            outputs.append(output)
        return torch.cat(outputs, 1)  # L times [B, 1, D] -> [B, L, D]


def with_cache(model: Model, own: Mapping[str, ModuleType]) -> Model | None:
    """A copy of the model whose decoder attends through the learner's cache; None where weights cannot be copied."""
    sizes = get_preset(PRESET).blueprint().sizes
    copied = copy.deepcopy(
        model, {id(module): module for module in own.values()}
    )  # a file is no part of a model
    for parent in list(copied.modules()):
        for name, child in list(parent.named_children()):
            if not getattr(child, CAUSAL, False):
                continue
            cached = own["kv_cache"].CachedAttention(sizes.d_model, sizes.num_heads)
            weights = {key.removeprefix("inner."): value for key, value in child.state_dict().items()}
            wanted = {key: value.shape for key, value in cached.state_dict().items()}
            if {key: value.shape for key, value in weights.items()} != wanted:
                return None
            cached.load_state_dict(weights)
            setattr(parent, name, StepByStep(cached.eval()))
            return copied
    return None
