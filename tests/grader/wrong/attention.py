"""Attention as learners write it: one right file, and edits that turn it into wrong ones."""

# ruff: noqa: E501 (an edit is one piece of source)

from __future__ import annotations

RIGHT = """
import math
import torch
from torch import nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -1e9)
        else:
            scores = scores + mask.clamp(min=-1e9)
    weights = F.softmax(scores, dim=-1)
    output = torch.matmul(weights, value)
    return output, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be divisible by num_heads")
        self.h = num_heads
        self.d_k = d_model // num_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        q = self.w_q(query).view(B, -1, self.h, self.d_k).transpose(1, 2)
        k = self.w_k(key).view(B, -1, self.h, self.d_k).transpose(1, 2)
        v = self.w_v(value).view(B, -1, self.h, self.d_k).transpose(1, 2)
        _, weights = scaled_dot_product_attention(q, k, v, mask)
        weights = self.dropout(weights)
        x = torch.matmul(weights, v)
        x = x.transpose(1, 2).contiguous().view(B, -1, self.h * self.d_k)
        return self.w_o(x)
"""

CALL = "_, weights = scaled_dot_product_attention(q, k, v, mask)"
Edits = tuple[tuple[str, str], ...]

# Name of the wrong file: the ids that are right names for it, and the edits.
EDITS: dict[str, tuple[set[str], Edits]] = {
    "no_scale": ({"missing-scale"}, ((" / math.sqrt(d_k)", ""),)),
    "scale_dk": ({"scale-by-d-k"}, (("math.sqrt(d_k)", "d_k"),)),
    "scale_up": ({"scale-multiplied"}, (("/ math.sqrt", "* math.sqrt"),)),
    "scale_tk": ({"scale-by-key-length"}, (("d_k = query.size(-1)", "d_k = key.size(-2)"),)),
    "scale_twice_in_class": (
        {"scale-by-d-k"},
        (("_, weights = scaled_dot_product_attention(q, k", "_, weights = scaled_dot_product_attention(q / "
        "self.d_k**0.5, k"),),
    ),
    "scale_two": ({"wrong-scale-factor"}, (("/ math.sqrt(d_k)", "/ 2.5"),)),
    "softmax_queries": ({"softmax-over-queries"}, (("dim=-1", "dim=-2"),)),
    "softmax_one": ({"softmax-over-heads"}, (("dim=-1", "dim=1"),)),
    "sigmoid": ({"sigmoid-weights"}, (("F.softmax(scores, dim=-1)", "torch.sigmoid(scores)"),)),
    "by_hand": (
        {"softmax-overflow"},
        (("F.softmax(scores, dim=-1)", "scores.exp() / (scores.exp().sum(-1, keepdim=True) + 1e-9)"),),
    ),
    "inverted": ({"mask-inverted"}, (("masked_fill(~mask", "masked_fill(mask"),)),
    "mask_thrown_away": (
        {"mask-bool-ignored"},
        (("scores = scores.masked_fill(~mask, -1e9)", "scores.masked_fill(~mask, -1e9)"),),
    ),
    "mask_not_passed": ({"mask-ignored"}, (("(q, k, v, mask)", "(q, k, v)"),)),
    "fill_small": ({"masked-score-zero"}, (("~mask, -1e9", "~mask, 1e-9"),)),
    "fill_weak": ({"mask-fill-too-weak"}, (("~mask, -1e9", "~mask, -1e4"),)),
    "fill_odd_constant": ({"mask-fill-too-weak", "hidden-keys-get-weight"}, (("~mask, -1e9", "~mask, -7.0"),)),
    "inf_rows": (
        {"fully-masked-row-nan"},
        (("mask.clamp(min=-1e9)", "mask"), ("-1e9", "-math.inf")),
    ),
    "additive_crash": (
        {"mask-additive-unsupported"},
        (
            ("        if mask.dtype == torch.bool:\n            scores = scores.masked_fill(~mask, -1e9)\n", ""),
            ("        else:\n            scores = scores + mask.clamp(min=-1e9)\n", "        scores = "
            "scores.masked_fill(~mask, -1e9)\n"),
        ),
    ),
    "values_swapped": ({"query-and-key-inputs-swapped"}, (("self.w_q(query)", "self.w_q(key)"), ("self.w_k(key)", "self.w_k(query)"))),
    "kv_weights_swapped": (
        {"key-and-value-projections-swapped"},
        (("self.w_k(key)", "self.w_v_(key)"), ("self.w_v(value)", "self.w_k(value)"), ("self.w_v_(", "self.w_v(")),
    ),
    "value_from_key": ({"value-input-ignored-for-key"}, (("self.w_v(value)", "self.w_v(key)"),)),
    "self_only": ({"cross-attention-ignored"}, (("self.w_k(key)", "self.w_k(query)"), ("self.w_v(value)", "self.w_v(query)"))),
    "merge": ({"merge-without-transpose"}, (("x.transpose(1, 2).contiguous().view(B, "
    "-1,", "x.contiguous().view(B, -1,"),)),
    "view_error": ({"view-after-transpose"}, ((".contiguous()", ""),)),
    "split": (
        {"split-without-transpose"},
        tuple((f"self.w_{r}({n}).view(B, -1, self.h, self.d_k).transpose(1, 2)", f"self.w_{r}({n}).view(B, "
        f"self.h, -1, self.d_k)")
              for r, n in (("q", "query"), ("k", "key"), ("v", "value"))),
    ),
    "no_wo": ({"no-output-projection"}, (("        self.w_o = nn.Linear(d_model, "
    "d_model)\n", ""), ("self.w_o(x)", "x"))),
    "unused_wo": ({"no-output-projection", "parameter-unused"}, (("return self.w_o(x)", "return x"),)),
    "one_linear": (
        {"one-projection-for-all"},
        (("        self.w_k = nn.Linear(d_model, d_model)\n        self.w_v = nn.Linear(d_model, d_model)\n", ""),
         ("self.w_k(key)", "self.w_q(key)"), ("self.w_v(value)", "self.w_q(value)")),
    ),
    "layers_in_list": (
        {"parameters-not-registered"},
        (("self.w_q = nn.Linear(d_model, d_model)", "self.w = [nn.Linear(d_model, d_model) for _ in range(4)]"),
         ("        self.w_k = nn.Linear(d_model, d_model)\n        self.w_v = nn.Linear(d_model, d_model)\n "
         "       self.w_o = nn.Linear(d_model, d_model)\n", ""),
         ("self.w_q(", "self.w[0]("), ("self.w_k(", "self.w[1]("), ("self.w_v(", "self.w[2]("), ("self.w_o(", "self.w[3](")),
    ),
    "residual": ({"residual-inside"}, (("return self.w_o(x)", "return self.w_o(x) + query"),)),
    "dropout_output": (
        {"dropout-on-output"},
        (("        weights = self.dropout(weights)\n", ""), ("return self.w_o(x)", "return self.dropout(self.w_o(x))")),
    ),
    "dropout_functional": ({"dropout-in-eval"}, (("self.dropout(weights)", "F.dropout(weights, self.dropout.p)"),)),
    "dropout_forgotten": ({"dropout-never"}, (("        weights = self.dropout(weights)\n", ""),)),
    "detached": ({"gradient-stops-at-weights"}, (("weights = self.dropout(weights)", "weights = "
    "self.dropout(weights.detach())"),)),
    "no_grad": ({"gradient-blocked"}, (("        return self.w_o(x)", "        return self.w_o(x).detach()"),)),
    "in_place": ({"input-changed-in-place"}, (("d_k = query.size(-1)", "d_k = query.size(-1)\n    query *= "
    "1.0 + 1.0\n    query /= 2.0 * 1.01\n    query = query * 1.01"),)),
    "tuple": ({"tuple-swapped"}, (("return output, weights", "return weights, output"), ("_, weights = "
    "scaled", "weights, _ = scaled"))),
    "output_only": (
        {"output-alone"},
        (("return output, weights", "return output"), ("_, weights = scaled_dot_product_attention(q, k, v, "
        "mask)", "weights = F.softmax(q @ k.mT / self.d_k**0.5 + (0 if mask is None else torch.where(mask "
        "if mask.dtype == torch.bool else mask == 0, 0.0, -1e9).to(q.dtype)), -1)")),
    ),
    "assertion": ({"head-count-wrong-error"}, (('if d_model % num_heads != 0:\n            raise ValueError("d_model must be divisible by num_heads")', "assert d_model % num_heads == 0"),)),
    "unchecked": ({"head-count-unchecked"}, (('        if d_model % num_heads != 0:\n            raise ValueError("d_model must be divisible by num_heads")\n', ""),)),
    "half_output": ({"output-scaled-by-constant"}, (("output = torch.matmul(weights, "
    "value)", "output = 0.5 * torch.matmul(weights, value)"),)),
    "four_dimensions": ({"assumes-leading-dimensions"}, (("d_k = query.size(-1)", "_, _, _, d_k = query.shape"),)),
    "mask_askew": ({"mask-axis-misplaced"}, ((CALL, "if mask is not None and mask.dim() == 2:\n            mask = mask.unsqueeze(1)\n        " + CALL),)),
    "mask_as_batch": ({"mask-axis-misplaced"}, ((CALL, "if mask is not None and mask.dim() == 2:\n            mask = mask[:, None, None, :]\n        " + CALL),)),
    "keys_of_zeros_hidden": (
        {"zeros-taken-for-padding"},
        (("    weights = F.softmax", "    scores = scores.masked_fill((key == 0).all(-1)[..., None, :], -1e9)\n    weights = F.softmax"),),
    ),
    "mask_five_dimensions": ({"mask-axis-misplaced"}, ((CALL, "if mask is not None:\n            mask = mask.unsqueeze(1)\n        " + CALL),)),
    "mask_along_queries": ({"mask-transposed"}, ((CALL, "if mask is not None and mask.size(-2) == 1 and q.size(2) == k.size(2):\n            mask = mask.transpose(-2, -1)\n        " + CALL),)),
    "mask_of_one_head": (set(), ((CALL, "if mask is not None and mask.dim() == 4 and self.h == 1:\n            mask = mask.squeeze()\n        " + CALL),)),
    "nan_gradient": (
        {"fully-masked-gradient-nan"},
        (("mask.clamp(min=-1e9)", "mask"), ("-1e9", "-math.inf"), ("return output, weights", "return output.nan_to_num(), weights.nan_to_num()"), ("torch.matmul(weights, v)\n", "torch.matmul(weights, v).nan_to_num()\n")),
    ),
    "softmax_queries_smallest_fill": (
        {"softmax-over-queries"},
        (("dim=-1", "dim=-2"), ("-1e9", "torch.finfo(scores.dtype).min")),
    ),
    "softmax_no_dim_smallest_fill": ({"softmax-without-dim"}, ((", dim=-1", ""), ("-1e9", "torch.finfo(scores.dtype).min"))),
    "return_forgotten": ({"nothing-returned"}, (("return self.w_o(x)", "self.w_o(x)"),)),
    "text_returned": ({"no-tensor-returned"}, (("return self.w_o(x)", "return str(self.w_o(x))"),)),
    "one_layer_in_a_list": (
        {"parameters-not-registered"},
        (("self.w_q = nn.Linear(d_model, d_model)", "self.hidden = [nn.Linear(d_model, d_model)]"), ("self.w_q(query)", "self.hidden[0](query)")),
    ),
    "heads_divided": ({"output-scaled-by-constant"}, (("return self.w_o(x)", "return self.w_o(x) / self.h"),)),
    "unscaled_in_place": (
        {"missing-scale", "input-changed-in-place"},
        ((" / math.sqrt(d_k)", ""), ("d_k = query.size(-1)", "query += 1.0\n    query = query - 1.0")),
    ),
}  # fmt: skip


def edited(name: str) -> str:
    """Return the source of one wrong file. Every edit must change something."""
    text = RIGHT
    for old, new in EDITS[name][1]:
        if old not in text:
            raise AssertionError(f"{name}: {old!r} is not in the source any more")
        text = text.replace(old, new)
    return text


WRONG = {name: (allowed, edited(name)) for name, (allowed, _) in EDITS.items()}
