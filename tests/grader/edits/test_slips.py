"""Slips of people: each is undone by one of the changes that are tried early."""

from __future__ import annotations

import ast
import itertools
import os
import subprocess
import sys

import pytest

from grader.catalog import get_exercises
from grader.edits.edits import Edits
from grader.edits.idle import unread
from grader.edits.source_tree import Source
from tests import solution_file
from tests.grader.edits.tried import is_python
from tests.grader.right import right_files

MANY = 1500  # changes of a file that are looked at; of some files, all
EVERY = 8
EARLY = 1000  # changes of a short file
HEAD = "import torch, copy\nfrom torch import nn\n"
CASES = {
    "one module for copies of it": (
        "def clones(part, n):\n    return nn.ModuleList([part for _ in range(n)])\n",
        "[part for _ in range(n)]", "[__import__('copy').deepcopy(part) for _ in range(n)]",
    ),
    "a list of one module": (
        "def clones(part, n):\n    return nn.ModuleList([part] * n)\n",
        "[part] * n", "[__import__('copy').deepcopy(part) for _ in range(n)]",
    ),
    "made before the loop": (
        "def stack(make, n):\n    one = make()\n    return [copy.deepcopy(one) for _ in range(n)]\n",
        "[copy.deepcopy(one) for", "[make() for",
    ),
    "made once for a helper": (
        "def clones(part, n):\n    return nn.ModuleList([part] * n)\n\n"
        "def stack(make, n):\n    return clones(make(), n)\n",
        "clones(make(), n)\n", "nn.ModuleList([make() for _ in range(n)])\n",
    ),
    "not called in a list": (
        "def stack(make, n):\n    return [make for _ in range(n)]\n", "[make for", "[make() for",
    ),
    "a class for an object": (
        "class State:\n    pass\n\ndef f():\n    state = State\n    return state\n", "= State\n", "= State()\n",
    ),
    "a method that is not called": ("def f(x):\n    return x.bool\n", "x.bool", "x.bool()"),
    "a tuple that is not unpacked": (
        "def pair(x):\n    return x, x\n\ndef f(x):\n    y = pair(x)\n    return y\n",
        "y = pair(x)", "y = pair(x)[0]",
    ),
    "unpacked and no tuple": ("def f(g, x):\n    x, _ = g(x)\n    return x\n", "x, _ = g(x)", "x = g(x)"),
    "no stars": (
        "def f(g, x, *args, **kwargs):\n    return g(x, args, kwargs)\n", "g(x, args, kwargs)", "g(x, *args, **kwargs)",
    ),
    "a buffer without a name": (
        "class M(nn.Module):\n    def __init__(self, table):\n        super().__init__()\n"
        "        self.register_buffer(table)\n",
        "(table)\n", "('table', table)\n",
    ),
    "a default written out": (
        "def f(x, pad=0):\n    return g(x, pad)\n\ndef g(x, pad):\n    return x != 0\n", "x != 0", "x != pad",
    ),
    "a text as a condition": (
        "def f(x, norm='post'):\n    if norm == 'pre':\n        x = x + 1\n    return g(x, norm)\n",
        "g(x, norm)", "g(x, norm == 'pre')",
    ),
    "state that is not returned": (
        "class C:\n    def add(self, k, v):\n        self.k = self.k + k\n        self.v = self.v + v\n"
        "        return k, v\n",
        "return k, v", "return self.k, self.v",
    ),
    "an object of the file kept in the module": (
        "class C:\n    pass\n\nclass M(nn.Module):\n    def __init__(self):\n        self.c = C()\n\n"
        "    def forward(self):\n        c = self.c\n        return c\n",
        "c = self.c\n", "c = C()\n",
    ),
    "q, k and v alike": (
        "def f(q, k):\n    q = q.view(2, 3).transpose(0, 1)\n    k = k.view(2, 3).transpose(0, 1)\n    return q @ k\n",
        ".view(2, 3)", ".view(3, 2)",
    ),
    "values of a table": ("KINDS = {'pre': A, 'post': B}\n", "{'pre': A, 'post': B}", "{'pre': B, 'post': A}"),
    "a returned expression with an end": (
        "def f(x):\n    return max(x)[0]\n", "max(x)[0]", "max(x)[0][1:]",
    ),
    "an array": (
        "import numpy as np\n\ndef f(n):\n    return np.arange(n)\n",
        "np.arange(n)", "torch.as_tensor(np.arange(n))",
    ),
    "a flag of one round alone": (
        "def f(x, n):\n    ended = x == 1\n    for _ in range(n):\n        x = g(x)\n        ended = x == 2\n"
        "    return ended\n",
        "ended = x == 2", "ended = ended | (x == 2)",
    ),
    "state that keeps its order": (
        "def f(ids, sums):\n    ids, sums = g(ids)\n    while True:\n        order = h(sums)\n"
        "        sums = sums.gather(1, order)\n        ids = k(ids)\n",
        "k(ids)", "k(__import__('torch').take_along_dim(ids, order[..., None], 1))",
    ),
    "flat state that keeps its order": (
        "def f(ids, sums):\n    ids, sums = g(ids)\n    while True:\n        order = h(sums)\n"
        "        sums = sums[order]\n        ids = k(ids)\n",
        "k(ids)", "k(ids[order])",
    ),
    "rows of the rows that are left": (
        "def f(x, n):\n    rows = torch.arange(n)\n    while len(x):\n        left = g(x)\n        x = x[left]\n"
        "        rows = left\n",
        "rows = left", "rows = rows[left]",
    ),
    "flags that keep their order": (
        "def f(ids, sums, n, ended):\n    ids, sums, n, ended = g(ids)\n    while True:\n"
        "        sums, parents = sums.topk(2)\n        ids = ids[parents + 1]\n        n = n + 1\n"
        "        ended = ended | h(ids)\n",
        "        n = n + 1\n",
        "        ended, n = (ended.gather(1, parents), n.gather(1, parents))\n        n = n + 1\n",
    ),
    "flags that keep their order, beside what a function puts in order": (
        "def inorder(x, i):\n    return x[i]\n\ndef f(ids, sums, n, ended):\n    ids, sums, n, ended = g(ids)\n"
        "    while True:\n        sums, parents = sums.topk(2)\n        ids = cat(inorder(ids, parents), 1)\n"
        "        n = n + ~ended\n",
        "        n = n + ~ended\n",
        "        n = inorder(n, parents)\n        n = n + ~ended\n",
    ),
    "keys and values of keys": (
        "def f(self, key, value):\n    k, v = both(key).chunk(2)\n    return k, v\n",
        "both(key).chunk(2)", "(both(key).chunk(2)[0], both(value).chunk(2)[1])",
    ),
    "the first rows for those that are left": (
        "def f(x, y, n):\n    while n:\n        left = g(x, y)\n        z = y[left]\n        x = x[: len(z)]\n"
        "        y = y[: len(z)]\n",
        "        x = x[: len(z)]\n        y = y[: len(z)]\n", "        x = x[left]\n        y = y[left]\n",
    ),
    "a difference from the new mean": (
        "def f(x, n, mean, m):\n    for i in range(n):\n        delta = x[i] - mean\n"
        "        mean = mean + delta / (i + 1)\n        m = m + delta * delta\n    return m\n",
        "delta * delta", "delta * (x[i] - mean)",
    ),
    "the largest number of all": (
        "def f(x):\n    return x - x.max()\n", "x.max()", "x.amax(-1, keepdim=True)",
    ),
    "two defaults for all calls": (
        "class Cache:\n    def __init__(self, ks=[], vs=[]):\n        self.ks = ks\n        self.vs = vs\n",
        "        self.ks = ks\n        self.vs = vs\n", "        self.ks = []\n        self.vs = []\n",
    ),
    "the parameters of all parts": (
        "class M(nn.Module):\n    def __init__(self, part):\n        super().__init__()\n        self.part = part\n"
        "        self.out = nn.Linear(2, 2)\n        for p in self.parameters():\n            nn.init.ones_(p)\n",
        "self.parameters()", "self.out.parameters()",
    ),
    "a sum of one term": (
        "class H:\n    ids: list\n    total: float\n\ndef f(old, i, p):\n    return H(old.ids + [i], p)\n\n"
        "def best(old):\n    return old.total\n",
        "[i], p)", "[i], old.total + p)",
    ),
    "a replaced sum": (
        "def f(old, p):\n    return replace(old, total=p)\n", "total=p", "total=old.total + p",
    ),
    "skipped and lost": (
        "def f(hypotheses, kept):\n    for one in hypotheses:\n        if one.done:\n            continue\n"
        "        kept.append(g(one))\n",
        "            continue\n", "            kept.append(one)\n            continue\n",
    ),
    "an attribute's default written out": (
        "class M(nn.Module):\n    def __init__(self, pad=0):\n        super().__init__()\n        self.pad = pad\n\n"
        "    def forward(self, x):\n        return x != 0\n",
        "x != 0", "x != self.pad",
    ),
    "a variable of a comprehension that nothing reads": (
        "def f(rows):\n    return [g(rows) for part in rows.split(2)]\n", "[g(rows) for", "[g(part) for",
    ),
    "a local that nothing reads": (
        "def f(x):\n    y = g(x)\n    z = y.relu()\n    return h(y)\n", "h(y)", "h(z)",
    ),
    "another key": (
        "def f(parts, x):\n    y = parts['one'](x)\n    return y + parts['one'](parts['two'].w)\n",
        "y + parts['one']", "y + parts['two']",
    ),
    "a bound for a sum": (
        "def f(x, eps):\n    return x.clamp(min=eps).sqrt()\n", "x.clamp(min=eps)", "(x + eps)",
    ),
    "as many rows for those": ("def f(x, rows):\n    return x[: len(rows)]\n", "x[: len(rows)]", "x[rows]"),
    "kept and written again": (
        "def f(row, n):\n    rows = []\n    for i in range(n):\n        row[:] = g(i)\n        rows.append(row)\n"
        "    return rows\n",
        "append(row)", "append(row.clone())",
    ),
    "the other end": ("def f(x, n):\n    x[-n:] = 1\n", "x[-n:]", "x[:n]"),
    "the longest": ("def f(rows):\n    return len(max(rows))\n", "max(rows)", "max(rows, key=len)"),
    "a constant that is written to": (
        "EMPTY = {'k': []}\n\ndef f(cache):\n    return cache or dict(EMPTY)\n", "dict(EMPTY)", "dict({'k': []})",
    ),
    "what the base class is not given": (
        "class A:\n    def __init__(self, part, rate=0):\n        self.rate = rate\n\n"
        "class B(A):\n    def __init__(self, part, rate=0):\n        super().__init__(part)\n",
        "super().__init__(part)", "super().__init__(part, rate=rate)",
    ),
    "what a dataclass is not given": (
        "class Asked:\n    x: int\n    pad: int = 0\n\n    @classmethod\n    def of(cls, x, pad):\n"
        "        return cls(x)\n",
        "cls(x)", "cls(x, pad=pad)",
    ),
    "arguments in another order": (
        "class Ids:\n    sos: int\n    eos: int\n    pad: int\n\ndef f(sos, eos, pad):\n"
        "    return Ids(sos, pad, eos)\n",
        "Ids(sos, pad, eos)", "Ids(sos, eos, pad)",
    ),
    "a condition the wrong way": (
        "def f(x, n):\n    if n.training or n.p == 0:\n        return x\n    return g(x)\n",
        "if n.training or", "if not n.training or",
    ),
    "a divergence for the cross-entropy": (
        "def f(x, y):\n    return nn.functional.kl_div(x, y, reduction='sum')\n",
        "nn.functional.kl_div(x, y, reduction='sum')", "-(y * x).sum()",
    ),
    "a divergence of a module": (
        "def f(x, y):\n    return nn.KLDivLoss(reduction='batchmean')(x, y)\n",
        "nn.KLDivLoss(reduction='batchmean')", "(lambda scores, wanted: -(wanted * scores).sum(-1).mean())",
    ),
    "zero for the lowest score": (
        "def f(n, k):\n    return torch.full((n, k), 0.0)\n", "0.0)", "-float('inf'))",
    ),
    "a property for a field": (
        "class Cache:\n    width: int = 8\n\n    @property\n    def size(self):\n        return self.width * 2\n\n"
        "def f(cache):\n    return cache.size\n",
        "cache.size", "cache.width",
    ),
    "a large number for infinity": ("LOW = -1e9\n", "-1e9", "-float('inf')"),
    "one of the list less": ("def f(x):\n    n = len(x)\n    return n\n", "len(x)", "len(x) - 1"),
    "functions of a loop that read its last variables": (
        "def f(gains):\n    return [lambda x: x * g for g in gains]\n", "lambda x: x * g", "lambda x, g=g: x * g",
    ),
    "an old name": (
        "def f(x):\n    x0 = x\n    for _ in range(3):\n        x = x + g(x0)\n    return x\n", "g(x0)", "g(x)",
    ),
    "the same in two places": (
        "def f(x):\n    new = torch.zeros(3)\n    return pair(new, new)\n", "(new, new)", "(new, torch.zeros(3))",
    ),
    "numbers from one on": ("def f(n):\n    return torch.arange(1, n + 1)\n", "(1, n + 1)", "(n)"),
    "offsets of groups": (
        "def f(n, beam):\n    at = torch.arange(n)\n    return at\n", "torch.arange(n)", "torch.arange(n) * beam",
    ),
    "hypotheses that start alike": (
        "def f(n, k):\n    sums = torch.zeros(n, k)\n    return sums\n",
        "zeros(n, k)\n", "zeros(n, k)\n    sums[:, 1:] = float('-inf')\n",
    ),
    "flat hypotheses that start alike": (
        "def f(n, k):\n    sums = torch.zeros(n * k)\n    return sums\n",
        "zeros(n * k)\n", "zeros(n * k)\n    sums.view(-1, k)[:, 1:] = float('-inf')\n",
    ),
    "a list of sums that start alike": (
        "def f(k):\n    sums = [0.0] * k\n    return sums\n", "[0.0] * k", "[0.0] + [float('-inf')] * (k - 1)",
    ),
    "what has ended counts on": (
        "def f(length, ended, now):\n    length = length + 1\n    return length, ended | now\n",
        "length + 1", "length + ~ended",
    ),
    "a field that keeps its order": (
        "def f(old, order):\n    return g(old.ids), pick(old.sums, order)\n", "g(old.ids)", "g(pick(old.ids, order))",
    ),
    "one value for all keys": (
        "def f(names):\n    return dict.fromkeys(names, g())\n",
        "dict.fromkeys(names, g())", "{each: g() for each in names}",
    ),
    "dropout that is called later": (
        "def f(self):\n    return partial(F.dropout, p=self.p)\n", "self.p)", "self.p, training=self.training)",
    ),
    "another size of the class": (
        "class A:\n    def __init__(self, d, h):\n        self.h = h\n        self.size = d // h\n\n"
        "    def f(self, i):\n        return i * self.h\n",
        "i * self.h", "i * self.size",
    ),
    "put in front": ("def f(old, k):\n    return [k] + old\n", "[k] + old", "old + [k]"),
    "handed on and not nothing": (
        "def g(x, source):\n    return x\n\ndef f(x):\n    return partial(g, source=x)\n", "source=x", "source=None",
    ),
    "an end that is turned too": (
        "def f(ids):\n    return list(reversed(ids + [2]))\n", "list(reversed(ids + [2]))", "list(reversed(ids)) + [2]",
    ),
    "the device alone": ("def f(a, x):\n    return a.to(x.device)\n", "x.device", "x"),
    "a power of a quotient": ("def f(s, w):\n    return s * w ** -3 / 2\n", "w ** -3 / 2", "w ** (-3 / 2)"),
    "a list that is not copied": (
        "def f(old, i):\n    ids = old.ids\n    ids.append(i)\n    return ids\n",
        "= old.ids\n", "= __import__('copy').copy(old.ids)\n",
    ),
    "a tensor that is not copied": (
        "def f(x):\n    new = x\n    new[0] = 1\n    return new\n", "new = x\n", "new = x.clone()\n",
    ),
    "a list of the class": (
        "class Cache:\n    keys: list = []\n    values = []\n\n    def add(self, k):\n        self.keys.append(k)\n",
        "    keys: list = []\n    values = []\n",
        "    def __init__(self):\n        self.keys = []\n        self.values = []\n    pass\n",
    ),
    "the smallest positive number": (
        "def f(x):\n    return torch.finfo(x.dtype).tiny\n", "tiny", "min",
    ),
    "one argument twice": (
        "def f(self, src, tgt):\n    return self.decode(tgt, self.encode(src), tgt)\n",
        "self.encode(src), tgt)", "self.encode(src), src)",
    ),
    "written, not added": ("def f(x, i):\n    x[i] = 1\n", "x[i] = 1", "x[i] += 1"),
    "added, not written": ("def f(x, i):\n    x[i] += 1\n", "x[i] += 1", "x[i] = 1"),
    "steps in a text": ("class A:\n    steps = 'adn'\n", "'adn'", "'dan'"),
    "turned with its end": ("def f(ids):\n    return (ids + [2])[::-1]\n", "(ids + [2])[::-1]", "ids[::-1] + [2]"),
    "the new part alone": (
        "def f(cache, k, v):\n    past = g(cache, k, v)\n    return h(past), KV(k, v)\n", "KV(k, v)", "past",
    ),
    "a call too late": (
        "def f(model, x):\n    y = model(x)\n    z = g(y)\n    model.train()\n    return z\n",
        "    y = model(x)\n    z = g(y)\n    model.train()\n", "    model.train()\n    y = model(x)\n    z = g(y)\n",
    ),
    "a condition in the loop": (
        "def f(self, x):\n    for one in self.layers:\n        x = one(x)\n        if self.pre:\n"
        "            x = self.norm(x)\n    return x\n",
        "        if self.pre:\n            x = self.norm(x)\n", "    if self.pre:\n        x = self.norm(x)\n",
    ),
    "dropout of whole rows": (
        "def f(p):\n    return nn.Dropout1d(p)\n", "Dropout1d", "Dropout",
    ),
    "a product beside another": (
        "def f(h, d):\n    return slice(d, (h + 1) * d)\n", "slice(d,", "slice(h * d,",
    ),
    "done twice by a helper": (
        "def f(x, y):\n    return x + y\n\ndef g(x, y):\n    return f(f(x, y), y)\n", "f(f(x, y), y)", "f(x, y)",
    ),
    "a part that is never called": (
        "class M(nn.Module):\n    def __init__(self, d):\n        super().__init__()\n"
        "        self.q, self.k = (nn.Linear(d, d) for _ in range(2))\n\n"
        "    def forward(self, x, y):\n        q, k = x, self.k(y)\n        return q, k\n",
        "q, k = x,", "q, k = self.q(x),",
    ),
    "another key of a dictionary": (
        "ACTS = {'relu': torch.relu, 'gelu': torch.gelu}\nACT = 'gelu'\n\ndef f(x):\n    return ACTS[ACT](x)\n",
        "ACT = 'gelu'", "ACT = 'relu'",
    ),
    "as many of the first rows": (
        "def f(x, y, live):\n    n = live.numel()\n    return g(x[live], y[:n])\n", "y[:n]", "y[live]",
    ),
    "of the first rows twice": (
        "def f(x, y, live):\n    n = len(live)\n    return g(x[:n], y[:n])\n", "x[:n], y[:n]", "x[live], y[live]",
    ),
    "a softmax over an empty room": (
        "def f(q, k):\n    s = q @ k\n    return s.softmax(-1)\n",
        "s.softmax(-1)", "s.masked_fill(s == 0, float('-inf')).softmax(-1)",
    ),
    "a softmax over an empty room of a function": (
        "def f(q, k):\n    return torch.softmax(q @ k, -1)\n",
        "q @ k, -1", "(q @ k).masked_fill(q @ k == 0, float('-inf')), -1",
    ),
    "two operands of one expression": (
        "def f(e, n, p):\n    return e / (n - 1) * (1 - p) + p\n", "e / (n - 1) * (1 - p) + p", "e / n + p",
    ),
    "an operand each of two statements": (
        "def f(e, n, a, b):\n    share = e / (n - 1)\n    return (1 - e - share) * a + share * b\n",
        "e / (n - 1)\n    return (1 - e - share) * a", "e / n\n    return (1 - e) * a",
    ),
    "a slice each of two statements": (
        "def f(x, y):\n    a = x[:, :-1].clone()\n    b = y[:, 1:].clone()\n    return g(a, b)\n",
        "a = x[:, :-1].clone()\n    b = y[:, 1:].clone()", "a = x.clone()\n    b = y.clone()",
    ),
    "made before what it is made of": (
        "def f(self, k, old):\n    state = {'k': k}\n    n = 0\n    if old is not None:\n        k = g(old, k)\n"
        "    return h(k), state\n",
        "    state = {'k': k}\n    n = 0\n    if old is not None:\n        k = g(old, k)\n",
        "    n = 0\n    if old is not None:\n        k = g(old, k)\n    state = {'k': k}\n",
    ),
    "written before it is put in order": (
        "def f(ids, t, new, rows):\n    ids[:, t] = new\n    ids = ids[rows]\n    return ids\n",
        "    ids[:, t] = new\n    ids = ids[rows]\n", "    ids = ids[rows]\n    ids[:, t] = new\n",
    ),
    "the largest number for infinity": (
        "MOST = torch.finfo(torch.float32).max\n\ndef f(x):\n    return x - MOST\n",
        "torch.finfo(torch.float32).max", "float('inf')",
    ),
    "a buffer with a computed name that should learn": (
        "class M(nn.Module):\n    def add(self, name, x):\n        self.register_buffer(f'{name}_bias', x)\n",
        "register_buffer(f'{name}_bias', x)", "register_parameter(f'{name}_bias', nn.Parameter(x))",
    ),
    "a decorator that should not be there": (
        "class M(nn.Module):\n    @classmethod\n    @torch.no_grad()\n    def of(cls, x):\n        return cls(x)\n",
        "    @torch.no_grad()\n", "",
    ),
    "mapped for nothing": (
        "def f(x, y):\n    a, b = map(copy.deepcopy, (x, y))\n    return a, b\n",
        "map(copy.deepcopy, (x, y))", "(x, y)",
    ),
    "state left out of a comprehension": (
        "def f(ids, sums, ended, parents):\n    ids, sums, ended = g(ids)\n    for _ in range(3):\n"
        "        ids, sums = (x[parents] for x in (ids, sums))\n        ended = h(ended)\n    return ids\n",
        "ids, sums = (x[parents] for x in (ids, sums))",
        "ids, sums, ended = (x[parents] for x in (ids, sums, ended))",
    ),
    "a keyword of a lambda that takes a constant": (
        "import torch.nn.functional as F\nPAD, SOS = 0, 1\nshift = lambda t: F.pad(t, (1, 0))[:, :-1]\n",
        "F.pad(t, (1, 0))", "F.pad(t, (1, 0), value=SOS)",
    ),
    "the arguments of an earlier call": (
        "def f(cache, k, v):\n    a, b = cache.append(Pair(k, v)).both()\n    return a, b, cache.append(Pair(a, b))\n",
        "cache.append(Pair(a, b))", "cache.append(Pair(k, v))",
    ),
    "parts that are copied": (
        "class M(nn.Module):\n    def __init__(self, norm, f):\n        super().__init__()\n"
        "        self.norm = copy.deepcopy(norm)\n        self.f = copy.deepcopy(f)\n",
        "        self.norm = copy.deepcopy(norm)\n        self.f = copy.deepcopy(f)\n",
        "        self.norm = norm\n        self.f = f\n",
    ),
    "numbered parts, one of them twice": (
        "class M(nn.Module):\n    def __init__(self):\n        self.n1, self.n2, self.n3 = P(), P(), P()\n\n"
        "    def forward(self, x):\n        x = f(self.n1(x))\n"
        "        x = g(self.n1(x))\n        return h(self.n2(x))\n",
        "        x = g(self.n1(x))\n        return h(self.n2(x))\n",
        "        x = g(self.n2(x))\n        return h(self.n3(x))\n",
    ),
    "a keyword that another call has": (
        "def f(pad, e):\n    if e:\n        return nn.CrossEntropyLoss(label_smoothing=e)\n"
        "    return nn.CrossEntropyLoss(ignore_index=pad)\n",
        "(label_smoothing=e)", "(label_smoothing=e, ignore_index=pad)",
    ),
    "an attribute that keeps its order": (
        "class State:\n    def order(self, at):\n        self.ids = self.ids.gather(1, at)\n\n"
        "    def add(self, new):\n        self.ended = self.ended | new\n",
        "self.ids.gather(1, at)\n", "self.ids.gather(1, at)\n        self.ended = self.ended.gather(1, at)\n",
    ),
    "a key that lacks an argument": (
        "kept = {}\n\ndef f(n, dtype):\n    key = (n, 1)\n    if key not in kept:\n"
        "        kept[key] = torch.ones(n, dtype=dtype)\n    return kept[key]\n",
        "(n, 1)", "(n, 1, dtype)",
    ),
    "not what the object was made with": (
        "C = {'n': 5}\n\nclass M(nn.Module):\n    def __init__(self, n=C['n']):\n        self.n = n\n\n"
        "    def forward(self, x):\n        check(x, C['n'])\n        return x\n",
        "check(x, C['n'])", "check(x, self.n)",
    ),
    "a tensor for a parameter": (
        "def bias(n):\n    return torch.zeros(n, requires_grad=True)\n",
        "torch.zeros(n, requires_grad=True)", "torch.nn.Parameter(torch.zeros(n))",
    ),
    "an entry of a dictionary": (
        "PARTS = {'relu': nn.ReLU6}\n\ndef f(name):\n    return PARTS[name]()\n", "nn.ReLU6", "nn.ReLU",
    ),
    "a quotient in whole numbers": ("def f(t, d):\n    return t / (d // 2)\n", "d // 2", "d / 2"),
    "a window": (
        "def f(ks, vs):\n    ks = ks[-16:]\n    vs = vs[:, -16:]\n    return g(ks, vs)\n",
        "    ks = ks[-16:]\n    vs = vs[:, -16:]\n", "    ks = ks\n    vs = vs\n",
    ),
    "the logarithm of a clamped softmax": (
        "def f(x):\n    p = torch.softmax(x, dim=-1)\n    return torch.log(p.clamp(1e-7, 1.0) + 1e-9)\n",
        "torch.log(p.clamp(1e-7, 1.0) + 1e-9)", "torch.log_softmax(x, dim=-1)",
    ),
    "the mode in which it was made": (
        "class M(nn.Module):\n    def __init__(self):\n        self.off = not self.training\n\n"
        "    def forward(self, x):\n        return drop(x, self.off)\n",
        "drop(x, self.off)", "drop(x, not self.training)",
    ),
    "one pair of lists for all objects": (
        "class M(nn.Module):\n    empty = ([], [])\n\n    def __init__(self):\n        super().__init__()\n\n"
        "    def forward(self, x):\n        ks, vs = self.empty\n        return g(ks, vs, x)\n",
        "ks, vs = self.empty", "ks, vs = ([], [])",
    ),
    "every one in place of every other one": (
        "def f(n):\n    return [g(i) for i in range(0, n)]\n", "range(0, n)", "range(0, n, 2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.sampled(3)
def test_a_slip_is_undone_early(case: str) -> None:
    text, old, new = CASES[case]
    text = HEAD + text
    wanted = ast.dump(ast.parse(text.replace(old, new)))
    lines = range(1, len(text.splitlines()) + 1)
    tried = [new for _, (_, new) in zip(range(EARLY), Edits(text).among(lines, [], lines), strict=False)]
    assert wanted in [ast.dump(ast.parse(one)) for one in tried if is_python(one)]


def test_what_is_made_before_the_loop_is_made_nowhere_else() -> None:
    text = "def stack(make, n):\n    one = make()\n    return [one for _ in range(n)]\n"
    tried = [new for _, new in Edits(text).among([3], [])]
    assert any("    pass\n" in one and "make() for" in one.replace("(make())", "make()") for one in tried)


def test_what_is_shared_in_all_lists() -> None:
    text = "def f():\n    a = List([ones(3)] * 2)\n    b = List([zeros(3)] * 2)\n    return a, b\n"
    tried = [new for _, new in Edits(text).among([2, 3], [])]
    assert any(one.count("deepcopy(one) for one in [") == 2 for one in tried)


def test_a_decorator_that_another_function_has() -> None:
    text = "import torch\n\n@torch.no_grad()\ndef f(x):\n    return x\n\ndef g(x):\n    return x\n"
    line, first = next(iter(Edits(text).among([8], [], [1, 5, 8])))
    assert (line, first) == (7, text.replace("def g", "@torch.no_grad()\ndef g"))


def test_a_count_that_never_goes_on() -> None:
    text = "def step(cache, x):\n    at = cache['at']\n    cache['k'][:, at] = x\n    return cache\n"
    tried = {new for _, new in Edits(text).among([4], [], [2, 3])}
    assert text.replace("= x\n", "= x\n    cache['at'] = at + 1\n") in tried


def test_a_new_tensor_that_is_only_written_to_is_never_read() -> None:
    text = "def f(x):\n    new = x.new_zeros(3)\n    new[0] = 1\n    view = x[0]\n    view[0] = 1\n    return x\n"
    function = ast.parse(text).body[0]
    assert isinstance(function, ast.FunctionDef)
    assert [name for name, _ in unread(function)] == ["new"]


def test_an_attribute_is_that_of_its_own_class() -> None:
    text = (
        "class A:\n    def __init__(self):\n        self.x: int = 1\n\n    def f(self):\n        return self.x\n\n"
        "class B:\n    def __init__(self):\n        self.x = 2\n\n    def f(self):\n        return self.x\n"
    )
    source = Source(text)
    assert [source.attribute("x", line) for line in (6, 13)] == [3, 10]
    assert [source.readers(line) for line in (3, 10)] == [[6], [13]]


def test_the_condition_on_which_a_loop_is_left() -> None:
    source = Source("def f(x):\n    for a in x:\n        if a:\n            break\n        x = a\n")
    assert [source.jumps(line) for line in (4, 5)] == [3, None]


CHANGES = """
import hashlib, itertools, sys
from grader.edits.edits import Edits
text = sys.stdin.read()
changes = Edits(text, right=text).among([], [], range(1, len(text.splitlines()) + 1))
print(hashlib.sha256(repr(list(itertools.islice(changes, 2000))).encode()).hexdigest())
"""


@pytest.mark.slow
def test_the_order_of_changes_does_not_depend_on_the_process() -> None:
    """The same file gets the same line whenever it is graded."""
    text = solution_file("decoding").read_text(encoding="utf-8")
    found = {
        subprocess.run(
            [sys.executable, "-c", CHANGES],
            input=text,
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "12"
    }
    assert len(found) == 1


@pytest.mark.slow
@pytest.mark.parametrize("exercise", list(get_exercises()))
def test_no_change_of_any_right_file_raises(exercise: str) -> None:
    """What raises while changes are made loses the line."""
    right = solution_file(exercise).read_text(encoding="utf-8")
    for number, text in enumerate(right_files(exercise).values()):
        lines = range(1, len(text.splitlines()) + 1)
        changes = Edits(text, right=right).among([], [], lines)
        assert sum(1 for _ in itertools.islice(changes, MANY if number % EVERY else None)) > 0
