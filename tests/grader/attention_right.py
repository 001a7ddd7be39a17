"""Right attention in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from attention_sources import RIGHT

FUNCTION = RIGHT.split("class MultiHeadAttention")[0]

HEAD = """
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model={d_model} is not a multiple of num_heads={num_heads}")
        self.D, self.H, self.d, self.p = d_model, num_heads, d_model // num_heads, dropout
        D, H, d = self.D, self.H, self.d
"""

TAIL = """
    def attend(self, q, k, v, mask):
        w = scaled_dot_product_attention(q, k, v, mask)[1]
        return F.dropout(w, self.p, self.training) @ v

    def heads(self, x):
        return x.unflatten(-1, (self.H, self.d)).transpose(1, 2)

    def join(self, x):
        return x.transpose(1, 2).flatten(2)
"""

CLASSES = {
    "packed_qkv": '''
        self.qkv = nn.Linear(D, 3 * D, bias=False)
        self.proj = nn.Linear(D, D, bias=False)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = self.qkv.weight.chunk(3)
        q, k, v = (self.heads(F.linear(x, w)) for x, w in ((query, wq), (key, wk), (value, wv)))
        return self.proj(self.join(self.attend(q, k, v, mask)))
''',
    "packed_vkq_with_bias": '''
        self.in_proj = nn.Linear(D, 3 * D)
        self.dense = nn.Linear(D, D)

    def forward(self, query, key, value, mask=None):
        v = self.in_proj(value)[..., :self.D]
        k = self.in_proj(key)[..., self.D:2 * self.D]
        q = self.in_proj(query)[..., 2 * self.D:]
        return self.dense(self.join(self.attend(self.heads(q), self.heads(k), self.heads(v), mask)))
''',
    "packed_per_head": '''
        self.qkv = nn.Linear(D, 3 * D)
        self.out = nn.Linear(D, D)

    def part(self, x, i):
        return self.qkv(x).unflatten(-1, (self.H, 3, self.d))[..., i, :].transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        x = self.attend(self.part(query, 0), self.part(key, 1), self.part(value, 2), mask)
        return self.out(self.join(x)), None
''',
    "packed_kv": '''
        self.to_q = nn.Linear(D, D, bias=False)
        self.to_kv = nn.Linear(D, 2 * D, bias=False)
        self.to_out = nn.Sequential(nn.Linear(D, D), nn.Dropout(0.0))

    def forward(self, query, key, value, mask=None):
        k, _ = self.to_kv(key).chunk(2, -1)
        _, v = self.to_kv(value).chunk(2, -1)
        x = self.attend(self.heads(self.to_q(query)), self.heads(k), self.heads(v), mask)
        return self.to_out(self.join(x))
''',
    "bare_matrices": '''
        self.W_q, self.W_k, self.W_v, self.W_o = (nn.Parameter(torch.randn(D, D) / D**0.5) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        x = self.attend(self.heads(query @ self.W_q), self.heads(key @ self.W_k), self.heads(value @ self.W_v), mask)
        return self.join(x) @ self.W_o
''',
    "bare_packed": '''
        self.w = nn.Parameter(torch.randn(4, D, D) / D**0.5)
        self.b = nn.Parameter(torch.zeros(4, D))

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads(x @ self.w[i] + self.b[i]) for i, x in enumerate((query, key, value)))
        return self.join(self.attend(q, k, v, mask)) @ self.w[3] + self.b[3]
''',
    "split_by_head": '''
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(H, D, d) / D**0.5) for _ in range(3))
        self.wo = nn.Parameter(torch.randn(H, d, D) / D**0.5)

    def forward(self, query, key, value, mask=None):
        q, k, v = (torch.einsum("btm,hmd->bhtd", x, w) for x, w in ((query, self.wq), (key, self.wk), (value, self.wv)))
        return torch.einsum("bhtd,hdm->btm", self.attend(q, k, v, mask), self.wo)
''',
    "one_linear_a_head": '''
        self.q = nn.ModuleList(nn.Linear(D, d) for _ in range(H))
        self.k = nn.ModuleList(nn.Linear(D, d) for _ in range(H))
        self.v = nn.ModuleList(nn.Linear(D, d) for _ in range(H))
        self.o = nn.Linear(D, D)

    def forward(self, query, key, value, mask=None):
        q, k, v = (torch.stack([f(x) for f in fs], 1) for fs, x in ((self.q, query), (self.k, key), (self.v, value)))
        return self.o(torch.cat(list(self.attend(q, k, v, mask).unbind(1)), -1))
''',
    "a_module_a_head": '''
        names = ("query", "key", "value")
        self.parts = nn.ModuleList(nn.ModuleDict({n: nn.Linear(D, d) for n in names}) for _ in range(H))
        self.fc = nn.Linear(D, D)

    def forward(self, query, key, value, mask=None):
        def run(name, x):
            return torch.stack([part[name](x) for part in self.parts], 1)
        return self.fc(self.join(self.attend(run("query", query), run("key", key), run("value", value), mask)))
''',
    "numbered_layers": '''
        self.linears = nn.ModuleList(nn.Linear(D, D) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (self.heads(f(x)) for f, x in zip(self.linears, (query, key, value)))
        return self.linears[-1](self.join(self.attend(q, k, v, mask)))
''',
    "other_order": '''
        self.last = nn.Linear(D, D)
        self.third = nn.Linear(D, D, bias=False)
        self.second = nn.Linear(D, D)
        self.first = nn.Linear(D, D)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.heads(self.first(query)), self.heads(self.second(key)), self.heads(self.third(value))
        x = self.attend(q, k, v, mask)
        return self.last(self.join(x))
''',
    "fused_library": '''
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(D, D) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.heads(self.q_proj(query)), self.heads(self.k_proj(key)), self.heads(self.v_proj(value))
        if mask is not None:
            mask = mask.expand(q.size(0), self.H, q.size(2), k.size(2))
        x = F.scaled_dot_product_attention(q, k, v, mask, dropout_p=self.p if self.training else 0.0)
        return self.out_proj(self.join(x))
''',
    "library_module": '''
        self.inner = nn.MultiheadAttention(D, H, dropout=dropout, batch_first=True)

    def forward(self, query, key, value, mask=None):
        B, Tq, Tk = query.size(0), query.size(1), key.size(1)
        if mask is not None:
            blocked = ~mask if mask.dtype == torch.bool else mask != 0
            blocked = blocked.expand(B, self.H, Tq, Tk)
            empty = blocked.all(-1, keepdim=True)
            mask = (blocked & ~empty).reshape(B * self.H, Tq, Tk)
        return self.inner(query, key, value, attn_mask=mask)
''',
    "loop_over_heads": '''
        self.query_layer, self.key_layer, self.value_layer = (nn.Linear(D, D) for _ in range(3))
        self.output_layer = nn.Linear(D, D)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None, need_weights=False):
        q, k, v = self.query_layer(query), self.key_layer(key), self.value_layer(value)
        done = []
        for h in range(self.H):
            s = slice(h * self.d, (h + 1) * self.d)
            m = mask if mask is None or mask.dim() == 2 else mask[:, h if mask.size(1) > 1 else 0]
            w = scaled_dot_product_attention(q[..., s], k[..., s], v[..., s], m)[1]
            done.append(self.drop(w) @ v[..., s])
        return self.output_layer(torch.cat(done, -1))
''',
    "folded_batch_and_spare_buffer": '''
        self.register_buffer("scale", torch.tensor(d ** -0.5))
        self.WQ, self.WK, self.WV, self.WO = (nn.Linear(D, D) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        B, Tq, Tk = query.size(0), query.size(1), key.size(1)
        q, k, v = (self.heads(f(x)).flatten(0, 1) for f, x in ((self.WQ, query), (self.WK, key), (self.WV, value)))
        s = torch.bmm(q * self.scale, k.transpose(1, 2)).view(B, self.H, Tq, Tk)
        if mask is not None:
            s = s.masked_fill(~(mask if mask.dtype == torch.bool else mask == 0), torch.finfo(s.dtype).min)
        w = F.dropout(s.softmax(-1), self.p, self.training).view(-1, Tq, Tk)
        return self.WO(self.join(torch.bmm(w, v).view(B, self.H, Tq, self.d)))
''',
    "channels_before_heads": '''
        self.wq, self.wk, self.wv = (nn.Parameter(torch.randn(D, d, H) / D**0.5) for _ in range(3))
        self.wo = nn.Parameter(torch.randn(d, H, D) / D**0.5)

    def forward(self, query, key, value, mask=None):
        q, k, v = (torch.einsum("btm,mdh->bhtd", x, w) for x, w in ((query, self.wq), (key, self.wk), (value, self.wv)))
        return torch.einsum("bhtd,dhm->btm", self.attend(q, k, v, mask), self.wo)
''',
}  # fmt: skip

FUNCTIONS = {
    "library": '''
import math
import torch
from torch import nn
import torch.nn.functional as F
from typing import NamedTuple


class Result(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


def scaled_dot_product_attention(query, key, value, mask=None, eps=0.0):
    scores = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        seen = mask if mask.dtype == torch.bool else torch.isfinite(mask)
        scores = torch.where(seen, scores, torch.full_like(scores, -1e20))
        weights = torch.softmax(scores, -1) * seen
    else:
        weights = torch.softmax(scores, -1)
    return Result(torch.einsum("...qk,...kd->...qd", weights, value), weights)
''',
    "by_hand_and_list": '''
import math
import torch
from torch import nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = query.size(-1) ** 0.25
    scores = (query / scale) @ (key / scale).mT
    if mask is not None and mask.dtype != torch.bool:
        mask = mask > -1
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
        scores = torch.where(mask.any(-1, keepdim=True), scores, torch.zeros_like(scores))
    shifted = scores - scores.amax(-1, keepdim=True).detach()
    weights = shifted.exp()
    weights = weights / weights.sum(-1, keepdim=True)
    return [weights @ value, weights]
''',
}  # fmt: skip


def right_files() -> dict[str, str]:
    """Every class with the plain function, and every function with the plain class."""
    files = {name: FUNCTION + HEAD + body + TAIL for name, body in CLASSES.items()}
    plain = RIGHT[RIGHT.index("class MultiHeadAttention") :]
    return files | {f"function_{name}": text + plain for name, text in FUNCTIONS.items()}
