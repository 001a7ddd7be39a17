"""einops; greedy is beam search with beam=1 and no penalty; beams as a dimension of their own, [b, k, t], pruned by a stable sort, scatter on a preallocated buffer."""

import torch
from einops import rearrange, repeat


def _last_logp(model, ids, memory, src):
    b, k, _ = ids.shape
    logits = model.decode(rearrange(ids, "b k t -> (b k) t"), memory, src)
    return rearrange(logits[:, -1].to(torch.float64), "(b k) v -> b k v", b=b, k=k).log_softmax(dim=-1)


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0, **unused):
    with torch.no_grad():
        memory = repeat(model.encode(src), "b s d -> (b k) s d", k=beam)
        b, device = src.shape[0], src.device
        src = repeat(src, "b s -> (b k) s", k=beam)

        ids = torch.full((b, beam, max_len + 1), pad, dtype=torch.long, device=device)
        ids[..., 0] = sos
        total = torch.full((b, beam), -torch.inf, dtype=torch.float64, device=device)
        total[:, 0] = 0
        ended = torch.zeros((b, beam), dtype=torch.bool, device=device)

        for t in range(max_len):
            logp = _last_logp(model, ids[..., : t + 1], memory, src)
            v = logp.shape[-1]
            # an ended hypothesis has one continuation: PAD, for nothing
            free = torch.full_like(logp[0, 0], -torch.inf)
            free[pad] = 0
            logp = torch.where(rearrange(ended, "b k -> b k 1"), free, logp)

            table = rearrange(rearrange(total, "b k -> b k 1") + logp, "b k v -> b (k v)")
            table, order = table.sort(dim=-1, descending=True, stable=True)
            total, order = table[:, :beam], order[:, :beam]
            parent, token = order.div(v, rounding_mode="floor"), order.remainder(v)

            ids = ids.gather(1, repeat(parent, "b k -> b k t", t=max_len + 1))
            ended = ended.gather(1, parent)
            ids[..., t + 1] = torch.where(ended, pad, token)
            ended = ended | (token == eos) & ~ended
            if (ended | (total == -torch.inf)).all():
                break

        generated = ids[..., 1:]
        is_eos = generated == eos
        n = torch.where(is_eos.any(-1), is_eos.int().argmax(-1) + 1, max_len)
        score = total / ((5 + n) / 6).pow(length_penalty)
        best = score.argmax(dim=-1)
        return generated.gather(1, repeat(best, "b -> b 1 t", t=max_len)).squeeze(1)


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0, **unused):
    return beam_search(model, src, 1, max_len, length_penalty=0.0, sos=sos, eos=eos, pad=pad)
