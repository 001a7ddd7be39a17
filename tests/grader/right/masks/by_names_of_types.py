"""Old style (PyTorch 0.4): .type(x.type()) carries both dtype and device, .new makes tensors beside another."""
import numpy as np
import torch


def padding_mask(tokens, pad=0):
    return (tokens != pad).unsqueeze(1).unsqueeze(2)


def causal_mask(size, device=None):
    mask = torch.from_numpy(np.tril(np.ones((1, 1, size, size))).astype("uint8")) == 1
    return mask.to(device if device is not None else torch.get_default_device())


def decoder_mask(tokens, pad=0):
    keys = padding_mask(tokens, pad)
    return keys & causal_mask(tokens.size(1)).type(keys.type())


def to_additive(mask, dtype=torch.float32):
    zeros = mask.new_zeros(mask.shape, dtype=dtype)
    return zeros.masked_fill(~mask, float("-inf"))
