"""OpenNMT manner: backpointers kept for each step and traced at the end; decode is called by keyword; the float32 sums; enum and properties."""

import enum
import math

import torch


class Status(enum.Enum):
    RUNNING = 0
    FINISHED = 1


class Beam:
    """The state of one sentence."""

    def __init__(self, size, sos, eos, pad, device):
        self.size, self.eos, self.pad = size, eos, pad
        self.scores = torch.zeros(1, device=device)
        self.prev_ks = []  # backpointers at each step
        self.next_ys = [torch.tensor([sos], device=device)]
        self.done = torch.zeros(1, dtype=torch.bool, device=device)
        self.length = torch.zeros(1, device=device)

    @property
    def status(self):
        return Status.FINISHED if bool(self.done.all()) else Status.RUNNING

    def hypothesis(self, k):
        ids = []
        for back, ys in zip(reversed(self.prev_ks), reversed(self.next_ys[1:])):
            ids.insert(0, int(ys[k]))
            k = int(back[k])
        return ids

    def prefixes(self):
        head = int(self.next_ys[0][0])
        return [[head] + self.hypothesis(k) for k in range(len(self.scores))]

    def advance(self, logp):
        words = logp.shape[1]
        table = self.scores[:, None] + logp
        table[self.done] = -math.inf
        table[self.done, self.pad] = self.scores[self.done]
        flat = table.flatten()
        keep = min(self.size, int((flat > -math.inf).sum()))
        values, index = (out[:keep] for out in torch.sort(flat, descending=True, stable=True))
        back, ys = torch.div(index, words, rounding_mode="trunc"), torch.fmod(index, words)
        self.length = self.length[back] + (~self.done[back])
        self.done = self.done[back] | (ys == self.eos)
        self.scores = values
        self.prev_ks.append(back)
        self.next_ys.append(ys)

    def best(self, alpha):
        normed = self.scores / torch.pow((5 + self.length) / 6, alpha)
        return self.hypothesis(int(torch.argmax(normed)))


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    with torch.no_grad():
        memory = model.encode(src=src)
        out = torch.ones(len(src), 1).fill_(sos).type(torch.long).to(src.device)
        stopped = set()
        for i in range(max_len):
            logits = model.decode(tgt=out, memory=memory, src=src)
            _, next_word = torch.max(logits[:, -1], dim=1)
            for row in range(len(src)):
                if row in stopped:
                    next_word[row] = pad
                elif next_word[row] == eos:
                    stopped.add(row)
            out = torch.cat([out, next_word.unsqueeze(1)], dim=1)
            if len(stopped) == len(src):
                break
    return out[:, 1:].contiguous()


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    out = torch.zeros(len(src), max_len, dtype=torch.int64, device=src.device).fill_(pad)
    with torch.no_grad():
        memory = model.encode(src=src)
        for b in range(len(src)):
            state = Beam(beam, sos, eos, pad, src.device)
            for _ in range(max_len):
                tgt = torch.tensor(state.prefixes(), device=src.device)
                k = len(tgt)
                logits = model.decode(tgt=tgt, memory=memory[b].expand(k, -1, -1), src=src[b].expand(k, -1))
                state.advance(torch.log_softmax(logits[:, -1].float(), dim=-1))
                if state.status is Status.FINISHED:
                    break
            ids = state.best(length_penalty)
            out[b, : len(ids)] = torch.tensor(ids, device=src.device)
    return out
