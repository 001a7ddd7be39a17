"""A beginner with nested for loops, prints and asserts that run at import."""

import torch


def padding_mask(tokens, pad=0):
    B, T = tokens.shape
    mask = torch.zeros(B, 1, 1, T, dtype=torch.bool)
    mask = mask.to(tokens.device)
    for b in range(B):
        for t in range(T):
            mask[b, 0, 0, t] = tokens[b, t] != pad
    return mask


def causal_mask(size, device=None):
    rows = []
    for i in range(size):
        rows.append([True] * (i + 1) + [False] * (size - i - 1))
    return torch.tensor([[rows]], device=device)


def decoder_mask(tokens, pad=0):
    pads = padding_mask(tokens, pad)
    T = tokens.shape[1]
    causal = causal_mask(T, tokens.device)
    out = []
    for b in range(tokens.shape[0]):
        both = pads[b] * causal[0]
        out.append(both)
    return torch.stack(out, dim=0)


def to_additive(mask, dtype=torch.float32):
    result = torch.empty(mask.shape, dtype=dtype, device=mask.device)
    result[mask] = 0
    result[mask == False] = float("-inf")  # noqa: E712
    return result


x = torch.tensor([[5, 8, 0]])
print("padding:", padding_mask(x))
print("decoder:", decoder_mask(x))
assert decoder_mask(x).shape == (1, 1, 3, 3)
assert to_additive(padding_mask(x)).tolist() == [[[[0.0, 0.0, float("-inf")]]]]
print("seems to work :)")
