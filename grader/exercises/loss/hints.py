"""Hints for `loss.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "shift_right": (
        "Write the two rows of the worked example above one another: each token moves one place to the right, and "
        "the place that is free in front is for SOS.",
        "All columns but the last, with a new first column of SOS in front: a concatenation along the second "
        "dimension.",
        "torch.cat([torch.full_like(target[:, :1], sos), target[:, :-1]], dim=1).",
    ),
    "sequence_loss": (
        "torch.nn.functional.cross_entropy does all of it, told two things: which target id to ignore, and how much "
        "to smooth. It wants a list of rows, not sentences.",
        "Batch and length become one dimension, of the logits [B * L, V] and of the target [B * L]. The argument for "
        "padding is ignore_index, that for smoothing label_smoothing; its mean is over what is not ignored.",
        "F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad, label_smoothing=smoothing).",
    ),
}
