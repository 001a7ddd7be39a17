"""A real forward and backward pass of a fresh model: does it run, and does the gradient reach everything?"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor

from zoo.core.blueprint import Blueprint, Sizes
from zoo.core.errors import CombinationError, ZooError
from zoo.core.plan import Plan
from zoo.models.builder import build_loss, build_plan
from zoo.models.devices import MemoryLimitError, memory_limit
from zoo.models.transformer import Model

ROWS, LENGTH = 4, 16
LARGE = 10**8
"""Parameters from which it is worth knowing, before any is made, whether there is memory for them."""
SMALLER = "Use a smaller d_model, d_ff or vocabulary, or fewer layers."


class Tokens(NamedTuple):
    """src [B, S]; tgt [B, L], the decoder's input; labels [B, L]. Rows of different lengths, then padding."""

    src: Tensor
    tgt: Tensor
    labels: Tensor

    def read_by(self, model: Model) -> tuple[Tensor, ...]:
        """The inputs of `model`: the side of each of its stacks; random images, if it reads these."""
        if model.reads == "images":
            return (cast(Any, model).stand_in(self.src),)
        sides = {"encoder": self.src, "decoder": self.tgt}
        return tuple(side for stack, side in sides.items() if stack in model.stacks)

    def labels_for(self, output: Tensor) -> Tensor:
        """A label for each position of `output` [B, L, V]: [B, L]; those of the first ones, where they are fewer."""
        return self.labels[:, : output.size(1)]


@dataclass(frozen=True)
class Trial:
    """The result of one forward and backward pass.

    Attributes:
        output_shape: of the logits.
        loss: mean over tokens that are not padding.
        reached: how many parameter tensors have a gradient.
        unreached: the names of those that have none.
        not_finite: the names of those whose gradient holds NaN or infinity.
        seconds: wall time of the pass.
    """

    output_shape: tuple[int, ...]
    loss: float
    reached: int
    unreached: tuple[str, ...]
    not_finite: tuple[str, ...]
    seconds: float

    @property
    def good(self) -> bool:
        """Return whether loss and gradient are finite."""
        return math.isfinite(self.loss) and not self.not_finite


def padded_tokens(sizes: Sizes, rows: int, length: int, seed: int) -> Tokens:
    """Random tokens; the first row is full, the others end in more and more padding, up to half.

    Raises:
        CombinationError: `length` is over max_len, or a vocabulary holds nothing but padding.
    """
    if length > sizes.max_len:
        raise CombinationError(f"length={length} is over max_len={sizes.max_len}. Change one of them.")
    if min(sizes.src_vocab, sizes.tgt_vocab) < 2:
        raise CombinationError(
            "A vocabulary of 1 contains only padding: expected src_vocab and tgt_vocab >= 2."
        )
    generator = torch.Generator().manual_seed(seed)
    keep = torch.tensor([length - row * length // (2 * rows) for row in range(rows)])

    def side(vocab: int, width: int, kept: Tensor) -> Tensor:
        ids = torch.randint(vocab - 1, (rows, width), generator=generator)
        ids += ids >= sizes.pad  # every id but the one of padding
        return ids.masked_fill(torch.arange(width) >= kept.unsqueeze(1), sizes.pad)  # [W] >= [B,1] -> [B, W]

    src, tgt = side(sizes.src_vocab, length, keep), side(sizes.tgt_vocab, length + 1, keep + 1)
    return Tokens(src, tgt[:, :-1].contiguous(), tgt[:, 1:].contiguous())  # [B, L+1] -> 2 x [B, L]


def build_on(plan: Plan, device: torch.device, seed: int) -> Model:
    """`zoo.models.builder.build_plan`, with a look at the memory first. Raises as it does, and MemoryLimitError.

    `plan` is a checked one, as `zoo.core.rules.checked_plan` gives it.
    """
    with memory_limit(SMALLER):
        check_memory(plan, device)
        return build_plan(plan, seed=seed).to(device)


def try_out(model: Model, blueprint: Blueprint, device: torch.device, seed: int = 0) -> Trial:
    """One forward and backward pass of `model`, built from `blueprint`, in train mode, on a small batch with padding.

    Raises:
        ZooError: a part from a user's file fails.
        CombinationError: the sizes leave no batch to try.
        MemoryLimitError: it does not fit into memory.
    """
    sizes, measure = blueprint.sizes, build_loss(blueprint).to(device)
    tokens = padded_tokens(sizes, ROWS, min(LENGTH, sizes.max_len), seed)
    tokens = Tokens(*(side.to(device) for side in tokens))
    model.train()
    model.zero_grad(set_to_none=True)
    with memory_limit(SMALLER), torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        torch.manual_seed(seed)
        start = time.perf_counter()
        logits = model(*tokens.read_by(model))
        loss = measure(logits, tokens.labels_for(logits))
        if not loss.requires_grad:
            raise ZooError(
                "No gradient: the logits do not depend on any parameter in a way that torch can follow."
            )
        loss.backward()
        value = loss.item()  # waits for the device
        seconds = time.perf_counter() - start
    trained = {name: p.grad for name, p in model.named_parameters() if p.requires_grad}
    return Trial(
        output_shape=tuple(logits.shape),
        loss=value,
        reached=sum(gradient is not None for gradient in trained.values()),
        unreached=tuple(name for name, gradient in trained.items() if gradient is None),
        not_finite=tuple(n for n, g in trained.items() if g is not None and not g.isfinite().all()),
        seconds=seconds,
    )


def check_memory(plan: Plan, device: torch.device) -> None:
    """Raises MemoryLimitError if the weights and their gradients cannot fit into what is free on `device`."""
    sizes = plan.sizes
    numbers, layers = plan.num_layers, sum(plan.num_layers.values())
    period = math.lcm(*(len(parts) for parts in plan.patterns.values()))
    tables = sizes.src_vocab + sizes.tgt_vocab + sizes.max_len
    if sizes.d_model * (layers * (sizes.d_model + sizes.d_ff) + tables) < LARGE:
        return
    free = free_memory(device)
    try:
        with torch.device("meta"):  # shapes without numbers
            few = {f"num_{name}_layers": min(number, period) for name, number in numbers.items()}
            model = build_plan(replace(plan, sizes=replace(sizes, **few)), seed=0)
    except ZooError:
        return  # building it in earnest will say so, or will do: a user's part may not know this device
    count = sum(map(_bytes, model.parameters()))
    for name, number in numbers.items():
        stack: Any = model.get_submodule(f"{name}.layers")
        sizes_of_layers = [sum(map(_bytes, layer.parameters())) for layer in stack]
        whole, rest = divmod(number, len(sizes_of_layers)) if sizes_of_layers else (0, 0)
        count += (whole - 1) * sum(sizes_of_layers) + sum(sizes_of_layers[:rest]) if whole else 0
    needed = 2 * count
    if free is not None and needed > free:
        raise MemoryLimitError(
            f"The weights and their gradients take {needed / 1e9:,.0f} GB, and {free / 1e9:,.0f} GB is free on "
            f"{device.type}. {SMALLER}"
        )


def _bytes(tensor: Tensor) -> int:
    return tensor.numel() * tensor.element_size()


def free_memory(device: torch.device) -> int | None:
    """Bytes that can be allocated on `device`, None where that is not known."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    except (OSError, StopIteration):
        return None
