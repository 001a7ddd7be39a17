"""HF-generate manner: unfinished_sequences that multiply, batch_beam flattened to [B*K], torch.topk over K*V, finished beams offer only PAD at no cost."""

import torch


@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    memory = model.encode(src)
    input_ids = torch.full((src.shape[0], 1), sos, dtype=torch.long, device=src.device)
    unfinished_sequences = input_ids.new_ones(src.shape[0])

    while input_ids.shape[1] <= max_len:
        next_token_logits = model.decode(input_ids, memory, src)[:, -1, :]
        next_tokens = torch.argmax(next_token_logits, dim=-1)
        # finished sentences should have their next token be a padding token
        next_tokens = next_tokens * unfinished_sequences + pad * (1 - unfinished_sequences)
        input_ids = torch.cat([input_ids, next_tokens[:, None]], dim=-1)
        unfinished_sequences = unfinished_sequences.mul((next_tokens != eos).long())
        if unfinished_sequences.max() == 0:
            break

    return input_ids[:, 1:]


@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    batch, device = src.shape[0], src.device
    memory = model.encode(src).repeat_interleave(beam, dim=0)
    src = src.repeat_interleave(beam, dim=0)

    ids = torch.full((batch * beam, 1), sos, dtype=torch.long, device=device)
    scores = torch.full((batch, beam), float("-inf"), dtype=torch.float64, device=device)
    scores[:, 0] = 0.0  # all beams are the same at the start
    done = torch.zeros(batch * beam, dtype=torch.bool, device=device)
    lengths = torch.zeros(batch, beam, dtype=torch.long, device=device)

    for _ in range(max_len):
        logp = model.decode(ids, memory, src)[:, -1].double().log_softmax(-1)
        vocab = logp.shape[-1]
        # one extra column: "stay as you are", for finished ones only
        logp = logp.masked_fill(done[:, None], float("-inf"))
        stay = torch.where(done, 0.0, float("-inf")).to(logp)[:, None]
        logp = torch.cat([logp, stay], dim=-1).view(batch, beam, vocab + 1)

        scores, best = (scores[:, :, None] + logp).view(batch, -1).topk(beam, dim=-1)
        origin, token = best // (vocab + 1), best % (vocab + 1)
        token = token.masked_fill(token == vocab, pad)
        flat = (origin + beam * torch.arange(batch, device=device)[:, None]).view(-1)

        was_done = done[flat]
        lengths = lengths.view(-1)[flat] + (~was_done).long()
        lengths = lengths.view(batch, beam)
        ids = torch.cat([ids[flat], token.view(-1, 1)], dim=-1)
        done = was_done | (token.view(-1) == eos)
        if bool((done | scores.view(-1).isneginf()).all()):
            break

    final = scores / ((5 + lengths.double()) / 6) ** length_penalty
    winner = final.argmax(dim=-1) + beam * torch.arange(batch, device=device)
    return ids[winner, 1:]
