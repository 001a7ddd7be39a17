import math
import torch
import torch.nn.functional as F
from torch import nn


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    return beam_search(model, src, 1, max_len, 0.0, sos, eos, pad)


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    was_training = model.training
    model.eval()
    try:
        with torch.no_grad():
            return _search(model, src, beam, max_len, length_penalty, sos, eos, pad)
    finally:
        model.train(was_training)


def _search(model, src, beam, max_len, alpha, sos, eos, pad):
    B, device = src.size(0), src.device
    memory = model.encode(src).repeat_interleave(beam, 0)
    source = src.repeat_interleave(beam, 0)
    ids = torch.full((B * beam, 1), sos, dtype=torch.long, device=device)
    total = torch.full((B, beam), -math.inf, dtype=torch.float64, device=device)
    total[:, 0] = 0
    done = torch.zeros(B, beam, dtype=torch.bool, device=device)
    n = torch.zeros(B, beam, dtype=torch.float64, device=device)
    for _ in range(max_len):
        logp = model.decode(ids, memory, source)[:, -1].double().log_softmax(-1).view(B, beam, -1)
        V = logp.size(-1)
        stay = torch.full((V,), -math.inf, dtype=torch.float64, device=device)
        stay[pad] = 0
        logp = torch.where(done[..., None], stay, logp)
        total, flat = (total[..., None] + logp).view(B, -1).topk(beam, -1)
        parent, token = flat // V, flat % V
        ids = ids.view(B, beam, -1).gather(1, parent[..., None].expand(-1, -1, ids.size(-1)))
        ids = torch.cat([ids, token[..., None]], -1).view(B * beam, -1)
        before = done.gather(1, parent)
        n = n.gather(1, parent) + (~before)
        done = before | (token == eos)
        if done.all():
            break
    score = total / ((5 + n) / 6) ** alpha
    best = score.argmax(-1)
    return ids.view(B, beam, -1)[torch.arange(B, device=device), best, 1:]
