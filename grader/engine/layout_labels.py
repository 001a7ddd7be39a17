"""Which input column, or output column, each element of each parameter belongs to, found by gradients.

The gradient of an element that multiplies column i of `key` is a sum of products with that column:
it is exactly zero when the column is zero. So some columns are set to zero in each of a few calls, after
a code in which every (input, column) and every output column (by the cotangent) has its own word; the
calls in which an element's gradient vanishes spell the word of its column.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import torch
from torch import Tensor

from grader.core.submission import Instance, SubmissionError, tensors

BATCH, LENGTH = 2, 3
SOURCES = ("q", "k", "v", "out")
Label = tuple[str, int]  # (sources, column): ("q", 3), ("kv", 0) for a shared one, ("out", 2)


@dataclass(frozen=True)
class Labels:
    """For each parameter: one label an element, None where the gradient does not tell."""

    of: dict[str, list[Label | None]]
    known: bool = True
    reached: frozenset[str] = frozenset()  # parameters that any gradient arrived at


def _calls(d_model: int) -> int:
    """How many calls: enough bits that 4 D words of equal weight, and what two or three share, can all differ."""
    return 10 + 3 * d_model.bit_length()


def _code(d_model: int, generator: torch.Generator) -> tuple[Tensor, dict[int, Label]]:
    """Words [4, D, calls] of equal weight, and the label of every word and of every shared one."""
    calls = _calls(d_model)
    powers = 2 ** torch.arange(calls)
    for _ in range(200):
        words = torch.zeros(4 * d_model, calls, dtype=torch.bool)
        taken: set[int] = set()
        while len(taken) < 4 * d_model:
            word = torch.zeros(calls, dtype=torch.bool)
            word[torch.randperm(calls, generator=generator)[: calls // 2]] = True
            number = int((word * powers).sum())
            if number not in taken:
                words[len(taken)] = word
                taken.add(number)
        coded = words.view(4, d_model, calls)
        # With a whole input at zero, the gradients of others would vanish as well.
        names = None if bool(coded.all(1).any()) else _names(coded, powers)
        if names is not None:
            return coded, names
    return coded, _names(coded, powers, strict=False) or {}


def _names(coded: Tensor, powers: Tensor, strict: bool = True) -> dict[int, Label] | None:
    """Word -> label. An element read by two inputs vanishes where both columns do."""
    names: dict[int, Label] = {}
    for size in (1, 2, 3):
        for sources in combinations(range(4), size):
            if size > 1 and 3 in sources:
                continue
            shared = coded[list(sources)].all(0)  # [D, calls]
            for column, number in enumerate((shared * powers).sum(-1).tolist()):
                if number in names and size < 3 and strict:
                    return None
                if number:  # 0 is the word of what never vanishes: a bias
                    names.setdefault(number, ("".join(SOURCES[s] for s in sources), column))
    return names


def find_labels(instance: Instance, parameters: dict[str, Tensor], d_model: int, seed: int) -> Labels:
    """Ask a few times, with columns set to zero. Parameters are given random values first.

    Args:
        instance: in eval mode.
        parameters: the learner's own values, for their shapes.
    """
    generator = torch.Generator().manual_seed(seed)
    coded, names = _code(d_model, generator)
    instance.load(
        {n: torch.randn(p.shape, generator=generator) / d_model**0.5 for n, p in parameters.items()}
    )
    vanished = {name: torch.zeros(p.numel(), dtype=torch.int64) for name, p in parameters.items()}
    reached: set[str] = set()
    try:
        for call in range(coded.size(-1)):
            zeroed = coded[:, :, call]
            inputs = [
                torch.randn(BATCH, LENGTH, d_model, generator=generator).masked_fill(zeroed[i], 0.0)
                for i in range(3)
            ]
            cotangent = torch.randn(BATCH, LENGTH, d_model, generator=generator).masked_fill(zeroed[3], 0.0)
            for name, gone in _vanishing(instance, inputs, cotangent).items():
                vanished[name] += gone.long() << call
                reached.add(name)
    except SubmissionError as error:
        if error.fatal or error.kind == "not_written":
            raise
        return Labels({name: [None] * p.numel() for name, p in parameters.items()}, known=False)
    found = {
        name: [names.get(word) if name in reached else None for word in words.tolist()]
        for name, words in vanished.items()
    }
    return Labels(found, reached=frozenset(reached))


def _vanishing(instance: Instance, inputs: list[Tensor], cotangent: Tensor) -> dict[str, Tensor]:
    """Where each parameter's gradient is exactly zero, flat."""
    outcome = instance.call(inputs)
    found = tensors(outcome.value)
    if outcome.handle is None or not found or found[0].shape != cotangent.shape:
        raise SubmissionError("protocol", "the result has no gradient, or is not [B, T, d_model]")
    gradients = instance.backward(outcome, [cotangent, *[None] * (len(found) - 1)]).parameters
    return {name: g.flatten() == 0 for name, g in gradients.items() if g is not None}
