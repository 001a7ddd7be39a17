
import torch


def padding_mask(tokens, pad=0):
    B, T = tokens.shape
    out = torch.zeros(B, 1, 1, T, dtype=torch.bool, device=tokens.device)
    for b in range(B):
        for t in range(T):
            out[b, 0, 0, t] = bool(tokens[b, t] != pad)
    return out


def causal_mask(size, device=None):
    out = torch.zeros(1, 1, size, size, dtype=torch.bool, device=device)
    for i in range(size):
        for j in range(i + 1):
            out[0, 0, i, j] = True
    return out


def decoder_mask(tokens, pad=0):
    B, T = tokens.shape
    rows = [[[j <= i and tokens[b, j].item() != pad for j in range(T)] for i in range(T)] for b in range(B)]
    return torch.tensor(rows, dtype=torch.bool, device=tokens.device).reshape(B, 1, T, T)


def to_additive(mask, dtype=torch.float32):
    out = torch.empty(mask.shape, dtype=dtype, device=mask.device)
    out[mask] = 0.0
    out[~mask] = -torch.inf
    return out
