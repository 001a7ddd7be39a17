"""Right decoders of text in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

RIGHT: Mapping[str, str] = {
    "prefilled_with_trailing_pads": HEAD
    + """

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
""",
    "one_row_at_a_time": HEAD
    + """

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
""",
    "greedy_is_a_beam_of_one": HEAD
    + """

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
""",
    "recursion_and_a_warning": HEAD
    + """

import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    memory = model.encode(src)

    def go(tgt):
        ended = (tgt[:, 1:] == eos).any(-1)
        if tgt.size(1) > max_len or ended.all():
            return tgt[:, 1:]
        token = model.decode(tgt, memory, src)[:, -1, :].log_softmax(-1).max(-1).indices
        return go(torch.hstack([tgt, torch.where(ended, pad, token)[:, None]]))

    return go(src.new_full((len(src), 1), sos, dtype=torch.long))


class Hypothesis:
    def __init__(self, ids, logps):
        self.ids, self.logps = ids, logps

    def score(self, alpha):
        return math.fsum(self.logps) / ((5 + len(self.ids)) / 6) ** alpha


@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    found = []
    for b in range(src.shape[0]):
        one = src[b : b + 1]
        memory = model.encode(one)
        kept = [Hypothesis((), ())]
        for _ in range(max_len):
            if all(h.ids and h.ids[-1] == eos for h in kept):
                break
            pool = []
            for h in kept:
                if h.ids and h.ids[-1] == eos:
                    pool.append(h)
                    continue
                tgt = one.new_tensor([(sos, *h.ids)], dtype=torch.long)
                logp = model.decode(tgt, memory, one)[0, -1].double().log_softmax(0)
                values, tokens = logp.topk(min(beam, len(logp)))
                pool += [
                    Hypothesis((*h.ids, t), (*h.logps, v))
                    for v, t in zip(values.tolist(), tokens.tolist())
                ]
            kept = sorted(pool, key=lambda h: h.score(0.0), reverse=True)[:beam]
        found.append(torch.tensor(max(kept, key=lambda h: h.score(length_penalty)).ids, device=src.device))
    return nn.utils.rnn.pad_sequence(found, batch_first=True, padding_value=pad)
""",
}
