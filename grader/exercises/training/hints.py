"""Hints for `training.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "noam": (
        "The formula of section 1. Compare with the four numbers below it.",
        "Python's ** takes negative and fractional exponents. step and warmup have different exponents.",
        "return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
    ),
    "train_step": (
        "Train mode, decoder input, logits, loss, zero_grad, backward, step: one line each.",
        "The decoder input is a column of 1, then tgt without its last column. For cross_entropy, flatten the "
        "logits to [B*L, V] and the target to [B*L]; ignore_index is for PAD. Call zero_grad before backward.",
        "model.train(); shifted = torch.cat([torch.full_like(tgt[:, :1], 1), tgt[:, :-1]], dim=1); loss = "
        "F.cross_entropy(model(src, shifted).flatten(0, 1), tgt.flatten(), ignore_index=0); "
        "optimizer.zero_grad(); loss.backward(); optimizer.step(); return loss.item().",
    ),
    "reverse_words": (
        "First make a list of ids for each word, then the lists for src and tgt, and pad last.",
        'ord(letter) - ord("a") + 3 is the id of a letter. A row of tgt is the reversed list, then 2. '
        "Each of src and tgt is as wide as its own longest row.",
        'rows = [[ord(c) - ord("a") + 3 for c in word] for word in words]; targets = [[*row[::-1], 2] for '
        "row in rows]; for both: width = max(map(len, lists)), then torch.tensor([r + [0] * (width - "
        "len(r)) for r in lists]).",
    ),
}
