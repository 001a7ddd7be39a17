"""Where the numbers of the reference's parameters are among the learner's own."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

import torch
from torch import Tensor

Shapes = tuple[tuple[str, torch.Size], ...]
Numbers = Mapping[str, Tensor | None]


@dataclass(frozen=True)
class Layout:
    """A map between the learner's parameters and those of the reference: "q.weight" [out, in], "norm1.gain" and so on.

    Attributes:
        shapes: of the learner's parameters, by name.
        index: for each of the reference's that is there, the positions of its numbers in all of the learner's, which
            are flattened and joined in order.
        label: which way to read them it is, the same for all sizes.
        zeros: names of the learner's that hold none of them, and are to be 0.
    """

    shapes: Mapping[str, torch.Size]
    index: Mapping[str, Tensor]
    label: str = ""
    zeros: Collection[str] = ()

    @cached_property
    def is_whole(self) -> bool:
        """Whether the learner's parameters hold nothing else."""
        found = torch.cat([torch.zeros(0, dtype=torch.long), *map(torch.flatten, self.index.values())])
        return len(found.unique()) == self._count

    @cached_property
    def _count(self) -> int:
        return sum(prod(shape) for shape in self.shapes.values())

    @cached_property
    def known(self) -> Collection[str]:
        """The learner's parameters that hold something."""
        return self.homes(*self.index)

    def homes(self, *names: str) -> list[str]:
        """The learner's parameters that hold some of these."""
        ends = torch.tensor([prod(shape) for shape in self.shapes.values()]).cumsum(0)
        places = torch.cat(
            [torch.zeros(0, dtype=torch.long), *(self.index[name].flatten() for name in names)]
        )
        found = torch.bucketize(places, ends, right=True).unique().tolist()
        return [list(self.shapes)[number] for number in found]

    def read(self, values: Numbers) -> dict[str, Tensor]:
        """Weights (or gradients) by the reference's names from the learner's values; what is None counts as zero."""
        dtype = next((v.dtype for v in values.values() if v is not None), torch.float32)
        parts = [torch.zeros(0, dtype=dtype)]
        for name, shape in self.shapes.items():
            value = values.get(name)
            parts.append(torch.zeros(prod(shape), dtype=dtype) if value is None else value.detach().flatten())
        flat = torch.cat(parts)
        return {name: flat[where] for name, where in self.index.items()}

    def write(self, weights: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The learner's parameters that hold these weights; what is no weight is taken from `others`."""
        if not self.shapes:
            return {}
        dtype = next((w.dtype for w in weights.values()), torch.float32)
        if self.is_whole and weights.keys() >= self.index.keys():
            flat = torch.zeros(self._count, dtype=dtype)
        else:
            flat = torch.cat([others[name].detach().flatten().to(dtype) for name in self.shapes])
        for name, where in self.index.items():
            if name in weights:
                flat[where.flatten()] = weights[name].to(dtype).flatten()
        parts = flat.split([prod(shape) for shape in self.shapes.values()])
        return {name: p.view(shape) for (name, shape), p in zip(self.shapes.items(), parts, strict=True)}
