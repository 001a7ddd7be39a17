"""Generators: greedy is a generator of columns, beam search a coroutine-like generator for each row fed by send(), all rows in one decode per step."""

import functools

import torch


def without_gradient(function):
    @functools.wraps(function)
    def wrapped(*args, **kwargs):
        before = torch.is_grad_enabled()
        torch.set_grad_enabled(False)
        try:
            return function(*args, **kwargs)
        finally:
            torch.set_grad_enabled(before)

    return wrapped


def columns(model, src, sos, eos, pad):
    memory = model.encode(src)
    ids = torch.tensor([[sos]]).expand(src.shape[0], 1).to(src.device)
    going = torch.ones(src.shape[0], 1, dtype=torch.bool).to(src.device)
    while going.any():
        token = model.decode(ids, memory, src)[:, -1:].argmax(2)
        token = token.masked_fill(~going, pad)
        yield token
        going = going & (token != eos)
        ids = torch.cat((ids, token), 1)


@without_gradient
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    return torch.cat([column for _, column in zip(range(max_len), columns(model, src, sos, eos, pad))], dim=1)


def one_row(beam, max_len, alpha, sos, eos):
    """Yields a list of prefixes that need log-probabilities, is sent a list of lists of them; returns the best ids."""
    hyps = [((sos,), 0.0)]
    ended = lambda h: h[0][-1] == eos and len(h[0]) > 1
    worth = lambda h: h[1] / ((5 + len(h[0]) - 1) / 6) ** alpha
    for _ in range(max_len):
        live = [h for h in hyps if not ended(h)]
        if not live:
            break
        answers = yield [ids for ids, _ in live]
        pool = [h for h in hyps if ended(h)]
        for (ids, total), line in zip(live, answers):
            pool += [(ids + (k,), total + lp) for k, lp in enumerate(line)]
        pool.sort(key=lambda h: h[1], reverse=True)
        del pool[beam:]
        hyps = pool
    return list(max(hyps, key=worth)[0][1:])


@without_gradient
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    memory = model.encode(src)
    results = {}
    rows = {i: one_row(beam, max_len, length_penalty, sos, eos) for i in range(src.shape[0])}
    wants = {i: next(row) for i, row in rows.items()}
    while wants:
        owners = [i for i, prefixes in wants.items() for _ in prefixes]
        tgt = torch.tensor([list(p) for prefixes in wants.values() for p in prefixes]).to(src.device)
        index = torch.tensor(owners).to(src.device)
        logits = model.decode(tgt, memory.index_select(0, index), src.index_select(0, index))
        lines = torch.log_softmax(logits[:, -1].double(), dim=1).tolist()
        following = {}
        for i in wants:
            mine = [line for owner, line in zip(owners, lines) if owner == i]
            try:
                following[i] = rows[i].send(mine)
            except StopIteration as stop:
                results[i] = stop.value
        wants = following
    out = torch.full((src.shape[0], max_len), pad).to(src.device)
    for i, ids in results.items():
        out[i, : len(ids)] = torch.tensor(ids).to(src.device)
    return out
