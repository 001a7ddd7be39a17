"""torch.jit.script on both functions (with defaults), column by column shift, nll_loss with ignore_index in float64."""

import warnings
from typing import List

import torch
import torch.nn.functional as F
from torch import Tensor

warnings.filterwarnings("ignore", message=".*torch.jit.script.*", category=DeprecationWarning)


@torch.jit.script
def shift_right(target: Tensor, sos: int = 1) -> Tensor:
    columns: List[Tensor] = [torch.full_like(target[:, 0], sos)]
    for i in range(target.size(1) - 1):
        columns.append(target[:, i])
    return torch.stack(columns, dim=1)


@torch.jit.script
def sequence_loss(logits: Tensor, target: Tensor, pad: int = 0, smoothing: float = 0.0) -> Tensor:
    logp = F.log_softmax(logits, dim=2, dtype=torch.float64).flatten(0, 1)
    ids = target.flatten()
    hard = F.nll_loss(logp, ids, ignore_index=pad)
    soft = -logp[ids != pad].mean()
    return ((1.0 - smoothing) * hard + smoothing * soft).to(logits.dtype)
