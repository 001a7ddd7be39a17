"""einops, and F.cross_entropy with class probabilities instead of ids (the smoothing written into them); padded places are dropped first."""

import torch
import torch.nn.functional as F
from einops import einsum, pack, rearrange, repeat


def shift_right(target, sos=1):
    b = target.shape[0]
    start = repeat(torch.tensor([sos]).to(target), "1 -> b 1", b=b)
    moved, _ = pack([start, target[:, :-1]], "b *")
    return moved


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    v = logits.shape[-1]
    keep = rearrange(target != pad, "b l -> (b l)")
    flat = rearrange(logits, "b l v -> (b l) v")[keep]
    ids = rearrange(target, "b l -> (b l)")[keep]
    soft = F.one_hot(ids, num_classes=v).to(flat.dtype)
    soft = soft * (1 - smoothing) + smoothing / v
    if flat.dtype == torch.bfloat16:
        logp = flat.float().log_softmax(dim=-1)
        return (-einsum(soft.float(), logp, "n v, n v -> ") / ids.numel()).bfloat16()
    return F.cross_entropy(flat, soft)
