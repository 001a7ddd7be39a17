
import torch
from torch import Tensor


def padding_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    keep = (tokens - pad).bool()
    return keep[:, None, None, :].contiguous()


def causal_mask(size: int, device=None) -> Tensor:
    return torch.eye(size, device=device).cumsum(0).bool()[(None,) * 2]


def decoder_mask(tokens: Tensor, pad: int = 0) -> Tensor:
    return torch.minimum(causal_mask(tokens.size(1), tokens.device).int(), padding_mask(tokens, pad).int()).bool()


def to_additive(mask: Tensor, dtype: torch.dtype = torch.float32) -> Tensor:
    table = torch.tensor([float("-inf"), 0.0], dtype=dtype, device=mask.device)
    return table[mask.long()]
