"""What a computation holds in memory: the largest tensor that it makes, and what it keeps for later."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import saved_tensors_hooks
from torch.utils._python_dispatch import TorchDispatchMode


class _Largest(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(one, Tensor):
                self.numbers = max(self.numbers, one.numel())
        return result


def largest_tensor(compute: Callable[[], object]) -> int:
    """How many numbers the largest tensor has that any operation in `compute` gives, backward ones too."""
    with _Largest() as largest:
        compute()
    return largest.numbers


def kept_numbers(compute: Callable[[], Tensor]) -> int:
    """How many numbers the forward pass keeps for the backward pass; shared memory counts once."""
    sizes: dict[int, int] = {}

    def pack(tensor: Tensor) -> Tensor:
        storage = tensor.untyped_storage()
        sizes[storage.data_ptr()] = storage.nbytes() // tensor.element_size()
        return tensor

    with saved_tensors_hooks(pack, lambda tensor: tensor):
        out = compute()
        total = sum(sizes.values())
    assert isinstance(out, torch.Tensor)
    return total
