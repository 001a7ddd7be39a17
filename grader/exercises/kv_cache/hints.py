"""Hints for `kv_cache.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "CachedAttention": (
        "If your multi-head attention gets a single position, what is missing? The keys and values of the "
        "positions before it. These are the cache.",
        "Project x to q, k and v and split them into heads, [B, H, 1, d]. If there is a cache, concatenate its "
        "keys and the new one along the length, and so for values. Then compute attention without a mask. All "
        "keys and all values are the new cache.",
        "k = torch.cat([cache[0], k], dim=2), and so for v, if cache is not None; weights = (q @ "
        "k.transpose(-2, -1) / math.sqrt(d)).softmax(-1); merged = (weights @ v).transpose(1, "
        "2).flatten(2); return self.out_proj(merged), (k, v). Check d_model % num_heads in __init__ and "
        "raise ValueError.",
    ),
}
