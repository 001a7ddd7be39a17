import math
import torch
import torch.nn.functional as F
from torch import nn


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
