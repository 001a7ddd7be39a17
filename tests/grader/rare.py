"""Mistakes that few inputs show: one change each to the solution, as (exercise, what, old, new).

A limit that is built in, a number of the first row or position that is used for all, dropout that is one and the same
along some axis, a state of torch that is changed for good.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests import solution_file

Change = tuple[str, str, str, str]

ATTENTION = "attention"
WEIGHTS = "    weights = attention_weights(query, key, mask)\n    return weights @ value, weights"
HEADS = "heads = self.dropout(weights) @ v "
SCORES = "    if mask is None:\n        return scores.softmax(dim=-1)"
KEEP = "    keep = mask if mask.dtype == torch.bool else mask == 0"


def _dropped(name: str, dims: str) -> str:
    """`name` dropped by a mask that is 1 wide along some dims."""
    return (
        f"(lambda t: t * torch.nn.functional.dropout(torch.ones_like(t{dims}), self.dropout.p, self.training))({name})"
    )


SIZES: tuple[Change, ...] = (
    # attention
    ("attention", "no more than 64 keys", SCORES, "    scores[..., 64:] = -1e9\n" + SCORES),
    ("attention", "no more than 8 keys", SCORES, "    scores[..., 8:] = -1e9\n" + SCORES),
    ("attention", "no more than 16 queries", WEIGHTS, WEIGHTS.replace("mask)\n", "mask)\n    weights = weights.clone()\n    weights[..., 16:, :] = 0\n")),
    (
        "attention", "a window of 8 positions", SCORES,
        "    near = (torch.arange(query.size(-2), device=query.device)[:, None] - torch.arange(key.size(-2), device=query.device)).abs() < 8\n"
        "    scores = scores.masked_fill(~near, -1e9)\n" + SCORES,
    ),
    ("attention", "the mask of the first sentence for all", KEEP, KEEP + "\n    keep = keep[:1] if keep.dim() == 4 else keep"),
    ("attention", "the mask of the first head for all", KEEP, KEEP + "\n    keep = keep[:, :1] if keep.dim() == 4 else keep"),
    ("attention", "the mask of the first query for all", KEEP, KEEP + "\n    keep = keep[..., :1, :] if keep.dim() == 4 and not keep[..., :1, :].all() and keep.size(-2) > 8 else keep"),
    ("attention", "scores cut at 50", SCORES, "    scores = scores.clamp(-50, 50)\n" + SCORES),
    ("attention", "scores cut at 10", SCORES, "    scores = scores.clamp(-10, 10)\n" + SCORES),
    ("attention", "dropout the same in every sentence", "self.dropout(weights)", _dropped("weights", "[:1]")),
    ("attention", "dropout the same in every head", "self.dropout(weights)", _dropped("weights", "[:, :1]")),
    ("attention", "dropout the same for every query", "self.dropout(weights)", _dropped("weights", "[:, :, :1]")),
    ("attention", "dropout the same for every key", "self.dropout(weights)", _dropped("weights", "[..., :1]")),
    ("attention", "dropout of the first key only", "heads = self.dropout(weights) @ v", "heads = torch.cat([self.dropout(weights[..., :1]), weights[..., 1:]], -1) @ v"),
    # masks
    ("masks", "causal up to 8", "size, size, dtype=torch.bool, device=device).tril()", "size, size, dtype=torch.bool, device=device).tril() & (torch.arange(size, device=device) < 8)"),
    ("masks", "causal up to 64", "size, size, dtype=torch.bool, device=device).tril()", "size, size, dtype=torch.bool, device=device).tril() & (torch.arange(size, device=device) < 64)"),
    ("masks", "causal up to 512", "size, size, dtype=torch.bool, device=device).tril()", "size, size, dtype=torch.bool, device=device).tril() & (torch.arange(size, device=device) < 512)"),
    ("masks", "causal in a window of 8", "device=device).tril()", "device=device).tril().triu(-7)"),
    ("masks", "causal in a window of 64", "device=device).tril()", "device=device).tril().triu(-63)"),
    ("masks", "no padding beyond 8", "(tokens != pad)[:, None, None, :]", "((tokens != pad) | (torch.arange(tokens.size(1), device=tokens.device) >= 8))[:, None, None, :]"),
    ("masks", "no padding beyond 64", "(tokens != pad)[:, None, None, :]", "((tokens != pad) | (torch.arange(tokens.size(1), device=tokens.device) >= 64))[:, None, None, :]"),
    ("masks", "the first sentence for all", "(tokens != pad)[:, None, None, :]", "(tokens != pad)[:1, None, None, :].expand(len(tokens), 1, 1, -1)"),
    ("masks", "padded queries blocked", "& padding_mask(tokens, pad)", "& padding_mask(tokens, pad) & padding_mask(tokens, pad).transpose(-2, -1)"),
    ("masks", "ids in 8 bits", "(tokens != pad)[:, None, None, :]", "(tokens.to(torch.uint8) != pad)[:, None, None, :]"),
    ("masks", "ids in half precision", "(tokens != pad)[:, None, None, :]", "(tokens.half() != pad)[:, None, None, :]"),
    ("masks", "ids greater than PAD", "(tokens != pad)[:, None, None, :]", "(tokens > pad)[:, None, None, :]"),
    ("masks", "additive of the first row for all", "masked_fill(~mask, -torch.inf)", "masked_fill(~mask[:1], -torch.inf)"),
    ("masks", "additive up to 8", "masked_fill(~mask, -torch.inf)", "masked_fill(~mask & (torch.arange(mask.size(-1), device=mask.device) < 8), -torch.inf)"),
    ("masks", "additive up to 64", "masked_fill(~mask, -torch.inf)", "masked_fill(~mask & (torch.arange(mask.size(-1), device=mask.device) < 64), -torch.inf)"),
    # positions
    ("positions", "sinusoids up to 64", "        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass", "        return x + torch.cat([self.table[:64], 0 * self.table[64:]])[: x.size(1)]\n\n\nclass"),
    ("positions", "sinusoids that begin again after 64", "torch.arange(max_len, dtype=torch.float64)", "(torch.arange(max_len, dtype=torch.float64) % 64)"),
    ("positions", "sinusoids that begin again after 512", "torch.arange(max_len, dtype=torch.float64)", "(torch.arange(max_len, dtype=torch.float64) % 512)"),
    ("positions", "sinusoids of the first 8 columns", "table[:, 0::2] = angle.sin()", "table[:, 0::2] = angle.sin() * (even < 8)"),
    ("positions", "sinusoids of the first 16 columns", "table[:, 0::2] = angle.sin()", "table[:, 0::2] = angle.sin() * (even < 16)"),
    ("positions", "sinusoids of the first 64 columns", "table[:, 0::2] = angle.sin()", "table[:, 0::2] = angle.sin() * (even < 64)"),
    ("positions", "sinusoids for the first sentence only", "        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass", "        return torch.cat([x[:1] + self.table[: x.size(1)], x[1:]])\n\n\nclass"),
    ("positions", "sinusoids for 4 sentences", "        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass", "        return torch.cat([x[:4] + self.table[: x.size(1)], x[4:]])\n\n\nclass"),
    ("positions", "learned rows up to 64", "self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))", "self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))\n        self.most = 64").__class__(("positions", "learned rows up to 64", "max_len, d_model))\n\n    def forward(self, x: Tensor) -> Tensor:\n        \"\"\"x [B, T, D] -> x + rows 0 .. T-1 of the table, [B, T, D]. Raises ValueError if T > max_len.\"\"\"\n", "max_len, d_model))\n\n    def forward(self, x: Tensor) -> Tensor:\n        if x.size(1) > 64:\n            return torch.cat([x[:, :64] + self.table[:64], x[:, 64:]], 1)\n")),
    ("positions", "T beyond 5000 whatever max_len", "        check_length(x.size(1), self.table.size(0))\n        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass", "        check_length(x.size(1), min(5000, self.table.size(0)))\n        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass"),
    # feedforward
    ("feedforward", "ReLU6", ".relu()", ".clamp(0, 6)"),
    ("feedforward", "ReLU up to 20", ".relu()", ".clamp(0, 20)"),
    ("feedforward", "ReLU up to 100", ".relu()", ".clamp(0, 100)"),
    ("feedforward", "ReLU up to 10000", ".relu()", ".clamp(0, 1e4)"),
    ("feedforward", "positions beyond 8 pass by", "        return output", "        return torch.cat([output[:, :8], x[:, 8:]], 1)"),
    ("feedforward", "positions beyond 64 pass by", "        return output", "        return torch.cat([output[:, :64], x[:, 64:]], 1)"),
    ("feedforward", "positions beyond 512 pass by", "        return output", "        return torch.cat([output[:, :512], x[:, 512:]], 1)"),
    ("feedforward", "the first row for all", "        return output", "        return output[:1].expand_as(x)"),
    ("feedforward", "dropout the same at every position", "self.dropout(self.up(x).relu())", _dropped("self.up(x).relu()", "[:, :1]")),
    ("feedforward", "dropout the same in every sentence", "self.dropout(self.up(x).relu())", _dropped("self.up(x).relu()", "[:1]")),
    ("feedforward", "dropout of whole vectors", "self.dropout(self.up(x).relu())", _dropped("self.up(x).relu()", "[..., :1]")),
    ("feedforward", "dropout the same in every call", "self.dropout(self.up(x).relu())", "(lambda h: h * (torch.rand(h.shape, generator=torch.Generator().manual_seed(0)) >= self.dropout.p) / (1 - self.dropout.p) if self.training and self.dropout.p else h)(self.up(x).relu())"),
    ("feedforward", "dropout of the first sentence only", "self.dropout(self.up(x).relu())", "(lambda h: torch.cat([self.dropout(h[:1]), h[1:]]))(self.up(x).relu())"),
    # norm
    ("norm", "positions beyond 8 pass by", "        return (self.gain * normed + self.bias).to(x.dtype)", "        out = (self.gain * normed + self.bias).to(x.dtype)\n        return torch.cat([out[..., :8, :], x[..., 8:, :]], -2) if x.dim() > 1 else out"),
    ("norm", "positions beyond 64 pass by", "        return (self.gain * normed + self.bias).to(x.dtype)", "        out = (self.gain * normed + self.bias).to(x.dtype)\n        return torch.cat([out[..., :64, :], x[..., 64:, :]], -2) if x.dim() > 1 else out"),
    ("norm", "columns beyond 8 not normed", "        normed = centred * torch.rsqrt(variance + self.eps)", "        normed = centred * torch.rsqrt(variance + self.eps)\n        normed = torch.cat([normed[..., :8], wide[..., 8:]], -1)"),
    ("norm", "columns beyond 64 not normed", "        normed = centred * torch.rsqrt(variance + self.eps)", "        normed = centred * torch.rsqrt(variance + self.eps)\n        normed = torch.cat([normed[..., :64], wide[..., 64:]], -1)"),
    ("norm", "variance no larger than 1e6", "torch.rsqrt(variance + self.eps)", "torch.rsqrt(variance.clamp(max=1e5) + self.eps)"),
    ("norm", "normed numbers cut at 3", "centred * torch.rsqrt(variance + self.eps)", "(centred * torch.rsqrt(variance + self.eps)).clamp(-3, 3)"),
    ("norm", "normed numbers cut at 2.7", "centred * torch.rsqrt(variance + self.eps)", "(centred * torch.rsqrt(variance + self.eps)).clamp(-2.7, 2.7)"),
    ("norm", "the statistics of the first row for all", "wide.mean(dim=-1, keepdim=True)", "wide.mean(dim=-1, keepdim=True)[:1]"),
    ("norm", "pre: dropout the same at every position", "x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs))", "x + " + _dropped("self.sublayer(self.norm(x), *args, **kwargs)", "[:, :1]")),
    ("norm", "pre: dropout the same in every sentence", "x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs))", "x + " + _dropped("self.sublayer(self.norm(x), *args, **kwargs)", "[:1]")),
    ("norm", "post: dropout the same at every position", "self.dropout(self.sublayer(x, *args, **kwargs))", _dropped("self.sublayer(x, *args, **kwargs)", "[:, :1]")),
    ("norm", "post: dropout the same in every sentence", "self.dropout(self.sublayer(x, *args, **kwargs))", _dropped("self.sublayer(x, *args, **kwargs)", "[:1]")),
    # loss
    ("loss", "no more than 8 positions", "    wide = logits", "    logits, target = logits[:, :8], target[:, :8]\n    wide = logits"),
    ("loss", "no more than 64 positions", "    wide = logits", "    logits, target = logits[:, :64], target[:, :64]\n    wide = logits"),
    ("loss", "no more than 5 sentences", "    wide = logits", "    logits, target = logits[:5], target[:5]\n    wide = logits"),
    ("loss", "no more than 16 ids", "    wide = logits", "    logits = logits[..., :16] if int(target.max()) < 16 else logits\n    wide = logits"),
    ("loss", "no more than 64 ids", "    wide = logits", "    logits = logits[..., :64] if int(target.max()) < 64 else logits\n    wide = logits"),
    ("loss", "logits cut at 100", "    wide = logits", "    logits = logits.clamp(-100, 100)\n    wide = logits"),
    ("loss", "loss no larger than 100", "    return loss.to", "    loss = loss.clamp(max=100)\n    return loss.to"),
    ("loss", "shift of 8 positions", "target[:, :-1]], dim=1)", "target[:, :-1]], dim=1)[:, :8]"),
    ("loss", "shift of 64 positions", "target[:, :-1]], dim=1)", "target[:, :-1]], dim=1)[:, :64]"),
    ("loss", "shift in 8 bits", "target[:, :-1]], dim=1)", "target[:, :-1]], dim=1).to(torch.int8).to(target.dtype)"),
    # kv_cache
    ("kv_cache", "a window of 8 positions", "            v = torch.cat([cache[1], v], dim=2)", "            v = torch.cat([cache[1], v], dim=2)\n            k, v = k[:, :, -8:], v[:, :, -8:]"),
    ("kv_cache", "a window of 16 positions", "            v = torch.cat([cache[1], v], dim=2)", "            v = torch.cat([cache[1], v], dim=2)\n            k, v = k[:, :, -16:], v[:, :, -16:]"),
    ("kv_cache", "a window of 64 positions", "            v = torch.cat([cache[1], v], dim=2)", "            v = torch.cat([cache[1], v], dim=2)\n            k, v = k[:, :, -64:], v[:, :, -64:]"),
    ("kv_cache", "the first 64 positions", "            v = torch.cat([cache[1], v], dim=2)", "            v = torch.cat([cache[1], v], dim=2)\n            k, v = k[:, :, :64], v[:, :, :64]"),
    ("kv_cache", "the cache of the first sentence for all", "k = torch.cat([cache[0], k], dim=2)", "k = torch.cat([cache[0][:1].expand_as(cache[0]), k], dim=2)"),
    ("kv_cache", "scores cut at 10", "(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)))", "(q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).clamp(-10, 10)"),
    # decoding
    ("decoding", "greedy: no more than 8 ids", "    for _ in range(max_len):\n        token", "    for _ in range(min(8, max_len)):\n        token"),
    ("decoding", "greedy: no more than 16 ids", "    for _ in range(max_len):\n        token", "    for _ in range(min(16, max_len)):\n        token"),
    ("decoding", "greedy: no more than 64 ids", "    for _ in range(max_len):\n        token", "    for _ in range(min(64, max_len)):\n        token"),
    ("decoding", "greedy: the model sees 8 ids", "model.decode(tgt, memory, src)[:, -1].argmax", "model.decode(tgt[:, -8:], memory, src)[:, -1].argmax"),
    ("decoding", "beam: no more than 8 ids", "    for _ in range(max_len):\n        candidates", "    for _ in range(min(8, max_len)):\n        candidates"),
    ("decoding", "beam: no more than 16 ids", "    for _ in range(max_len):\n        candidates", "    for _ in range(min(16, max_len)):\n        candidates"),
    ("decoding", "beam: no more than 4 hypotheses", "    memory = model.encode(src)  # type: ignore[operator]  # [1, S, D]\n", "    memory = model.encode(src)\n    beam = min(beam, 4)\n"),
    ("decoding", "greedy: no more than 5 sentences", "    memory = model.encode(src)  # type: ignore[operator]  # [B, S, D]\n", "    src = src[:5]\n    memory = model.encode(src)\n"),
    ("decoding", "beam: the memory of the first sentence for all", "    rows = [\n        _search_one(model, src[i : i + 1]", "    rows = [\n        _search_one(model, src[min(i, 5) : min(i, 5) + 1]"),
    # training
    ("training", "noam: no step beyond 200000", "min(step**-0.5, step * warmup**-1.5)", "min(min(step, 200000)**-0.5, step * warmup**-1.5)"),
    ("training", "noam: no rate below 1e-5", "return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))", "return max(1e-5, float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)))"),
    ("training", "noam: no rate below 1e-6", "return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))", "return max(1e-6, float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)))"),
    ("training", "noam: no rate above 0.1", "return float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5))", "return min(0.1, float(d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)))"),
    ("training", "words: no more than 16 letters", "for letter in word] for word in words]", "for letter in word[:16]] for word in words]"),
    ("training", "words: no more than 32 letters", "for letter in word] for word in words]", "for letter in word[:32]] for word in words]"),
    ("training", "words: no more than 64 letters", "for letter in word] for word in words]", "for letter in word[:64]] for word in words]"),
    ("training", "words: no more than 8 words", "for word in words]\n    return", "for word in words[:8]]\n    return"),
    ("training", "words: no more than 64 words", "for word in words]\n    return", "for word in words[:64]]\n    return"),
    ("training", "step: no more than 16 positions", "    model.train()\n", "    model.train()\n    src, tgt = src[:, :16], tgt[:, :16]\n"),
    ("training", "step: no more than 8 positions", "    model.train()\n", "    model.train()\n    src, tgt = src[:, :8], tgt[:, :8]\n"),
    ("training", "step: no more than 4 sentences", "    model.train()\n", "    model.train()\n    src, tgt = src[:4], tgt[:4]\n"),
    ("training", "step: no more than 64 sentences", "    model.train()\n", "    model.train()\n    src, tgt = src[:64], tgt[:64]\n"),
    ("training", "step: gradients no longer than 100", "    optimizer.step()", "    torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)\n    optimizer.step()"),
    ("training", "step: gradients no longer than 10", "    optimizer.step()", "    torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)\n    optimizer.step()"),
    # transformer
    ("transformer", "causal in a window of 8", "device=tgt.device).tril()", "device=tgt.device).tril().triu(-7)"),
    ("transformer", "causal in a window of 64", "device=tgt.device).tril()", "device=tgt.device).tril().triu(-63)"),
    ("transformer", "no more than 8 of the source", "(tokens != self.pad)[:, None, None, :]", "((tokens != self.pad) & (torch.arange(tokens.size(1), device=tokens.device) < 8))[:, None, None, :]"),
    ("transformer", "no more than 64 of the source", "(tokens != self.pad)[:, None, None, :]", "((tokens != self.pad) & (torch.arange(tokens.size(1), device=tokens.device) < 64))[:, None, None, :]"),
    ("transformer", "the mask of the first sentence for all", "(tokens != self.pad)[:, None, None, :]", "(tokens != self.pad)[:1, None, None, :]"),
    ("transformer", "padded queries blocked", "tgt_mask = causal & self._padding_mask(tgt)", "tgt_mask = causal & self._padding_mask(tgt) & self._padding_mask(tgt).transpose(-2, -1)"),
    ("transformer", "padded queries of the source blocked", "self.encoder(x, self._padding_mask(src))", "self.encoder(x, self._padding_mask(src) & self._padding_mask(src).transpose(-2, -1))"),
    ("transformer", "logits cut at 30", "        return logits", "        return logits.clamp(-30, 30)"),
    ("transformer", "logits cut at 10", "        return logits", "        return logits.clamp(-10, 10)"),
    ("transformer", "logits of the first 8 ids", "        return logits", "        return torch.cat([logits[..., :8], 0 * logits[..., 8:]], -1)"),
    # encoder and decoder
    ("encoder", "no more than 6 layers", "for _ in range(num_layers)]", "for _ in range(min(3, num_layers))]"),
    ("encoder", "a window of 8: the rest passes by", "        for layer in self.layers:\n            x = layer(x, src_mask)", "        for layer in self.layers:\n            x = torch.cat([layer(x, src_mask)[:, :8], x[:, 8:]], 1)"),
    ("encoder", "layer: positions beyond 8 pass by", "            x = x + self.dropout(self.feed_forward(self.norm2(x)))", "            x = torch.cat([x + self.dropout(self.feed_forward(self.norm2(x)))[:, :8], x[:, 8:]], 1) if x.size(1) > 8 else x + self.dropout(self.feed_forward(self.norm2(x)))"),
    ("encoder", "layer: positions beyond 64 pass by", "            x = x + self.dropout(self.feed_forward(self.norm2(x)))", "            x = x + self.dropout(self.feed_forward(self.norm2(x)))[:, :64].new_zeros(()).add(self.feed_forward(self.norm2(x))) * (torch.arange(x.size(1), device=x.device) < 64)[:, None]"),
    ("encoder", "dropout the same at every position", "x + self.dropout(self.feed_forward(self.norm2(x)))", "x + " + _dropped("self.feed_forward(self.norm2(x))", "[:, :1]")),
    ("encoder", "dropout the same in every sentence", "x + self.dropout(self.feed_forward(self.norm2(x)))", "x + " + _dropped("self.feed_forward(self.norm2(x))", "[:1]")),
    ("encoder", "dropout the same in both sublayers", "x + self.dropout(self.feed_forward(self.norm2(x)))", "x + (lambda y: y * self.kept if self.training else y)(self.feed_forward(self.norm2(x)))").__class__((
        "encoder", "dropout the same in both sublayers",
        "            x = x + self.dropout(self.self_attention(y, y, y, src_mask))\n            x = x + self.dropout(self.feed_forward(self.norm2(x)))",
        "            kept = self.dropout(torch.ones_like(x))\n            x = x + kept * self.self_attention(y, y, y, src_mask)\n            x = x + kept * self.feed_forward(self.norm2(x))",
    )),
    ("decoder", "no more than 3 layers", "for _ in range(num_layers)]", "for _ in range(min(3, num_layers))]"),
    ("decoder", "dropout the same at every position", "x + self.dropout(self.feed_forward(self.norm3(x)))", "x + " + _dropped("self.feed_forward(self.norm3(x))", "[:, :1]")),
    ("decoder", "dropout the same in every sentence", "x + self.dropout(self.cross_attention(self.norm2(x), memory, memory, src_mask))", "x + " + _dropped("self.cross_attention(self.norm2(x), memory, memory, src_mask)", "[:1]")),
    ("decoder", "memory of 8 positions", "            x = x + self.dropout(self.cross_attention(self.norm2(x), memory, memory, src_mask))", "            memory = torch.cat([memory[:, :8], 0 * memory[:, 8:]], 1) if memory.size(1) > 8 else memory\n            x = x + self.dropout(self.cross_attention(self.norm2(x), memory, memory, src_mask))"),
)  # fmt: skip

# A line of forward in which something can be done before, by exercise.
BEGINNINGS = {
    "attention": "        q, k, v = (\n",
    "masks": "    return (tokens != pad)",
    "positions": "        check_length(x.size(1), self.table.size(0))\n        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass",
    "feedforward": "        hidden = ",
    "norm": "        # bfloat16 has",
    "encoder": "        if self.pre:\n",
    "decoder": "        if self.pre:\n",
    "transformer": "        length = tgt.size(1)\n",
    "loss": "    wide = logits",
    "decoding": "    memory = model.encode(src)  # type: ignore[operator]  # [B, S, D]",
    "training": "    model.train()\n",
    "kv_cache": "        q, k, v = self._split",
}
STATES = {
    "gradients switched off": "torch.set_grad_enabled(False)",
    "another default dtype": "torch.set_default_dtype(torch.float64)",
    "another default device": 'torch.set_default_device("meta")',
    "another number of threads": "torch.set_num_threads(3)",
    "a seed of its own": "torch.manual_seed(0)",
    "anomaly mode": "torch.autograd.set_detect_anomaly(True)",
    "deterministic algorithms": "torch.use_deterministic_algorithms(True)",
    "autocast": 'torch.set_autocast_enabled("cpu", True)',
    "no_grad for good": "torch.no_grad().__enter__()",
}


def states() -> Iterator[Change]:
    """Each state of torch, changed in a call of each exercise."""
    for name, line in BEGINNINGS.items():
        for what, code in STATES.items():
            indent = line[: len(line) - len(line.lstrip())]
            yield name, what, line, f"{indent}import torch\n{indent}{code}\n{line}"


CHANGES = (*SIZES, *states())


def changed(change: Change) -> str:
    """The solution's text with the change in it."""
    name, what, old, new = change
    text = solution_file(name).read_text(encoding="utf-8")
    assert old in text, f"{name}, {what}"
    made = text.replace(old, new)
    return made if "import torch\n" in made else made.replace('"""\n\n', '"""\n\nimport torch\n', 1)
