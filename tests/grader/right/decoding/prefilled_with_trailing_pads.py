import math
import torch
import torch.nn.functional as F
from torch import nn


@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    memory = model.encode(src)
    out = torch.full((len(src), max_len + 1), pad, dtype=torch.long, device=src.device)
    out[:, 0] = sos
    going = torch.ones(len(src), dtype=torch.bool, device=src.device)
    for i in range(max_len):
        best = model.decode(out[:, : i + 1], memory, src)[:, i].softmax(-1).argmax(-1)
        out[going, i + 1] = best[going]
        going = going & (best != eos)
    return out[:, 1:]


def final(h, penalty):
    return h["sum"] / ((5 + len(h["ids"])) / 6) ** penalty


@torch.inference_mode()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    out = torch.full((len(src), max_len), pad, dtype=torch.long, device=src.device)
    for b in range(len(src)):
        one = src[b, None]
        memory = model.encode(one)
        beams = [{"sum": 0.0, "ids": [], "done": False}]
        for _ in range(max_len):
            following = [h for h in beams if h["done"]]
            for h in beams:
                if h["done"]:
                    continue
                tgt = torch.tensor([[sos, *h["ids"]]], device=src.device)
                logp = model.decode(tgt, memory, one)[0, -1].double().log_softmax(-1).tolist()
                following += [
                    {"sum": h["sum"] + p, "ids": [*h["ids"], token], "done": token == eos}
                    for token, p in enumerate(logp)
                ]
            beams = sorted(following, key=lambda h: final(h, length_penalty), reverse=True)[:beam]
            if all(h["done"] for h in beams):
                break
        ids = max(beams, key=lambda h: final(h, length_penalty))["ids"]
        out[b, : len(ids)] = torch.tensor(ids, device=src.device)
    return out.clone()
