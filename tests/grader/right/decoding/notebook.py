"""Notebook manner: ids written into a table, all beams in one flat batch, names of one letter."""

import torch


@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    B = len(src)
    mem = model.encode(src)
    out = src.new_full((B, max_len + 1), pad, dtype=torch.long)
    out[:, 0] = sos
    live = torch.ones(B, dtype=torch.bool, device=src.device)
    for t in range(max_len):
        nxt = model.decode(out[:, : t + 1], mem, src)[:, t].argmax(-1)
        out[live, t + 1] = nxt[live]
        live &= nxt != eos
        if not live.any(): break
    return out[:, 1:]


@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    B, K, dev = len(src), beam, src.device
    mem = model.encode(src).repeat_interleave(K, 0)
    srk = src.repeat_interleave(K, 0)
    ids = torch.full((B * K, 1), sos, device=dev)
    s = torch.full((B, K), -torch.inf, dtype=torch.double, device=dev)
    s[:, 0] = 0
    end = torch.zeros(B * K, dtype=torch.bool, device=dev)
    n = torch.zeros(B * K, dtype=torch.double, device=dev)
    for t in range(max_len):
        lp = model.decode(ids, mem, srk)[:, -1].double().log_softmax(-1)
        V = lp.shape[-1]
        lp[end] = -torch.inf
        lp[end, 0] = 0
        s, j = (s[:, :, None] + lp.view(B, K, V)).flatten(1).topk(K, -1)
        row = (j // V + torch.arange(B, device=dev)[:, None] * K).flatten()
        was = end[row]
        tok = (j % V).flatten().masked_fill(was, pad)
        ids = torch.cat([ids[row], tok[:, None]], 1)
        n = n[row] + ~was
        end = was | (tok == eos)
        if end.all(): break
    best = (s / ((5 + n.view(B, K)) / 6) ** length_penalty).argmax(-1)
    return ids.view(B, K, -1)[torch.arange(B, device=dev), best, 1:]
