"""numpy-minded: ids, sums and pruning live in numpy arrays (stable argsort), torch only asks the model; shows pruning by the normalised score."""

import numpy as np
import torch


def _ask(model, ids, memory, src):
    tgt = torch.from_numpy(ids).to(src.device)
    logits = model.decode(tgt, memory, src)[:, -1]
    return logits.detach().to(torch.float64).cpu().numpy()


def _log_softmax(z):
    z = z - z.max(axis=-1, keepdims=True)
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    rows = src.shape[0]
    ids = np.full((rows, max_len + 1), pad, dtype=np.int64)
    ids[:, 0] = sos
    open_ = np.ones(rows, dtype=bool)
    with torch.no_grad():
        memory = model.encode(src)
        for t in range(max_len):
            z = _ask(model, ids[:, : t + 1].copy(), memory, src)
            ids[open_, t + 1] = z.argmax(axis=1)[open_]
            open_ &= ids[:, t + 1] != eos
            if not open_.any():
                break
    return torch.from_numpy(ids[:, 1:].copy()).to(src.device)


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    rows, length_penalty = src.shape[0], float(length_penalty)
    result = np.full((rows, max_len), pad, dtype=np.int64)
    with torch.no_grad():
        memories = model.encode(src)
        for r in range(rows):
            ids = np.array([[sos]], dtype=np.int64)
            sums = np.zeros(1)
            length = np.zeros(1, dtype=np.int64)
            done = np.zeros(1, dtype=bool)
            for _ in range(max_len):
                k = len(ids)
                # finished ones are asked too (their answer is thrown away), to keep the arrays square
                z = _ask(model, ids, memories[[r] * k], src[[r] * k])
                v = z.shape[1]
                table = np.full((k, v + 1), -np.inf)
                table[~done, :v] = sums[~done, None] + _log_softmax(z[~done])
                table[done, v] = sums[done]  # stay as it is
                n = (length + ~done)[:, None]
                value = (table / ((5.0 + n) / 6.0) ** length_penalty).ravel()
                order = np.argsort(-value, kind="stable")
                order = order[np.isfinite(value[order])][:beam]
                parent, token = np.divmod(order, v + 1)
                sums = table.ravel()[order]
                length = (length + ~done)[parent]
                ids = np.concatenate([ids[parent], np.where(token == v, pad, token)[:, None]], axis=1)
                done = done[parent] | (token == eos) & (token != v)
                if done.all():
                    break
            best = int(np.argmax(sums / ((5.0 + length) / 6.0) ** length_penalty))
            n = int(length[best])
            result[r, :n] = ids[best, 1 : n + 1]
    return torch.tensor(result, device=src.device)
