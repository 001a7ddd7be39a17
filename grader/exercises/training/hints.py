"""Hints for `training.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "noam": (
        "The formula of section 1, as it stands. Compare with the four numbers under it.",
        "Both arguments of min are powers: a negative exponent is a division, and Python's ** takes it. "
        "Mind which of step and warmup has which exponent.",
        "return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)",
    ),
    "train_step": (
        "Mode, decoder input, logits, loss, gradients cleared, backward, step: one line each, in an order "
        "that works.",
        "The decoder input is a column of 1 joined with tgt without its last column. For cross_entropy, "
        "flatten batch and length of the logits to [B*L, V] and the target to [B*L]; ignore_index takes "
        "care of PAD. Clear the gradients before backward.",
        "model.train(); shifted = torch.cat([torch.full_like(tgt[:, :1], 1), tgt[:, :-1]], dim=1); loss = "
        "F.cross_entropy(model(src, shifted).flatten(0, 1), tgt.flatten(), ignore_index=0); "
        "optimizer.zero_grad(); loss.backward(); optimizer.step(); return loss.item().",
    ),
    "reverse_words": (
        "First lists of ids for each word, without padding; then the lists for src and tgt; padding last.",
        'ord(letter) - ord("a") + 3 is the id of a letter. A row of tgt is the reversed list with 2 behind '
        "it. Each side is as wide as its own longest row.",
        'rows = [[ord(c) - ord("a") + 3 for c in word] for word in words]; targets = [[*row[::-1], 2] for '
        "row in rows]; for either: width = max(map(len, lists)), then torch.tensor([r + [0] * (width - "
        "len(r)) for r in lists]).",
    ),
}
