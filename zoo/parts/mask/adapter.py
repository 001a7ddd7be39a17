"""From the form in which masks travel to a form that an attention takes."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.parts.mask.base import MaskForm


class MaskAdapter:
    """Converts masks where the two forms differ; a stack does it once, not once a layer."""

    def __init__(self, travelling: MaskForm, taken: MaskForm) -> None:
        """The form in which masks arrive, and the form that the attention takes."""
        self.travelling, self.taken = travelling, taken

    def __call__(self, mask: Tensor | None, num_keys: int, dtype: torch.dtype) -> Tensor | None:
        """`mask` over `num_keys` keys in the form that the attention takes; None stays None."""
        if mask is None or type(self.travelling) is type(self.taken):
            return mask
        return self.taken.encode(self.travelling.decode(mask, num_keys), dtype)
