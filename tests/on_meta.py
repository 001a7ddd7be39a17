"""A device that needs no hardware, in place of a GPU: what is computed elsewhere would fail on one."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class OnMetaOnly(TorchDispatchMode):
    """Fails where anything but single numbers is computed on another device; meta would take tensors of the CPU.

    Args:
        what: runs in it, for the message.
    """

    def __init__(self, what: str = "") -> None:
        super().__init__()
        self._what = what

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, (tuple, list)) else (out,):
            assert not isinstance(one, Tensor) or one.is_meta or one.dim() == 0, (
                f"{self._what}: {func} on {one.device}"
            )
        return out
