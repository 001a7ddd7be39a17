"""Hints for `loss.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "shift_right": (
        "Write the two rows of the worked example below each other: each token moves one position to the right, "
        "and SOS comes first.",
        "All columns but the last, with a new first column of SOS in front: a concatenation along the second "
        "dimension.",
        "torch.cat([torch.full_like(target[:, :1], sos), target[:, :-1]], dim=1).",
    ),
    "sequence_loss": (
        "torch.nn.functional.cross_entropy does all of it, given two arguments: which target id to ignore, and how "
        "much to smooth. It needs one dimension of tokens instead of batch and length.",
        "Batch and length become one dimension, of the logits [B * L, V] and of the target [B * L]. The argument for "
        "padding is ignore_index, that for smoothing label_smoothing; the mean is over the tokens not ignored.",
        "F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad, label_smoothing=smoothing).",
    ),
}
