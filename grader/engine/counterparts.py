"""Which number of one code's parameters is which number of another's, found by experiment.

Both codes get equal numbers, at first the same in all places, and the gradients at them are compared: numbers at which
they differ are unlike, and get other values from then on. Numbers that stay alike (the features of a hidden layer) are
told apart by giving them values of their own, in both codes. It is the colour refinement of graphs (Weisfeiler and
Leman, 1968), with gradients for neighbourhoods: no name, no shape and no order is looked at.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

Gradients = Callable[[Tensor, int], Tensor | None]
"""From the values of all numbers [N], and which experiment it is, to their gradients [N]; None if there are none."""

ROUNDED = (1e-10, 1e-5)  # of the largest gradient: in float64; where something is computed in float32
APART = 10.0  # times that much is no rounding
STEADY = (2, 6)
"""Experiments in which no class falls apart, until one is made to; more where so few were misleading."""
MOST_EXPERIMENTS = 40
"""From one class told apart to the next: features that are alike are told apart one after the other."""


@dataclass(frozen=True)
class _Classes:
    """Numbers that are alike so far: the class of each, in our code and in theirs [N]."""

    ours: Tensor
    theirs: Tensor

    @property
    def sizes(self) -> Tensor:
        return self.theirs.bincount()

    def apart(self, some: Tensor, others: Tensor) -> _Classes:
        """Give the numbers at these places, in ours and in theirs, classes of their own, one after the other."""
        ours, theirs, first = self.ours.clone(), self.theirs.clone(), len(self.sizes)
        ours[some] = theirs[others] = torch.arange(first, first + len(some))
        return _Classes(ours, theirs)

    def split(self, ours: Tensor, theirs: Tensor, rounded: float) -> _Classes | None:
        """Split them by the gradients; None if these are not equal."""
        near = rounded * float(theirs.abs().max())
        mine, other = _sorted(self.ours, ours), _sorted(self.theirs, theirs)
        a, b = ours[mine], theirs[other]
        if not torch.allclose(a, b, rtol=0.0, atol=near):  # false with NaN
            return None
        kinds = self.ours[mine]
        borders = (a.diff() > APART * near) & (b.diff() > APART * near) | (kinds.diff() > 0)
        numbers = torch.cat([torch.zeros(1, dtype=torch.long), borders.cumsum(0)])
        found = _Classes(self.ours.clone(), self.theirs.clone())
        found.ours[mine] = found.theirs[other] = numbers
        return found


def _sorted(classes: Tensor, values: Tensor) -> Tensor:
    """The places of numbers by class, then by value."""
    order = values.argsort()
    return order[classes[order].argsort(stable=True)]


class _Search:
    def __init__(
        self, ours: Gradients, theirs: Gradients, scale: float, seed: int, rounded: float, steady: int
    ) -> None:
        self._ours, self._theirs, self._scale, self._rounded = ours, theirs, scale, rounded
        self._draws, self._steady = torch.Generator().manual_seed(seed), steady
        self._left, self._number = MOST_EXPERIMENTS, 0

    def split(self, classes: _Classes) -> _Classes | None:
        """Split classes until they hold for some experiments; None if the codes differ."""
        steady = 0
        while steady < self._steady:
            self._left, self._number = self._left - 1, self._number + 1
            drawn = torch.randn(len(classes.sizes), generator=self._draws, dtype=torch.float64) * self._scale
            ours = self._ours(drawn[classes.ours], self._number)
            theirs = self._theirs(drawn[classes.theirs], self._number)
            if ours is None or theirs is None or self._left < 0:
                return None
            if not theirs.isfinite().all():  # it says nothing
                continue
            found = classes.split(ours, theirs, self._rounded)
            if found is None:
                return None
            steady = steady + 1 if len(found.sizes) == len(classes.sizes) else 0
            classes = found
        return classes

    def apart(self, classes: _Classes) -> _Classes | None:
        """Tell the members of the smallest class of several apart: all, in order, or one; None if that cannot be."""
        sizes = classes.sizes
        self._left = MOST_EXPERIMENTS
        smallest = int(sizes.masked_fill(sizes < 2, int(sizes.max()) + 1).argmin())
        mine, others = (x.eq(smallest).nonzero().squeeze(1) for x in (classes.ours, classes.theirs))
        found = self.split(classes.apart(mine, others))
        for place in mine if found is None else ():
            found = self.split(classes.apart(place.view(1), others[:1]))
            if found is not None or self._left < 0:
                break
        return found


def counterparts(
    ours: Gradients, theirs: Gradients, count: int, *, scale: float = 1.0, seed: int = 0
) -> Tensor | None:
    """For each of their numbers its place among ours [count]; None if there is no such order.

    Args:
        ours, theirs: the codes. Both are to get the same inputs, and the same gradient of their results, in the
            experiment of a number.
        count: numbers that each has.
        scale: of the values that they get.
    """
    alike = torch.zeros(count, dtype=torch.long)
    for rounded in ROUNDED:
        for steady in STEADY:
            search = _Search(ours, theirs, scale, seed, rounded, steady)
            classes = search.split(_Classes(alike, alike))
            if classes is None:  # the codes differ
                break
            while classes is not None and len(classes.sizes) < count:
                classes = search.apart(classes)
            if classes is not None:
                found = torch.empty(count, dtype=torch.long)
                found[classes.theirs.argsort()] = classes.ours.argsort()
                return found
    return None
