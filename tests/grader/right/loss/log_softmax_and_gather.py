
import torch


def shift_right(target, sos=1):
    shifted = torch.roll(target, 1, dims=1)
    shifted[:, 0] = sos
    return shifted


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    logp = torch.log_softmax(logits, dim=-1)
    right = logp.gather(-1, target[..., None])[..., 0]
    token = -(1 - smoothing) * right - smoothing * logp.mean(-1)
    real = target != pad
    return torch.where(real, token, 0).sum() / real.sum()
