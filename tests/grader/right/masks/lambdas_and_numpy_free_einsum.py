
import torch

padding_mask = lambda tokens, pad=0: (tokens != pad)[:, None, None]
causal_mask = lambda size, device=None: torch.ones(size, size, device=device).tril().gt(0.5)[None, None]


def decoder_mask(tokens, pad=0):
    past = causal_mask(tokens.size(1), tokens.device)[0, 0].float()
    keys = padding_mask(tokens, pad)[:, 0, 0].float()
    return torch.einsum("qk,bk->bqk", past, keys).unsqueeze(1) == 1


def to_additive(mask, dtype=torch.float32):
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device) - torch.where(mask, 0.0, torch.inf).to(dtype)
