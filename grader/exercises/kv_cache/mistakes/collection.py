"""The collection of the known mistakes of `exercises/kv_cache.py`, and the sources that their texts cite."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.kv_cache.reference import Steps

mistake: Collection[Steps] = Collection()
JOIN = "K = [K_old; k], V = [V_old; v], along the length"
STEP = "out = softmax(q K^T / sqrt(d_k)) V, K and V of all positions so far"
HEADS = "Concat(head_i) W_O, head_i = Attention(Q W_Q, K W_K, V W_V)"
PAPER = "Attention Is All You Need, section 3.2"
