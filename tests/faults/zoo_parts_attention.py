"""Faults in `zoo/parts/attention`."""

from __future__ import annotations

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "attention-closed-row-attends",
        "zoo/parts/attention/base.py",
        "return scores.softmax(dim=-1).masked_fill(~keep, 0.0)",
        "return scores.softmax(dim=-1)",
        "a fully masked row attends evenly to everything",
    ),
    Fault(
        "attention-bias-lost-with-additive-mask",
        "zoo/parts/attention/base.py",
        "    return mask + bias",
        "    return mask",
        "a bias on the scores is dropped where the mask is additive",
    ),
    Fault(
        "attention-scale-of-model",
        "zoo/parts/attention/einsum.py",
        "* self.head_width**-0.5",
        "* (self.head_width * self.num_heads) ** -0.5",
        "scores are divided by sqrt(d_model) instead of sqrt(head_dim)",
    ),
    Fault(
        "attention-cache-values-not-reordered",
        "zoo/parts/attention/cache.py",
        "self._keys, self._values = self._keys.index_select(0, rows), self._values.index_select(0, rows)",
        "self._keys = self._keys.index_select(0, rows)",
        "cached values stay in the old row order when a beam moves",
    ),
    Fault(
        "attention-cache-loses-one",
        "zoo/parts/attention/cache.py",
        "buffer[:, :, :used] = held[:, :, :used]",
        "buffer[:, :, : used - 1] = held[:, :, : used - 1]",
        "the last cached key becomes 0 whenever the cache grows",
    ),
    Fault(
        "attention-chunk-not-rescaled",
        "zoo/parts/attention/chunked.py",
        "total, heads = total * shrink + more_total, heads * shrink + more_heads",
        "total, heads = total * shrink + more_total, heads + more_heads",
        "earlier chunks keep their weight when a later one has a higher maximum",
    ),
    Fault(
        "attention-differential-factor",
        "zoo/parts/attention/differential.py",
        "heads = self.head_norm(self.dropout(weights) @ v) * (1 - self.lambda_init)",
        "heads = self.head_norm(self.dropout(weights) @ v)",
        "the factor 1 - lambda_init is missing",
    ),
    Fault(
        "attention-fill-overflows",
        "zoo/parts/attention/filled.py",
        "max(self.fill, torch.finfo(scores.dtype).min)",
        "self.fill",
        "the fill overflows in float16",
    ),
    Fault(
        "attention-groups-interleaved",
        "zoo/parts/attention/kernel.py",
        "x.repeat_interleave(num_heads // x.size(1), dim=1)",
        "x.repeat(1, num_heads // x.size(1), 1, 1)",
        "query heads are paired with the wrong key and value heads",
    ),
    Fault(
        "attention-fused-closed-row",
        "zoo/parts/attention/kernel.py",
        "    return heads.masked_fill(~open_, 0.0)",
        "    return heads",
        "a fully masked row of the fused kernel attends to everything",
    ),
    Fault(
        "attention-packed-missing-unreported",
        "zoo/parts/attention/packed.py",
        "                missing.append(name)",
        "                continue",
        "loading weights that lack a projection fails with a torch error instead of naming it",
    ),
    Fault(
        "attention-keys-as-values",
        "zoo/parts/attention/base.py",
        "self.split(self.k_proj(key)), self.split(self.v_proj(value))",
        "self.split(self.v_proj(value)), self.split(self.k_proj(key))",
        "keys and values are swapped",
    ),
    Fault(
        "attention-cached-query-not-normed",
        "zoo/parts/attention/qknorm.py",
        "return F.normalize(super().project_query(query), dim=-1, eps=EPSILON)",
        "return super().project_query(query)",
        "with a complete cache, queries are not normalized",
    ),
    Fault(
        "attention-window-one-short",
        "zoo/parts/attention/sliding.py",
        "return (i[:, None] - j).abs() <= self.window",
        "return (i[:, None] - j).abs() < self.window",
        "the window is one position too narrow",
    ),
    Fault(
        "attention-window-ignores-cache",
        "zoo/parts/attention/sliding.py",
        "offset, step = num_keys - num_queries, max(self.window, LEAST_BLOCK)",
        "offset, step = 0, max(self.window, LEAST_BLOCK)",
        "with cached keys the window lies at the start of the sequence",
    ),
    Fault(
        "attention-heads-mixed-transposed",
        "zoo/parts/attention/talking.py",
        'torch.einsum("bhqk,hg->bgqk", x, matrix)',
        'torch.einsum("bhqk,gh->bgqk", x, matrix)',
        "the matrices that mix heads are transposed",
    ),
    Fault(
        "attention-torch-mask-not-inverted",
        "zoo/parts/attention/torch.py",
        "drop = ~mask & open_ if",
        "drop = mask & open_ if",
        "torch's mask has the opposite meaning: what may be attended to is hidden",
    ),
    Fault(
        "attention-loop-first-mask-for-all",
        "zoo/parts/attention/loop.py",
        "else mask[:, h : h + 1]",
        "else mask[:, :1]",
        "all heads use the first head's mask",
    ),
)
