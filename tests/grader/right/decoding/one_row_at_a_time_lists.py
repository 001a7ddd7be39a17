"""A beginner's: every sentence by itself in plain Python lists, one decode call for each hypothesis, sorted() by the normalised score to prune."""

import torch


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    results = []
    with torch.no_grad():
        for i in range(src.shape[0]):
            sentence = src[i : i + 1]
            memory = model.encode(sentence)
            written = [sos]
            for step in range(max_len):
                tgt = torch.tensor([written], dtype=torch.int64).to(src.device)
                logits = model.decode(tgt, memory, sentence)
                next_id = int(logits[0, -1].argmax())
                written.append(next_id)
                if next_id == eos:
                    break
            results.append(written[1:])
    longest = max(len(r) for r in results)
    results = [r + [pad] * (longest - len(r)) for r in results]
    return torch.tensor(results, dtype=torch.int64).to(src.device)


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    def score(hyp):
        ids, total, _ = hyp
        n = len(ids) - 1
        return total / ((5 + n) / 6) ** length_penalty

    results = []
    with torch.no_grad():
        for i in range(src.shape[0]):
            sentence = src[i : i + 1]
            memory = model.encode(sentence)
            hyps = [([sos], 0.0, False)]
            for step in range(max_len):
                candidates = []
                for ids, total, finished in hyps:
                    if finished:
                        candidates.append((ids, total, True))
                        continue
                    tgt = torch.tensor([ids], dtype=torch.int64).to(src.device)
                    logits = model.decode(tgt, memory, sentence)[0, -1].double()
                    logp = torch.log_softmax(logits, dim=-1).tolist()
                    for token, lp in enumerate(logp):
                        candidates.append((ids + [token], total + lp, token == eos))
                candidates = sorted(candidates, key=score, reverse=True)
                hyps = candidates[:beam]
                if all(h[2] for h in hyps):
                    break
            best = max(hyps, key=score)
            results.append(best[0][1:])
    longest = max(len(r) for r in results)
    results = [r + [pad] * (longest - len(r)) for r in results]
    return torch.tensor(results, dtype=torch.int64).to(src.device)
