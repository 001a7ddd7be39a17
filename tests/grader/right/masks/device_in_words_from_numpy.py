"""numpy triu, device strings, partial."""
import numpy as np, torch
def padding_mask(tokens, *, pad=0):
    return (tokens != np.int64(pad))[:, None, None, :]
def causal_mask(size, *, device=None):
    return torch.from_numpy(np.triu(np.ones((1, 1, size, size)), k=1) == 0).to(device)
def decoder_mask(tokens, *, pad=0):
    return padding_mask(tokens, pad=pad) & causal_mask(tokens.shape[-1], device=str(tokens.device))
def to_additive(mask, *, dtype=torch.float32):
    return torch.where(mask, 0.0, -np.inf).to(dtype)
