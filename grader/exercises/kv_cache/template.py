"""The key-value cache: attention that writes one token at a time, and computes nothing twice.

Write the class below, then run

    zoo grade kv_cache.py

It tells you what is right, and which mistake was made where something is not. Nothing here needs more
than `torch` and `math`.


1. Why                                                  "Attention Is All You Need", sections 3.2.2 and 3.2.3
------------------------------------------------------------------------------------------------------

A decoder writes token after token. Its attention is causal, so a new token changes nothing of what was
computed for the older ones: their keys and values stay as they are. Who computes all of it again at every step
does the work of t positions to learn about one. Who keeps the keys and values needs, for a new token, one
query, one key and one value:

    q_t, k_t, v_t  =  the three projections of x_t
    out_t          =  W^O  Concat over heads of  softmax( q_t [k_1 ... k_t]^T / sqrt(d) ) [v_1 ... v_t]

d = d_model / num_heads is the width of one head. Head h uses the columns h*d up to (h+1)*d of each projection.


2. The class
------------------------------------------------------------------------------------------------------

    CachedAttention(d_model, num_heads)          d_model must be a multiple of num_heads, otherwise ValueError

    forward(x, cache) -> (out, cache)
        x       [B, 1, D]      one position of each of B sentences, D = d_model
        cache   None at the first position; after that, what your own forward returned at the one before
        out     [B, 1, D]

The cache may be anything you like: a tuple, a dict, a list, a class of your own, buffers made in advance.
You may change the one handed in or leave it as it is. But it is the only memory there is: nothing of a
sentence is kept in the module, since two sentences may be written at the same time, in turns. B is the same
from the first position of a sentence to its last.

Step by step, `out` equals what full causal attention gives at that position. The four projections are
named q_proj, k_proj, v_proj and out_proj in multi-head attention; other names, one packed matrix for q, k and
v, and projections without bias are as good. There is no dropout.

The gradient of `out` must reach the parameters through the current step. Through older keys and values it
may, and need not. x itself is never changed.


3. A worked example
------------------------------------------------------------------------------------------------------

One head of width 1, all projections the identity, no bias. The inputs are 1, 2, 0, one after the other:

    step   q    keys so far    weights                  values so far    out
     1     1    1              1.000                    1                1.000
     2     2    1 2            0.119 0.881              1 2              1.881
     3     0    1 2 0          0.333 0.333 0.333        1 2 0            1.000

At step 3 the query is 0, and so every position gets the same share, the newest one included.


4. What people trip over
------------------------------------------------------------------------------------------------------

- New keys belong behind the old ones in time. With heads cut out, which dimension is time? Write the shapes.
- The newest position sees itself: it enters the cache before attention, not after it.
- No mask is needed. A causal mask made for one query shows it the first key alone.
- Keys and values are kept, not inputs and not outputs; a cached key is not projected again.
- Queries are not kept: nobody asks for an old one again.
- A cache in the module (`self.cache`) mixes one sentence with the next.
- The scale is the root of a head's width, not of d_model, and not of the length so far.
- Buffers take the dtype and the device of x, and must not end before the sentence does.
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
