import math
import torch
import torch.nn.functional as F
from torch import nn


def rows(lists, pad, device):
    width = max(len(one) for one in lists)
    return torch.tensor([one + [pad] * (width - len(one)) for one in lists], dtype=torch.long, device=device)


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    results = []
    with torch.no_grad():
        for one in src.split(1):
            memory, ids = model.encode(one), []
            while len(ids) < max_len and eos not in ids:
                tgt = torch.tensor([[sos] + ids], device=src.device)
                ids.append(int(model.decode(tgt, memory, one)[0, -1].argmax()))
            results.append(ids)
    return rows(results, pad, src.device)


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    results = []
    with torch.no_grad():
        for one in src.split(1):
            memory = model.encode(one)
            live, ended = [(0.0, [])], []
            for _ in range(max_len):
                grown = []
                for total, ids in live:
                    tgt = torch.tensor([[sos] + ids], device=src.device)
                    logp = F.log_softmax(model.decode(tgt, memory, one)[0, -1].double(), dim=-1)
                    grown += [(total + p, ids + [token]) for token, p in enumerate(logp.tolist())]
                best = sorted(ended + grown, key=lambda h: -h[0])[:beam]
                ended = [h for h in best if h[1][-1] == eos]
                live = [h for h in best if h[1][-1] != eos]
                if not live:
                    break
            pool = ended or live
            results.append(max(pool, key=lambda h: h[0] / ((5 + len(h[1])) / 6) ** length_penalty)[1])
    return rows(results, pad, src.device)
