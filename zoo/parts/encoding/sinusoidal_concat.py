"""Fixed sines, then cosines."""

from __future__ import annotations

import torch

from zoo.parts.encoding.sinusoidal import SinusoidalPositions


class ConcatSinusoidalPositions(SinusoidalPositions):
    """PE[t, i] = sin(t / base^(2i/D)) for the first half of the columns, then the cosines of the same angles.

    The columns of `SinusoidalPositions` in another order, as tensor2tensor and fairseq lay them out: a model
    learns the same from either, but weights cannot be moved between them.
    """

    def __init__(self, d_model: int, max_len: int, base: float = 10000.0) -> None:
        """Arguments as in `SinusoidalPositions`; with an odd width there is one sine more."""
        super().__init__(d_model, max_len, base)
        order = torch.cat((torch.arange(0, d_model, 2), torch.arange(1, d_model, 2)))
        self.table = self.table[:, order]
