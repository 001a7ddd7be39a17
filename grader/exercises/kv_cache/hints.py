"""Hints for `kv_cache.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "CachedAttention": (
        "Take your multi-head attention, hand it one position, and ask what it lacks: the keys and values "
        "of the positions before. Exactly these are the cache.",
        "Project x to q, k and v and cut them into heads, [B, H, 1, d]. If there is a cache, put the old "
        "keys in front of the new one along time, and the same for values. Then attention without a mask, "
        "and the pair of all keys and all values is the new cache.",
        "k = torch.cat([cache[0], k], dim=2), and so for v, if cache is not None; weights = (q @ "
        "k.transpose(-2, -1) / math.sqrt(d)).softmax(-1); merged = (weights @ v).transpose(1, "
        "2).flatten(2); return self.out_proj(merged), (k, v). Check d_model % num_heads in __init__ and "
        "raise ValueError.",
    ),
}
