"""A numpy person: everything is computed in numpy and brought back to the tensor's device at the end."""

import numpy as np
import torch


def _to_torch(a, device):
    return torch.from_numpy(np.ascontiguousarray(a)).to(device)


def padding_mask(tokens, pad=0):
    t = tokens.detach().cpu().numpy()
    return _to_torch((t != int(pad))[:, np.newaxis, np.newaxis, :], tokens.device)


def causal_mask(size, device=None):
    future = np.triu(np.ones((1, 1, size, size)), k=1).astype("uint8")
    if device is None:
        device = torch.get_default_device()
    return _to_torch(future == 0, device)


def decoder_mask(tokens, pad=0):
    t = tokens.detach().cpu().numpy()
    b, n = t.shape
    nopeak = np.tri(n, dtype=bool)
    keys = np.broadcast_to((t != int(pad))[:, None, None, :], (b, 1, n, n))
    return _to_torch(np.logical_and(keys, nopeak), tokens.device)


def to_additive(mask, dtype=torch.float32):
    a = np.where(mask.detach().cpu().numpy(), np.float64(0), -np.inf)
    return torch.as_tensor(np.asarray(a)).to(device=mask.device, dtype=dtype)
