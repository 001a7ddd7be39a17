"""Decoding with all beams of all sentences in one flat batch."""

import torch
from torch.nn import functional as F


def next_log_probs(model, tgt, memory, src):
    logits = model.decode(tgt, memory, src)[:, -1]
    return F.log_softmax(logits.double(), dim=-1)


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    with torch.no_grad():
        memory = model.encode(src)
        tgt = torch.full((src.size(0), 1), sos, device=src.device)
        columns = []
        open_rows = torch.ones(src.size(0), dtype=torch.bool, device=src.device)
        for _ in range(max_len):
            token = model.decode(tgt, memory, src)[:, -1].max(dim=-1).indices
            token = token * open_rows + pad * ~open_rows
            columns.append(token)
            tgt = torch.cat([tgt, token[:, None]], 1)
            open_rows = open_rows & (token != eos)
            if not open_rows.any():
                break
        return torch.stack(columns, dim=1)


def start_beams(model, src, beam, sos):
    """Sentence b has the rows b*beam .. (b+1)*beam; only its first beam is alive at the start."""
    memory = model.encode(src).repeat_interleave(beam, dim=0)
    sources = src.repeat_interleave(beam, dim=0)
    tgt = torch.full((sources.size(0), 1), sos, device=src.device)
    totals = torch.full((src.size(0), beam), -torch.inf, dtype=torch.float64, device=src.device)
    totals[:, 0] = 0.0
    return memory, sources, tgt, totals


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    with torch.no_grad():
        batch = src.size(0)
        memory, sources, tgt, totals = start_beams(model, src, beam, sos)
        done = torch.zeros_like(totals, dtype=torch.bool)
        lengths = torch.zeros_like(totals)
        first_row = torch.arange(batch, device=src.device).unsqueeze(1) * beam
        for _ in range(max_len):
            log_probs = next_log_probs(model, tgt, memory, sources)
            vocab = log_probs.size(-1)
            log_probs = log_probs.view(batch, beam, vocab)
            # a finished beam has one continuation, PAD, which costs nothing
            stay = torch.full_like(log_probs[0, 0], -torch.inf)
            stay[pad] = 0.0
            log_probs = torch.where(done.unsqueeze(-1), stay, log_probs)

            sums = (totals.unsqueeze(-1) + log_probs).view(batch, beam * vocab)
            totals, best = sums.topk(beam, dim=-1)
            parent = best.div(vocab, rounding_mode="floor")
            token = best % vocab

            done = done.gather(1, parent)
            lengths = lengths.gather(1, parent) + ~done
            done = done | (token == eos)
            tgt = torch.cat([tgt[(first_row + parent).flatten()], token.view(-1, 1)], dim=1)
            if done.all():
                break
        scores = totals / ((5 + lengths) / 6) ** length_penalty
        winner = scores.argmax(dim=-1)
        return tgt[first_row.squeeze(1) + winner, 1:]
