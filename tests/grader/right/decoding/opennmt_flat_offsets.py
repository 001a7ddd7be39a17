import torch

# Flat beams: row b * beam_size + k of every tensor is hypothesis k of sentence b.

NEG_INF = float("-inf")


def tile(x, count):
    "Repeat every row of x count times: [B, ...] -> [B * count, ...]."
    return x.repeat_interleave(count, dim=0)


def length_norm(length, alpha):
    return ((5.0 + length) / 6.0) ** alpha


@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    memory = model.encode(src)
    ys = src.new_full((src.size(0), 1), sos, dtype=torch.long)
    unfinished = torch.ones(src.size(0), dtype=torch.long, device=src.device)
    for i in range(max_len):
        out = model.decode(ys, memory, src)
        next_word = torch.argmax(out[:, -1, :], dim=-1)
        next_word = next_word * unfinished + pad * (1 - unfinished)
        ys = torch.cat([ys, next_word.unsqueeze(-1)], dim=-1)
        unfinished = unfinished * (next_word != eos).long()
        if unfinished.max() == 0:
            break
    return ys[:, 1:]


@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    batch_size = src.size(0)
    device = src.device

    memory = tile(model.encode(src), beam)
    src = tile(src, beam)

    beam_offset = torch.arange(0, batch_size * beam, step=beam, device=device)
    alive_seq = torch.full((batch_size * beam, 1), sos, dtype=torch.long, device=device)
    # Give full probability to the first beam on the first step.
    topk_log_probs = torch.full((batch_size, beam), NEG_INF, dtype=torch.float64, device=device)
    topk_log_probs[:, 0] = 0.0
    is_finished = torch.zeros(batch_size, beam, dtype=torch.bool, device=device)
    lengths = torch.zeros(batch_size, beam, dtype=torch.long, device=device)

    for step in range(max_len):
        logits = model.decode(alive_seq, memory, src)[:, -1, :]
        log_probs = torch.log_softmax(logits.double(), dim=-1)
        vocab_size = log_probs.size(-1)

        # A finished beam has one continuation, PAD, which costs nothing.
        flat_finished = is_finished.view(-1)
        log_probs[flat_finished] = NEG_INF
        log_probs[flat_finished, pad] = 0.0

        # Multiply probs by the beam probability.
        curr_scores = topk_log_probs.view(-1, 1) + log_probs
        curr_scores = curr_scores.view(batch_size, beam * vocab_size)
        topk_log_probs, topk_ids = curr_scores.topk(beam, dim=-1)

        # Resolve beam origin and true word ids.
        beam_index = topk_ids.div(vocab_size, rounding_mode="floor")
        topk_ids = topk_ids.fmod(vocab_size)

        # Map beam_index to batch_index in the flat representation.
        select_indices = (beam_index + beam_offset[:, None]).view(-1)

        # Append last prediction.
        alive_seq = torch.cat(
            [alive_seq.index_select(0, select_indices), topk_ids.view(-1, 1)], dim=-1
        )
        is_finished = is_finished.gather(1, beam_index)
        lengths = lengths.gather(1, beam_index) + (~is_finished).long()
        is_finished = is_finished | topk_ids.eq(eos)
        if is_finished.all():
            break

    scores = topk_log_probs / length_norm(lengths.double(), length_penalty)
    best = scores.argmax(dim=-1)
    return alive_seq[beam_offset + best, 1:]
