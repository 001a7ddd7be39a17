"""Models whose every answer the judge knows: one to decode with, one to train, and an optimizer for it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .base import Part, weight

MEMORY_WIDTH = 2


class Speller(Part):
    """Stands for a trained Transformer: its logits are rows of `judge_table` [rows, V].

    Which row depends on the sentence, on its memory and on every token of the prefix, so that nothing but the right
    calls gives the right ids. `judge_memory` [V, 2] is what `encode` gives for each id: small whole numbers.

    It notes, call by call, whether gradients were recorded.
    """

    def __init__(self, vocab: int, rows: int) -> None:
        super().__init__()
        self.judge_table = weight(rows, vocab)
        self.judge_memory = weight(vocab, MEMORY_WIDTH)

    def encode(self, src: Tensor) -> Tensor:
        """src [B, S] -> memory [B, S, 2]."""
        memory: Tensor = self.judge_memory[src]
        self.note(recording=torch.tensor(memory.requires_grad))
        return memory

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """tgt [B, L], memory [B, S, 2], src [B, S] -> logits [B, L, V]."""
        logits: Tensor = self.judge_table[self.rows(tgt, memory, src)]  # [B, L, V]
        self.note(recording=torch.tensor(logits.requires_grad))
        return logits

    def rows(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        """Return which row of the table speaks at each place, [B, L]; arguments as in `decode`."""
        if tgt.dim() != 2 or not tgt.size(1):
            raise IndexError(f"tgt has to be [B, L], and is {list(tgt.shape)}")
        rows = self.judge_table.size(0)
        places = torch.arange(1, src.size(1) + 1, device=src.device)
        told = memory.detach().double().round().long().sum(-1)  # [B, S]
        first = ((3 * src + 5 * told) * places).sum(-1, keepdim=True) % rows  # [B, 1]
        first, tgt = torch.broadcast_tensors(first, tgt)
        states = []  # plain numbers: they are few, and each depends on the one before
        for (state, *_), tokens in zip(first.tolist(), tgt.tolist(), strict=True):
            states.append([state := (31 * state + 7 * token + 1) % rows for token in tokens])
        return torch.tensor(states, device=tgt.device)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> logits [B, L, V]."""
        return self.decode(tgt, self.encode(src), src)


class Pupil(Part):
    """A small model to train: logits of each place from the sentence and the prefix, smooth in its three weights.

    It works with other numbers in train mode, as dropout would make it do, but always the same ones.
    """

    def __init__(self, vocab: int, d_model: int) -> None:
        super().__init__()
        self.judge_src, self.judge_tgt = weight(vocab, d_model), weight(vocab, d_model)
        self.judge_head = weight(d_model, vocab)
        self.inner = nn.Identity()  # as a model has parts: its mode is what dropout would go by

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> logits [B, L, V]."""
        self.note(src=src, tgt=tgt, training=torch.tensor(self.inner.training))
        read = F.embedding(tgt, self.judge_tgt)  # [B, L, D]
        mixed = torch.tanh(
            read + 0.5 * read.cumsum(1) + F.embedding(src, self.judge_src).mean(1, keepdim=True)
        )
        logits: Tensor = mixed @ self.judge_head
        return 1.5 * logits if self.inner.training else logits

    def leave_gradients(self, size: float) -> None:
        """Gradients as they may be left from before: `size` everywhere."""
        for parameter in self.parameters():
            parameter.grad = torch.full_like(parameter, size)

    def leave_part_in_eval_mode(self) -> None:
        """As after a look at a part: the model itself is in train mode."""
        self.train()
        self.inner.eval()


class Plain(torch.optim.Optimizer):
    """p - lr * (gradient + half of what the step before took), and nothing else.

    The optimizers of torch import its compiler with their first step, and with the first one made; nothing is
    compiled here, and it takes a second of CPU on both sides. So what would import it is replaced by what it wraps.
    """

    add_param_group = inspect.unwrap(torch.optim.Optimizer.add_param_group)
    zero_grad = inspect.unwrap(torch.optim.Optimizer.zero_grad)

    def __init__(self, parameters: Iterable[nn.Parameter] | Iterable[dict[str, Any]], lr: float) -> None:
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """One step; gives what `closure`, if there is one, gives."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    state = self.state[parameter]
                    state["way"] = 0.5 * state.get("way", 0.0) + parameter.grad
                    parameter.add_(state["way"], alpha=-group["lr"])
        return loss


class Descent(Part):
    """Gradient descent with momentum over a module, which is what the submission is given; counts its steps.

    Its first parameter is a group of its own; the others move half as fast.
    """

    def __init__(self, module: nn.Module, rate: float) -> None:
        super().__init__()
        first, *others = module.parameters()
        groups: list[dict[str, Any]] = [{"params": [first]}]
        groups += [{"params": others, "lr": rate / 2}] if others else []
        self._optimizer, self._steps = Plain(groups, rate), 0
        self._optimizer.register_step_post_hook(self._count)

    def _count(self, *_: Any) -> None:
        self._steps += 1

    def handed(self) -> torch.optim.Optimizer:
        """The optimizer."""
        return self._optimizer

    def steps(self) -> int:
        """Return how many were made, so far."""
        return self._steps

    def rates(self) -> list[float]:
        """The learning rates of the groups, as they are now."""
        return [float(group["lr"]) for group in self._optimizer.param_groups]
