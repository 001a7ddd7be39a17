"""The decoder's input and the loss in small steps, so that a known mistake is the reference with one step replaced.

Cross-entropy with label smoothing ("Attention Is All You Need", section 5.4).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor


@dataclass(frozen=True)
class Call:
    """What every step of the loss sees.

    Attributes:
        target: ids [B, L].
        pad: the id that means padding.
        smoothing: how much of the right id's share goes to all ids.
    """

    target: Tensor
    pad: int
    smoothing: float


def shift(target: Tensor, sos: int) -> Any:
    """ids [B, L] -> SOS and all but the last, [B, L]."""
    return torch.cat([torch.full_like(target[:, :1], sos), target[:, :-1]], dim=1)


def align(logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Return which logits [B, L, V] are compared with which ids [B, L]."""
    return logits, target


def logs(_call: Call, logits: Tensor) -> Tensor:
    """Logits [B, L, V] -> logarithms of the shares, [B, L, V]."""
    return logits.log_softmax(-1)


def right(call: Call, logs: Tensor) -> Tensor:
    """The logarithm of the right id's share: [B, L]."""
    return logs.gather(-1, call.target.unsqueeze(-1)).squeeze(-1)  # [B, L]


def smooth(call: Call, logs: Tensor, right: Tensor) -> Tensor:
    """The loss of each token: [B, L]."""
    return -((1 - call.smoothing) * right + call.smoothing * logs.mean(-1))


def keep(call: Call) -> Tensor:
    """Return which places count: bool [B, L]."""
    return call.target != call.pad


def reduce(_call: Call, each: Tensor, keep: Tensor) -> Any:
    """The mean over what counts: losses [B, L] and bool [B, L] -> scalar."""
    return each[keep].mean()


@dataclass(frozen=True)
class Steps:
    """The whole computation, in order. `dataclasses.replace` makes a mistake of it."""

    NAMES: ClassVar[Mapping[str, str]] = {
        "shift": "decoder input", "logs": "log-probabilities", "right": "log-probability of the target",
        "smooth": "loss of each token", "keep": "tokens that count", "reduce": "loss", "finish": "loss",
    }  # fmt: skip

    shift: Callable[[Tensor, int], Any] = shift
    align: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = align
    logs: Callable[[Call, Tensor], Tensor] = logs
    right: Callable[[Call, Tensor], Tensor] = right
    smooth: Callable[[Call, Tensor, Tensor], Tensor] = smooth
    keep: Callable[[Call], Tensor] = keep
    reduce: Callable[[Call, Tensor, Tensor], Any] = reduce
    finish: Callable[[Tensor, Any], Any] = lambda _logits, loss: loss

    def loss(self, logits: Tensor, target: Tensor, pad: int, smoothing: float) -> Any:
        """logits [B, L, V], target [B, L] -> scalar."""
        used, compared = self.align(logits, target)
        call = Call(compared, pad, smoothing)
        wide = used.to(torch.promote_types(used.dtype, torch.float32))
        logs = self.logs(call, wide)
        each = self.smooth(call, logs, self.right(call, logs))
        found = self.reduce(call, each, self.keep(call))
        return self.finish(logits, found.to(logits.dtype))


REFERENCE = Steps()


def namespace(steps: Steps) -> dict[str, Any]:
    """Return the names that a file with these steps defines."""

    def shift_right(target: Tensor, sos: int = 1) -> Any:
        return steps.shift(target, sos)

    def sequence_loss(logits: Tensor, target: Tensor, pad: int = 0, smoothing: float = 0.0) -> Any:
        return steps.loss(logits, target, pad, smoothing)

    return {"shift_right": shift_right, "sequence_loss": sequence_loss}
