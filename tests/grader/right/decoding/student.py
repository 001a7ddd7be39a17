"""Greedy decoding and beam search, one sentence at a time for the beam."""

from dataclasses import dataclass

import torch


@dataclass
class Hypothesis:
    ids: list
    total: float
    ended: bool = False

    def score(self, length_penalty):
        return self.total / ((5 + len(self.ids)) / 6) ** length_penalty


@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    batch = src.shape[0]
    memory = model.encode(src)
    prefix = src.new_full((batch, 1), sos, dtype=torch.long)
    running = torch.ones(batch, dtype=torch.bool, device=src.device)
    while prefix.shape[1] - 1 < max_len and running.any():
        logits = model.decode(prefix, memory, src)
        best = logits[:, -1, :].argmax(-1)
        best = torch.where(running, best, torch.full_like(best, pad))
        prefix = torch.cat((prefix, best.unsqueeze(1)), dim=1)
        running = running & best.ne(eos)
    return prefix[:, 1:]


def extend(model, hypotheses, memory, src, sos, eos, beam):
    """All hypotheses one token later; those that have ended stay as they are."""
    ended = [h for h in hypotheses if h.ended]
    open_ones = [h for h in hypotheses if not h.ended]
    prefixes = torch.tensor([[sos] + h.ids for h in open_ones], device=src.device)
    count = len(open_ones)
    logits = model.decode(prefixes, memory.repeat(count, 1, 1), src.repeat(count, 1))
    log_probs = torch.log_softmax(logits[:, -1].double(), dim=-1)
    longer = []
    for h, row in zip(open_ones, log_probs):
        values, tokens = row.topk(min(beam, row.numel()))
        for value, token in zip(values.tolist(), tokens.tolist()):
            longer.append(Hypothesis(h.ids + [token], h.total + value, token == eos))
    return ended + longer


@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    answers = []
    for sentence in src:
        sentence = sentence.unsqueeze(0)
        memory = model.encode(sentence)
        hypotheses = [Hypothesis([], 0.0)]
        for _ in range(max_len):
            if all(h.ended for h in hypotheses):
                break
            candidates = extend(model, hypotheses, memory, sentence, sos, eos, beam)
            candidates.sort(key=lambda h: h.total, reverse=True)
            hypotheses = candidates[:beam]
        answers.append(max(hypotheses, key=lambda h: h.score(length_penalty)).ids)
    width = max(len(ids) for ids in answers)
    result = torch.full((len(answers), width), pad, dtype=torch.long, device=src.device)
    for row, ids in zip(result, answers):
        row[: len(ids)] = torch.tensor(ids, device=src.device)
    return result
