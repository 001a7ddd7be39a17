"""The place of a mistake that takes more than one line to undo, and of what is kept from one call to the next."""

from __future__ import annotations

import pytest

from grader.edits.source_tree import Source
from grader.places.by_source import kept
from tests import solution_file
from tests.grader.places.placed import OWN_STYLE, line_of, place
from tests.grader.right import right_files

WRITTEN_AFTER = """import torch


def reverse_words(words):
    width = max(map(len, words))
    src = torch.zeros(len(words), width, dtype=torch.int64)
    tgt = torch.zeros(len(words), width + 1, dtype=torch.int64)
    for row, word in enumerate(words):
        for column, letter in enumerate(word):
            src[row, column] = ord(letter) - 94
            tgt[row, len(word) - 1 - column] = ord(letter) - 94
    tgt[:, width] = 2
    return src, tgt
"""
LEFT_OUT = """import math

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        t = torch.arange(max_len, dtype=torch.float64)
        table = torch.zeros(max_len, d_model, dtype=torch.float64)
        pairs = d_model // 2
        for i in range(pairs):
            angle = t * math.exp(-math.log(10000.0) * 2 * i / d_model)
            table[:, 2 * i] = torch.sin(angle)
            table[:, 2 * i + 1] = torch.cos(angle)
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table[: x.size(1)].to(x.dtype)
"""
NAN_BEFORE = """import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -math.inf)
    if mask is not None:
        scores = scores + mask
    biggest = scores.amax(-1, keepdim=True).detach()
    weights = torch.exp(scores - biggest)
    weights = weights / weights.sum(-1, keepdim=True)
    weights = torch.nan_to_num(weights, nan=0.0)
    return weights @ value, weights
"""
SHORT_WAY = """import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up, self.down, self.p = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), dropout

    def forward(self, x):
        if not self.training:
            hidden = self.up(x).relu()
            return hidden @ self.down.weight.T
        hidden = F.dropout(self.up(x).relu(), self.p)
        return self.down(hidden)
"""
BIAS_IN_EACH_ROUND = """import torch
from torch import nn
from torch.nn import functional as F


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up, self.down, self.p = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), dropout

    def forward(self, x):
        parts = [one.chunk(4) for one in (self.up.weight, self.up.bias)]
        out = torch.zeros_like(x)
        for up, b, down in zip(*parts, self.down.weight.chunk(4, dim=1)):
            hidden = F.dropout(F.linear(x, up, b).relu(), self.p, self.training)
            out = out + F.linear(hidden, down, self.down.bias)
        return out
"""
OUT_OF_MODE = """from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Step:
    linear: nn.Module
    after: nn.Module


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        sizes = [(d_model, d_ff, nn.Sequential(nn.ReLU(), nn.Dropout(dropout))), (d_ff, d_model, nn.Identity())]
        self.steps = [Step(nn.Linear(a, b), nn.Sequential(after)) for a, b, after in sizes]
        self.linears = nn.ModuleList(step.linear for step in self.steps)

    def forward(self, x):
        for step in self.steps:
            x = step.after(step.linear(x))
        return x
"""
MEAN_OF_MEANS = """import torch
from torch.nn import functional as F

ROWS = 2


def shift_right(target, sos=1):
    return torch.cat((torch.full_like(target[:, :1], sos), target[:, :-1]), dim=1)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    total, count = 0.0, 0
    for some, ids in zip(logits.split(ROWS), target.split(ROWS)):
        if (ids == pad).all():
            continue
        total = total + F.cross_entropy(
            some.flatten(0, 1), ids.flatten(), ignore_index=pad, label_smoothing=smoothing
        )
        count = count + 1
    return total / count
"""
UNSCALED_SUMS = """import math

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    top = query.new_full((*query.shape[:-1], 1), -1e9)
    total, mixed, every = 0.0, 0.0, []
    for start in range(0, key.size(-2), 4):
        some, values = key[..., start : start + 4, :], value[..., start : start + 4, :]
        scores = query @ some.transpose(-2, -1) / math.sqrt(query.size(-1))
        if mask is not None:
            allowed = mask if mask.dtype == torch.bool else mask > -1.0
            allowed = allowed.expand(*allowed.shape[:-1], key.size(-2))[..., start : start + 4]
            scores = scores.masked_fill(~allowed, -1e9)
        every.append(scores)
        top = torch.maximum(top, scores.detach().amax(-1, keepdim=True))
        shares = torch.exp(scores - top)
        total = total + shares.sum(-1, keepdim=True)
        mixed = mixed + shares @ values
    return mixed / total, torch.exp(torch.cat(every, dim=-1) - top) / total
"""
METER = """

class Meter:
    def __init__(self):
        self.sum, self.count = 0.0, 0

    def add(self, value):
        self.sum += value
        self.count += 1
        return self.sum / self.count


METER = Meter()
"""
ONE_DROPOUT = """import torch
from torch import nn
from torch.nn import functional as F


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.attend, self.feed_forward, self.p, self.pre = self_attention, feed_forward, dropout, norm == "pre"
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])

    def kept(self, x):
        return F.dropout(torch.ones_like(x), self.p, self.training)

    def forward(self, x, src_mask=None):
        kept = self.kept(x)
        for norm, step in zip(self.norms, (lambda h: self.attend(h, h, h, src_mask), self.feed_forward)):
            x = x + kept * step(norm(x)) if self.pre else norm(x + kept * step(x))
        return x


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
        return self.norm(x)
"""
COUNTED = """import torch


def padding_mask(tokens, pad=0):
    mask = torch.zeros(tokens.size(0), 1, 1, tokens.size(1), dtype=torch.bool)
    for row in range(tokens.size(0)):
        count = 0
        for column in range(tokens.size(1)):
            if int(tokens[row, column]) != pad:
                count = count + 1
        mask[row, 0, 0, :count] = True
    return mask
"""
MADE_ONCE = """import torch


def decoder_mask(tokens, pad=0):
    size, found = tokens.size(1), []
    rows = [[j <= i for j in range(size)] for i in range(size)]
    for sentence in tokens.tolist():
        for j in range(size):
            if sentence[j] == pad:
                for i in range(size):
                    rows[i][j] = False
        found.append(torch.tensor([rows]))
    return torch.stack(found)
"""
KEPT_TRIANGLE = """import torch

triangles = {}


def causal_mask(size, device=None):
    if size not in triangles:
        triangles[size] = torch.ones(1, 1, size, size, dtype=torch.bool).tril()
    return triangles[size].to(device)


def decoder_mask(tokens, pad=0):
    mask = causal_mask(tokens.size(1), tokens.device)
    mask = mask[0]
    found = []
    for sentence in tokens:
        mask &= sentence != pad
        found.append(mask.clone())
    return torch.stack(found)
"""
COUNTER = """import math
import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        self.d_model, self.max_len, self.position = d_model, max_len, -1

    def row(self):
        self.position += 1
        angles = [self.position / 10000 ** (i // 2 * 2 / self.d_model) for i in range(self.d_model)]
        return [math.cos(a) if i % 2 else math.sin(a) for i, a in enumerate(angles)]

    def forward(self, x):
        if x.size(1) > self.max_len:
            raise ValueError("too long")
        rows = [self.row() for _ in range(x.size(1))]
        return x + torch.tensor(rows, dtype=x.dtype, device=x.device)
"""
IN_PIECES = """import torch
from torch.nn import functional as F


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    logits, target = logits.flatten(0, 1), target.flatten()
    loss, pieces = 0.0, 0
    for i in range(0, len(target), 3):
        part, wanted = logits[i : i + 3], target[i : i + 3]
        if bool((wanted == pad).all()):
            continue
        loss = loss + F.cross_entropy(part, wanted, ignore_index=pad, label_smoothing=smoothing)
        pieces = pieces + 1
    return loss / pieces
"""
SORTED = """import torch


def reverse_words(words):
    words = sorted(words, key=len, reverse=True)
    width = len(words[0])
    src = torch.zeros(len(words), width, dtype=torch.int64)
    tgt = torch.zeros(len(words), width + 1, dtype=torch.int64)
    for i, word in enumerate(words):
        ids = torch.tensor([ord(letter) - ord("a") + 3 for letter in word])
        src[i, : len(ids)] = ids
        tgt[i, : len(ids)] = ids.flip(0)
        tgt[i, len(ids)] = 2
    return src, tgt
"""
SHARES = """import torch


def shift_right(target, sos=1):
    return torch.cat((torch.full_like(target[:, :1], sos), target[:, :-1]), dim=1)


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    kept = target != pad
    logs = logits[kept].log_softmax(-1)
    wanted = torch.full_like(logs, smoothing / (logs.size(-1) - 2))
    wanted = wanted.scatter(1, target[kept].unsqueeze(1), 1 - smoothing)
    wanted[:, pad] = 0.0
    return -(wanted * logs).sum(-1).mean()
"""
MIXED = OWN_STYLE.replace(
    "        mu, var = self.moments(x.double())\n",
    "        shape = x.shape\n        x = x.double().reshape(x.size(-1), -1)\n        x = x.transpose(0, 1)\n"
    "        mu, var = self.moments(x)\n",
).replace("return y.to(x.dtype)", "return y.transpose(0, 1).reshape(shape).to(self.gain.dtype)")


CACHED = """
import torch
from torch import nn

LIMIT = 0


class CachedAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(d_model)
        self.heads, self.d = num_heads, d_model // num_heads
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))
"""
PAGES = (
    CACHED.replace("LIMIT = 0", "PAGE = 4")
    + """
    def put(self, pages, slot, new):
        last = pages[-1].clone()
        last[:, slot] = new
        return [*pages[:-1], last]

    def forward(self, x, cache):
        if cache is None:
            cache = [], [], 0
        q, k, v = (
            proj(x).reshape(x.shape[0], self.heads, self.d) for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        keys, values, t = cache
        slot = t % PAGE
        if slot == 0:
            blank = k.new_zeros(x.shape[0], PAGE, self.heads, self.d)
            keys, values = [*keys, blank], [*values, blank]
        keys, values = self.put(keys, slot, k), self.put(values, slot, v)
        used = slot + 1
        k, v = (torch.cat(pages, 1)[:, :used] for pages in (keys, values))
        weights = torch.einsum("bhd,bthd->bht", q, k).div(self.d**0.5).softmax(-1)
        mixed = torch.einsum("bht,bthd->bhd", weights, v)
        return self.out_proj(mixed.flatten(1)[:, None]), (keys, values, t + 1)
"""
)
RING = (
    CACHED.replace("LIMIT = 0", "ROOM = 32")
    + """
    def forward(self, x, cache):
        q, k, v = (
            proj(x).reshape(x.shape[0], 1, self.heads, self.d).transpose(1, 2)
            for proj in (self.q_proj, self.k_proj, self.v_proj)
        )
        if cache is None:
            room = k.new_zeros(x.shape[0], self.heads, ROOM, self.d)
            cache = room, room, 0
        keys, values, t = cache
        keys, values = keys.clone(), values.clone()
        keys[:, :, t % ROOM], values[:, :, t % ROOM] = k[:, :, 0], v[:, :, 0]
        filled = min(t + 1, ROOM)
        weights = (q @ keys[:, :, :filled].transpose(-1, -2) / self.d**0.5).softmax(-1)
        mixed = weights @ values[:, :, :filled]
        return self.out_proj(mixed.transpose(1, 2).flatten(2)), (keys, values, t + 1)
"""
)
A_BRANCH_FOR_ONE = """
import torch


def padding_mask(tokens, pad=0):
    return tokens.ne(pad)[:, None, None]


def causal_mask(size, device=None):
    return torch.ones(size, size, dtype=torch.bool, device=device).tril()[None, None]


def decoder_mask(tokens, pad=0):
    causal = causal_mask(tokens.size(1), tokens.device).expand(len(tokens), -1, -1, -1)
    if tokens.size(1) == 1:
        return causal
    return causal & padding_mask(tokens, pad)


def to_additive(mask, dtype=torch.float32):
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))
"""
ANOTHER_COUNT = """
import torch
from torch.nn import functional as F


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    real = target.ne(pad).sum()
    n = target.size(0) * target.size(1)
    total = F.cross_entropy(
        logits.transpose(1, 2), target, ignore_index=pad, label_smoothing=smoothing, reduction="sum"
    )
    return total / n
"""
MADE_TOO_RARELY = """
import torch

TRIANGLES = {}


def triangle(size, device):
    held = TRIANGLES.get(device)
    if held is None:
        held = torch.ones(size, size, dtype=torch.bool, device=device).tril()
        TRIANGLES[device] = held
    return held[:size, :size]


def padding_mask(tokens, pad=0):
    return tokens.ne(pad)[:, None, None]


def causal_mask(size, device=None):
    return triangle(size, torch.get_default_device() if device is None else torch.device(device)).clone()[None, None]


def decoder_mask(tokens, pad=0):
    return padding_mask(tokens, pad) & triangle(tokens.size(1), tokens.device)


def to_additive(mask, dtype=torch.float32):
    return mask.to(dtype).log()
"""
BIAS_OF_EACH_HEAD = """
import torch
import torch.nn.functional as F
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if mask is None:
        weights = scores.softmax(-1)
    else:
        ok = mask if mask.dtype is torch.bool else mask == 0.0
        weights = torch.where(ok, torch.where(ok, scores, -1e30).softmax(-1), 0.0)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(d_model)
        self.heads, self.d, self.dropout = num_heads, d_model // num_heads, dropout
        self.q_proj, self.k_proj, self.v_proj, self.out_proj = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = self.q_proj(query), self.k_proj(key), self.v_proj(value)
        if mask is not None and mask.dim() == 4:
            mask = mask.expand(-1, self.heads, -1, -1)
        out = 0
        for h in range(self.heads):
            own = slice(h * self.d, (h + 1) * self.d)
            m = mask if mask is None or mask.dim() == 2 else mask[:, h]
            _, weights = scaled_dot_product_attention(q[..., own], k[..., own], v[..., own], m)
            head = F.dropout(weights, self.dropout, self.training) @ v[..., own]
            out = out + F.linear(head, self.out_proj.weight[:, own], self.out_proj.bias)
        return out
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "text", "lines"),
    [
        ("training", WRITTEN_AFTER, ["tgt[:, width] = 2"]),
        ("positions", LEFT_OUT, ["for i in range", "pairs = d_model"]),
        ("attention", NAN_BEFORE, ["scores - biggest"]),
        ("feedforward", SHORT_WAY, ["self.down.weight.T"]),
        ("norm", MIXED, ["reshape(x.size(-1), -1)"]),
        ("feedforward", BIAS_IN_EACH_ROUND, ["self.down.bias"]),
        ("feedforward", OUT_OF_MODE, ["self.steps = ["]),
        ("loss", MEAN_OF_MEANS, ["count = count + 1", "total = total +"]),
        ("attention", UNSCALED_SUMS, ["total = total +", "mixed = mixed +"]),
        ("loss", SHARES, ["torch.full_like(logs"]),
        ("encoder", ONE_DROPOUT, ["kept = self.kept(x)"]),
        ("masks", COUNTED, ["mask[row, 0, 0, :count]"]),
        ("masks", MADE_ONCE, ["rows = [["]),
        ("masks", KEPT_TRIANGLE, ["mask &= sentence"]),
        ("positions", COUNTER, ["self.position += 1"]),
        ("loss", IN_PIECES, ["loss = loss +"]),
        ("training", SORTED, ["sorted(words", "return src, tgt"]),
        ("kv_cache", PAGES, ["used = slot + 1"]),
        ("kv_cache", RING, ["ROOM = 32"]),
        ("attention", BIAS_OF_EACH_HEAD, ["self.out_proj.bias"]),
        ("masks", MADE_TOO_RARELY, ["if held is None"]),
        ("masks", A_BRANCH_FOR_ONE, ["return causal"]),
        ("loss", ANOTHER_COUNT, ["return total / n", "n = target.size(0)"]),
    ],
    ids=[
        "written after a loop",
        "never written",
        "NaN on the way",
        "a branch",
        "axes mixed up",
        "a bias in each round",
        "out of the reach of eval",
        "a mean of means",
        "sums of another scale",
        "rows that a mask picks",
        "one dropout for all",
        "written up to a count",
        "made before the loop",
        "changed where it is kept",
        "counted on",
        "the whole in each round",
        "sorted, and not put back",
        "counted in the page alone",
        "room for 32 positions",
        "a bias for each head",
        "made for the first size alone",
        "a branch for one token",
        "a count that nothing else reads",
    ],
)
def test_mistakes_of_several_lines_have_theirs(exercise: str, text: str, lines: list[str]) -> None:
    found = place(exercise, text)
    assert found is not None
    assert {line_of(text, line) for line in lines} <= {*found.lines}


@pytest.mark.slow
def test_a_helper_that_keeps_a_mask_is_shown() -> None:
    text = solution_file("attention").read_text(encoding="utf-8")
    old, call = "    def forward(", "(q, k, mask)"
    assert text.count(old) == 1
    assert call in text.partition(old)[2]
    helper = (
        "    def kept(self, mask):\n        if not hasattr(self, 'known'):\n            self.known = {}\n"
        "        if mask is not None and mask.shape not in self.known:\n"
        "            self.known[mask.shape] = mask\n        return mask if mask is None else self.known[mask.shape]\n\n"
    )
    before, _, after = text.partition(old)
    wrong = before + helper + old + after.replace(call, "(q, k, self.kept(mask))")
    found = place("attention", wrong)
    assert found is not None
    first = line_of(wrong, "def kept(self, mask)")
    assert {*range(first, first + helper.count("\n"))} & {*found.lines}


def test_what_an_object_of_the_file_keeps_is_shown() -> None:
    text = solution_file("training").read_text(encoding="utf-8")
    returned, first = "    return loss.item()\n", "\n\ndef noam("
    assert text.count(returned) == text.count(first) == 1
    wrong = text.replace(returned, "    return METER.add(loss.item())\n").replace(first, METER + first)
    found = place("training", wrong)
    assert found is not None
    assert line_of(wrong, "return METER.add") in found.lines


def test_state_of_an_object_that_is_called_once_is_not_blamed() -> None:
    text = OWN_STYLE.replace("        mu, var", "        self.calls = self.eps\n        mu, var")
    line = line_of(text, "self.calls")
    assert kept(Source(text), [line], of_objects=False, of_file=True) is None
    found = kept(Source(text), [line], of_objects=True, of_file=False)
    assert found is not None
    assert found.place.line == line


@pytest.mark.slow
def test_an_argument_that_nothing_reads_is_shown_where_no_change_helps() -> None:
    text = right_files("kv_cache")["all_inputs_again_and_a_warning"]
    read = "seen = x if cache is None else torch.cat([cache, x], dim=1)"
    assert text.count(read) == 1
    wrong = text.replace(read, "seen = x")
    found = place("kv_cache", wrong)
    assert found is not None
    assert found.lines == (line_of(wrong, "def forward(self, x, cache):"), line_of(wrong, "seen = x"))
    assert found.value == "nothing reads the argument `cache`"
