"""The decoder's input, and the loss, by hand."""

import torch


def shift_right(target, sos=1):
    shifted = torch.empty_like(target)
    shifted[:, 0] = sos
    shifted[:, 1:] = target[:, :-1]
    return shifted


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    work = logits.float() if logits.dtype == torch.bfloat16 else logits
    log_probs = torch.log_softmax(work, dim=-1)
    counts = target.ne(pad)

    # the right id gets 1 - smoothing, and all ids together share the rest
    index = target.masked_fill(~counts, 0).unsqueeze(-1)
    of_right_id = log_probs.gather(-1, index).squeeze(-1)
    of_all_ids = log_probs.mean(dim=-1)
    token_loss = -(1 - smoothing) * of_right_id - smoothing * of_all_ids

    token_loss = token_loss * counts
    return (token_loss.sum() / counts.sum()).to(logits.dtype)
