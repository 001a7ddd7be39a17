"""Hints for `masks.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "padding_mask": (
        "Compare every token with the padding id. The result is a boolean tensor of the shape of the tokens. "
        "Then add dimensions so that its last dimension is the keys.",
        "A comparison of the tensor with `pad` gives bool [B, T]. Two dimensions of size 1 go between B and T, "
        "for heads and queries, so that T stays last.",
        "(tokens != pad) is [B, T]; index it with [:, None, None, :] (or unsqueeze(1) twice) for [B, 1, 1, T].",
    ),
    "causal_mask": (
        "Draw it for size 3: the first query sees one key, the last sees three. It is a triangle, and the "
        "diagonal is part of it.",
        "torch.tril keeps the triangle below the diagonal, the diagonal included; torch.triu keeps the other. Or "
        "compare positions: key j is allowed for query i if j <= i.",
        "torch.ones(size, size, dtype=torch.bool, device=device).tril(), with two dimensions of size 1 in front: "
        "[None, None].",
    ),
    "decoder_mask": (
        "You have both masks already. A key may be attended to if both allow it.",
        "One mask is [B, 1, 1, T], the other [1, 1, T, T]; combined element by element they broadcast to "
        "[B, 1, T, T]. The causal one needs the length and the device of the tokens.",
        "causal_mask(tokens.size(1), tokens.device) & padding_mask(tokens, pad).",
    ),
    "to_additive": (
        "Start from a tensor of zeros, and write -inf where the mask is False.",
        "The zeros take the shape and the device of the mask, and the requested dtype. Use masked_fill or where; do "
        "not multiply: 0 times -inf is NaN.",
        "torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float('-inf')).",
    ),
}
