"""The key-value cache: attention for one token at a time, without computing anything twice.

Write the class below, then run

    zoo grade kv_cache.py

It runs hidden tests on your code and names the mistakes that they find. You need nothing besides
`torch` and `math`.


1. Why                                                  "Attention Is All You Need", sections 3.2.2 and 3.2.3
------------------------------------------------------------------------------------------------------

A decoder generates token after token. Its attention is causal, so a new token does not change the keys and
values of earlier ones. To compute everything again at step t is the work of t positions. If keys and values
are kept in a cache, a new token needs only one query, one key and one value:

    q_t, k_t, v_t  =  the three projections of x_t
    out_t          =  W^O  Concat over heads of  softmax( q_t [k_1 ... k_t]^T / sqrt(d) ) [v_1 ... v_t]

d = d_model / num_heads is the size of one head. Head h uses the columns h*d up to (h+1)*d of each projection.


2. The class
------------------------------------------------------------------------------------------------------

    CachedAttention(d_model, num_heads)          d_model must be a multiple of num_heads, otherwise ValueError

    forward(x, cache) -> (out, cache)
        x       [B, 1, D]      one position of each of B sentences, D = d_model
        cache   None at the first position; after that, what your forward returned at the position before
        out     [B, 1, D]

The cache may be any object: a tuple, a dict, a list, your own class, preallocated buffers. You may modify
the cache that is passed in, or return a new one. It must contain all state: store nothing about a sentence
in the module, since two sentences may be decoded in alternation. B is the same from the first position of a
sentence to its last.

At each step, `out` equals the result of full causal attention at that position. The four projections may
have any names (q_proj, k_proj, v_proj and out_proj, for example); one packed matrix for q, k and v, and
projections without bias are fine too. There is no dropout.

The gradient of `out` must reach the parameters through the current step; through the cache it may, but need
not. x must not be modified.


3. A worked example
------------------------------------------------------------------------------------------------------

One head of width 1, all projections the identity, no bias. The inputs are 1, 2 and 0:

    step   q    keys so far    weights                  values so far    out
     1     1    1              1.000                    1                1.000
     2     2    1 2            0.119 0.881              1 2              1.881
     3     0    1 2 0          0.333 0.333 0.333        1 2 0            1.000

At step 3 the query is 0, so every position has the same weight, including the newest one.


4. Common mistakes
------------------------------------------------------------------------------------------------------

- New keys are appended along the length. With heads split, which dimension is that? Write the shapes.
- The newest position attends to itself: add it to the cache before attention, not after it.
- No mask is needed. A causal mask with a single row allows the first key only.
- Cache keys and values, not inputs or outputs; a cached key must not be projected again.
- Queries are not cached: an earlier query is never used again.
- A cache in the module (`self.cache`) mixes one sentence with the next.
- The scale is the square root of the size of a head, not of d_model, and not of the length.
- Buffers need the dtype and the device of x, and must be long enough.

Module and x have the same dtype, which is the result's too: float32, float64 or bfloat16.
"""

import torch
from torch import Tensor, nn


class CachedAttention(nn.Module):
    """Causal self-attention, one position a call, as in section 2 above.

    Args:
        d_model: width D of the input and the output.
        num_heads: number of heads; d_model must be a multiple of it, otherwise ValueError.
    """

    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        raise NotImplementedError("kv_cache: CachedAttention makes q_proj, k_proj, v_proj and out_proj")

    def forward(self, x: Tensor, cache: object) -> tuple[Tensor, object]:
        """x [B, 1, D], cache (None at the first position) -> out [B, 1, D] and the next cache."""
        raise NotImplementedError("kv_cache: CachedAttention.forward returns (out, cache)")


if __name__ == "__main__":
    # Try things out here: `python kv_cache.py`. The grader does not run this part.
    torch.manual_seed(0)
    attention, cache = CachedAttention(8, 2), None
    for step in range(3):
        out, cache = attention(torch.rand(2, 1, 8), cache)
        print("step", step, "out", tuple(out.shape))
