"""Telling drawn shapes apart, from the patches of an image (Dosovitskiy et al. 2020)."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.core.blueprint import Blueprint
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.training.tasks.base import SPECIAL, Aligned, AlignedData

if TYPE_CHECKING:
    import torch
    from torch import Tensor

SHAPES = ("circle", "square", "triangle", "cross")
HELD_OUT = 1000
HELD_OUT_SEED = 2**62
NOISE = 0.2


class Shapes(AlignedData):
    """Images of one shape each, in any place, size and brightness, under noise; drawn as they are needed.

    The label of class i is i + 3, as that of the token after the three special ones.
    """

    assembly = "encoder"
    reads = "images"
    scored, how = "unseen images", "classified right"
    instead = (
        "The task shapes gives the class of an image, which takes an encoder of images: use assembly=vision, as the "
        "preset vit-tiny has."
    )
    src_vocab = tgt_vocab = SPECIAL + len(SHAPES)
    size, channels = 32, 1

    def bound(self, blueprint: Blueprint) -> Shapes:
        """The same with images of the size that the model takes. Raises CombinationError."""
        found: Shapes = copy.copy(super().bound(blueprint))
        options = make_plan(blueprint)["assembly"].options
        found.size, found.channels = options["image_size"], options["channels"]
        return found

    def rows(self, count: int, generator: torch.Generator) -> Aligned:
        """Images [B, C, H, W] and their labels [B, 1]."""
        import torch

        classes = torch.randint(len(SHAPES), (count,), generator=generator)
        images = drawn(classes, self.size, generator).expand(-1, self.channels, -1, -1)
        return Aligned(images, SPECIAL + classes[:, None])  # [B] -> [B, 1]

    def batches(self, generator: torch.Generator, batch_size: int) -> Iterator[Aligned]:
        """Endless batches of new images, drawn by `generator`."""
        while True:
            yield self.rows(batch_size, generator)

    def held_out_batches(self, batch_size: int) -> Iterator[Aligned]:
        """A thousand images, the same in every run."""
        import torch

        generator = torch.Generator().manual_seed(HELD_OUT_SEED)
        for start in range(0, HELD_OUT, batch_size):
            yield self.rows(min(batch_size, HELD_OUT - start), generator)

    def saved(self) -> Mapping[str, Any]:
        """Nothing: images are drawn."""
        return {}

    @classmethod
    def restored(cls, saved: Mapping[str, Any]) -> Any:  # noqa: ARG003
        """The task."""
        return cls()

    def answers(self, model: Any, texts: Sequence[str]) -> list[str]:
        """Raises ZooError: it reads no texts."""
        raise ZooError(
            "The task shapes reads images, which it draws, and no texts. `zoo train shapes` scores it."
        )


def drawn(classes: Tensor, size: int, generator: torch.Generator) -> Tensor:
    """One shape per class in `classes` [B], as an index of SHAPES: [B, 1, size, size], 0 on average."""
    import torch

    count = len(classes)

    def between(low: float, high: float) -> Tensor:
        return low + (high - low) * torch.rand(count, 1, 1, generator=generator)

    radius = between(0.25, 0.5)
    line = torch.linspace(-1, 1, size)
    x = (
        line - (1 - radius) * between(-1, 1)
    ) / radius  # [B, 1, W], 0 in the middle of the shape, 1 at its edge
    y = (line[:, None] - (1 - radius) * between(-1, 1)) / radius  # [B, H, 1]
    inside = torch.stack(
        [
            x**2 + y**2 < 1,
            torch.maximum(x.abs(), y.abs()) < 0.9,
            (y.abs() < 1) & (2 * x.abs() < 1 + y),
            (torch.minimum(x.abs(), y.abs()) < 0.3) & (torch.maximum(x.abs(), y.abs()) < 1),
        ]
    )  # [4, B, H, W]
    shape = inside[classes, torch.arange(count)] * between(0.7, 1.3)  # [B, H, W]
    noisy = shape + NOISE * torch.randn(count, size, size, generator=generator)
    return (noisy - noisy.mean((1, 2), keepdim=True))[:, None]  # [B, H, W] -> [B, 1, H, W]
