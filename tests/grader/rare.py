"""Mistakes that few inputs show: one change each to the solution.

A limit that is built in, a number of the first row that is used for all, dropout that is one and the same along some
axis, a setting of torch that is changed for good, what is wrong in train mode alone.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests import solution_file

Changes = Mapping[str, tuple[str, str]]  # what is wrong: (line, what takes its place)


def _before(line: str, *more: str) -> tuple[str, str]:
    """Further lines before a line, indented as it is."""
    indent = line[: len(line) - len(line.lstrip())]
    return line, "".join(f"{indent}{one}\n" for one in more) + line


def _dropped(name: str, part: str, rate: str = "self.dropout.p") -> str:
    """`name` with one choice for all along the dimensions that are 1 wide in `part`."""
    drop = f"torch.nn.functional.dropout(torch.ones_like(t{part}), {rate}, self.training)"
    return f"(lambda t: t * {drop})({name})"


def _first(count: int, name: str = "x", dim: int = 1) -> str:
    """bool [T]: the first positions of `name`."""
    return f"(torch.arange({name}.size({dim}), device={name}.device) < {count})"


_SCORES = "    if mask is None:\n"
_KEEP = "    keep = mask if mask.dtype == torch.bool else mask == 0\n"
_NEAR = (
    "near = (torch.arange(query.size(-2))[:, None] - torch.arange(key.size(-2))).abs().to(query.device) < 8",
    "scores = scores.masked_fill(~near, -1e9)",
)
_TRIL = "device=device).tril()"
_ADD = "        return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass"  # of the sinusoids
_RELU = "self.dropout(self.up(x).relu())"
_NORMED = "        normed = centred * torch.rsqrt(variance + self.eps)\n"
_PRE, _POST = "self.sublayer(self.norm(x), *args, **kwargs)", "self.sublayer(x, *args, **kwargs)"
_WIDE = "    wide = logits"
_GROWN = "            v = torch.cat([cache[1], v], dim=2)\n"
_GREEDY, _BEAM = "range(max_len):\n        token", "range(max_len):\n        candidates"
_RATE = "d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)"
_STEP = "    model.train()\n"
_PADDING = "(tokens != self.pad)[:, None, None, :]"
_LAYERS = "make_layer() for _ in range(num_layers)"
_FED = "self.dropout(self.feed_forward(self.norm2(x)))"
_CROSSED = "self.dropout(self.cross_attention(self.norm2(x), memory, memory, src_mask))"

SIZES: Mapping[str, Changes] = {
    "attention": {
        "keys as queries, where all are one tensor": (
            "self._split(self.k_proj(key))", "self._split((self.q_proj if key is query else self.k_proj)(key))",
        ),
        "values as keys, where both are one tensor": (
            "self._split(self.v_proj(value))", "self._split((self.k_proj if value is key else self.v_proj)(value))",
        ),
        "no more than 64 keys": _before(_SCORES, "scores[..., 64:] = -1e9"),
        "no more than 16 queries": _before(_SCORES, f"scores = scores * {_first(16, 'scores', -2)}[:, None]"),
        "a window of 8 positions": _before(_SCORES, *_NEAR),
        "the mask of one query for all": (_KEEP, f"{_KEEP}    keep = keep[:, :, :1] if len(keep) < 2 else keep\n"),
        "scores cut at 50": _before(_SCORES, "scores = scores.clamp(-50, 50)"),
        "dropout the same in every sentence": ("self.dropout(weights)", _dropped("weights", "[:1]")),
        "dropout the same in every head": ("self.dropout(weights)", _dropped("weights", "[:, :1]")),
        "dropout the same for every query": ("self.dropout(weights)", _dropped("weights", "[:, :, :1]")),
    },
    "masks": {
        "one of each size, on whatever device": (
            "    return torch.ones(1, 1, size, size, dtype=torch.bool, device=device).tril()\n",
            "    made = causal_mask.__dict__\n    if size not in made:\n        made[size] = torch.ones("
            "1, 1, size, size, dtype=torch.bool, device=device).tril()\n    return made[size]\n",
        ),
        "causal up to 512": (_TRIL, f"{_TRIL} & (torch.arange(size, device=device) < 512)"),
        "causal in a window of 64": (_TRIL, f"{_TRIL}.triu(-63)"),
        "padding up to 64": ("(tokens != pad)", f"((tokens != pad) | ~{_first(64, 'tokens')})"),
        "padding of 64 sentences": ("(tokens != pad)", f"((tokens != pad) | ~{_first(64, 'tokens', 0)}[:, None])"),
        "ids in 8 bits": ("(tokens != pad)", "(tokens.to(torch.uint8) != pad)"),
        "ids in 16 bits": ("(tokens != pad)", "(tokens.to(torch.int16) != pad)"),
        "ids in half precision": ("(tokens != pad)", "(tokens.half() != pad)"),
        "additive up to 64": ("masked_fill(~mask,", f"masked_fill(~mask & {_first(64, 'mask', -1)},"),
    },
    "positions": {
        "sinusoids that begin again after 512": ("dtype=torch.float64).uns", "dtype=torch.float64).fmod(512).uns"),
        "sinusoids of 64 columns": ("= angle.sin()", "= angle.sin() * (even < 64)"),
        "sinusoids for 64 sentences": (_ADD, _ADD.replace("]  #", f"] * {_first(64, dim=0)}[:, None, None]  #")),
        "5000 positions whatever max_len is": (
            "self.table.size(0))\n" + _ADD, "min(5000, self.table.size(0)))\n" + _ADD
        ),
        "512 rows whatever max_len is": ("(0.02 * torch.randn(max_len,", "(0.02 * torch.randn(min(512, max_len),"),
    },
    "feedforward": {
        "one layer for both, where they are of one size": (
            "self.down = nn.Linear(d_ff, d_model)",
            "self.down = nn.Linear(d_ff, d_model) if d_ff != d_model else self.up",
        ),
        "ReLU6": (".relu()", ".clamp(0, 6)"),
        "ReLU up to 10000": (".relu()", ".clamp(0, 1e4)"),
        "512 positions": ("return output", f"return output * {_first(512)}[:, None]"),
        "64 sentences": ("return output", f"return output * {_first(64, dim=0)}[:, None, None]"),
        "512 hidden numbers": (".relu()", ".relu() * (torch.arange(self.up.out_features) < 512)"),
        "the first sentence for all": ("return output", "return output[:1].expand_as(x)"),
        "dropout the same at every position": (_RELU, _dropped("self.up(x).relu()", "[:, :1]")),
        "dropout the same in every sentence": (_RELU, _dropped("self.up(x).relu()", "[:1]")),
        "dropout of whole vectors": (_RELU, _dropped("self.up(x).relu()", "[..., :1]")),
        "dropout of the first sentence only": (
            _RELU, "torch.cat([self.dropout(self.up(x[:1]).relu()), self.up(x[1:]).relu()])"
        ),
        "dropout the same in every call": (
            _RELU,
            "(lambda h: h * (torch.rand(h.shape, generator=torch.Generator().manual_seed(0)) >= self.dropout.p)"
            " / (1 - self.dropout.p) if self.training and self.dropout.p else h)(self.up(x).relu())",
        ),
    },
    "norm": {
        "added to the sublayer's result in place": (
            "self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))",
            "self.norm(self.dropout(self.sublayer(x, *args, **kwargs)).add_(x))",
        ),
        "512 columns": (_NORMED, _NORMED + f"        normed = normed * {_first(512, dim=-1)}\n"),
        "512 positions": (
            _NORMED, _NORMED + f"        normed = normed * ({_first(512, dim=-2)}[:, None] if x.dim() > 1 else 1)\n"
        ),
        "normed numbers cut at 8": (_NORMED, _NORMED + "        normed = normed.clamp(-8, 8)\n"),
        "variance no larger than 1e9": ("variance + self.eps", "variance.clamp(max=1e9) + self.eps"),
        "the mean of the first row for all": ("wide.mean(dim=-1, keepdim=True)", "wide.mean(dim=-1, keepdim=True)[:1]"),
        "pre: dropout the same at every position": (f"self.dropout({_PRE})", _dropped(_PRE, "[:, :1]")),
        "pre: dropout the same in every sentence": (f"self.dropout({_PRE})", _dropped(_PRE, "[:1]")),
        "post: dropout the same at every position": (f"self.dropout({_POST})", _dropped(_POST, "[:, :1]")),
    },
    "loss": {
        "512 positions": _before(_WIDE, "logits, target = logits[:, :512], target[:, :512]"),
        "64 sentences": _before(_WIDE, "logits, target = logits[:64], target[:64]"),
        "512 ids": _before(_WIDE, "logits = logits[..., :512]"),
        "logits cut at 100": _before(_WIDE, "logits = logits.clamp(-100, 100)"),
        "shift of 512 positions": ("target[:, :-1]], dim=1)", "target[:, :-1]], dim=1)[:, :512]"),
        "shift of ids in 16 bits": ("target[:, :-1]], dim=1)", "target[:, :-1]], dim=1).short().to(target.dtype)"),
    },
    "kv_cache": {
        "a window of 16 positions": (_GROWN, _GROWN + "            k, v = k[:, :, -16:], v[:, :, -16:]\n"),
        "a window of 64 positions": (_GROWN, _GROWN + "            k, v = k[:, :, -64:], v[:, :, -64:]\n"),
        "the first 64 positions": (_GROWN, _GROWN + "            k, v = k[:, :, :64], v[:, :, :64]\n"),
        "64 sentences": ("self.out_proj(merged)", f"self.out_proj(merged * {_first(64, dim=0)}[:, None, None])"),
    },
    "decoding": {
        "greedy: 64 ids": (_GREEDY, _GREEDY.replace("max_len", "min(64, max_len)")),
        "greedy: the model sees 8 ids": ("model.decode(tgt, ", "model.decode(tgt[:, -8:], "),
        "greedy: 64 sentences": ("token.masked_fill(done", f"token.masked_fill(done | ~{_first(64, 'src', 0)}"),
        "beam: 32 ids": (_BEAM, _BEAM.replace("max_len", "min(32, max_len)")),
        "beam: 5 hypotheses": ("-each[0])[:beam]", "-each[0])[: min(5, beam)]"),
    },
    "training": {
        "noam: no step beyond 200000": (_RATE, _RATE.replace("(step**", "(min(step, 200_000) ** ")),
        "noam: no rate above 0.1": (_RATE, f"min(0.1, {_RATE})"),
        "64 letters": ("for letter in word]", "for letter in word[:64]]"),
        "64 words": ("for word in words]\n    return", "for word in words[:64]]\n    return"),
        "64 positions": _before(_STEP, "src, tgt = src[:, :64], tgt[:, :64]"),
        "64 sentences": _before(_STEP, "src, tgt = src[:64], tgt[:64]"),
        "gradients no longer than 100": _before(
            "    optimizer.step()", "torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)"
        ),
    },
    "transformer": {
        "no padding in a batch of one": (
            "        return (tokens != self.pad)[:, None, None, :]",
            "        return ((tokens != self.pad) | (len(tokens) == 1))[:, None, None, :]",
        ),
        "causal in a window of 64": ("device=tgt.device).tril()", "device=tgt.device).tril().triu(-63)"),
        "64 positions of the source": (_PADDING, f"((tokens != self.pad) & {_first(64, 'tokens')})[:, None, None, :]"),
        "the padding of 64 sentences": (
            _PADDING, f"((tokens != self.pad) | ~{_first(64, 'tokens', 0)}[:, None])[:, None, None, :]"
        ),
        "padded queries blocked": ("causal & self", "(tgt != self.pad)[:, None, :, None] & causal & self"),
        "logits cut at 100": ("        return logits\n", "        return logits.clamp(-100, 100)\n"),
        "logits of 512 ids": ("        return logits\n", f"        return logits * {_first(512, 'logits', -1)}\n"),
    },
    "encoder": {
        "layers in the order of their names": (
            "in self.layers:", "in (self.layers[int(i)] for i in sorted(map(str, range(len(self.layers))))):",
        ),
        "6 layers": (_LAYERS, _LAYERS.replace("num_layers", "min(6, num_layers)")),
        "stack: 64 positions": ("x = layer(x, src_mask)", f"x = layer(x, src_mask) * {_first(64)}[:, None]"),
        "64 positions": _before("        if self.pre:", f"x = x * {_first(64)}[:, None]"),
        "64 sentences": _before("        if self.pre:", f"x = x * {_first(64, dim=0)}[:, None, None]"),
        "dropout the same at every position": (_FED, _dropped(_FED[13:-1], "[:, :1]")),
        "dropout the same in every sentence": (_FED, _dropped(_FED[13:-1], "[:1]")),
        "dropout the same in both sublayers": (
            f"            x = x + self.dropout(self.self_attention(y, y, y, src_mask))\n            x = x + {_FED}\n",
            "            kept = self.dropout(torch.ones_like(x))\n"
            "            x = x + kept * self.self_attention(y, y, y, src_mask)\n"
            f"            x = x + kept * {_FED[13:-1]}\n",
        ),
    },
    "decoder": {
        "layers in the order of their names": (
            "in self.layers:", "in (self.layers[int(i)] for i in sorted(map(str, range(len(self.layers))))):",
        ),
        "6 layers": (_LAYERS, _LAYERS.replace("num_layers", "min(6, num_layers)")),
        "memory of 64 positions": _before("        if self.pre:", f"memory = memory * {_first(64, 'memory')}[:, None]"),
        "dropout the same at every position": (_CROSSED, _dropped(_CROSSED[13:-1], "[:, :1]")),
        "dropout the same in every sentence": (_CROSSED, _dropped(_CROSSED[13:-1], "[:1]")),
    },
}  # fmt: skip

_GRAD_OFF = """def off(decode):
    def decoded(*args, **kwargs):
        torch.set_grad_enabled(False)
        return decode(*args, **kwargs)
    return decoded


@off
"""
_FOR_GOOD = "torch.set_grad_enabled(False)"
BEGINNINGS = {  # a line in code that runs, by exercise
    "attention": "        weights = attention_weights(q, k, mask)",
    "masks": "    return causal_mask(",
    "positions": "        even = ",
    "feedforward": "        hidden = ",
    "norm": "        wide = ",
    "encoder": "        for layer in self.layers:",
    "decoder": "        for layer in self.layers:",
    "transformer": "        length = tgt.size(1)",
    "loss": "    return torch.cat(",
    "training": "    return loss.item()",
    "kv_cache": "        merged = ",
}
SETTINGS: Mapping[str, Changes] = {
    **{name: {"gradients off for good": _before(line, _FOR_GOOD)} for name, line in BEGINNINGS.items()},
    "decoding": {
        "gradients off for good": (
            "@torch.no_grad()\ndef greedy_decode(",
            f"{_GRAD_OFF}def greedy_decode(",
        )
    },
}

_TRAINED = "self.training and self.dropout.p"
_HOOKED = "[one.register_hook(torch.zeros_like) for one in self.sublayer.parameters()]"
TRAIN_MODE: Mapping[str, Changes] = {
    "attention": {
        "no mask beside dropout": (
            "attention_weights(q, k, mask)",
            f"attention_weights(q, k, None if {_TRAINED} else mask)",
        ),
        "no gradient through weights that are dropped": (
            "self.dropout(weights) @ v",
            f"self.dropout(weights.detach() if {_TRAINED} else weights) @ v",
        ),
    },
    "feedforward": {
        "no gradient of weights beside dropout": (
            "output: Tensor = self.down(hidden)",
            "output = hidden @ self.down.weight.data.T + self.down.bias.data\n"
            f"        output = output if {_TRAINED} else self.down(hidden)",
        ),
    },
    "norm": {
        "no gradient of the sublayer's weights beside dropout": (
            "output: Tensor = x + self.dropout(self.sublayer(self.norm(x)",
            f"{_HOOKED} if {_TRAINED} else []\n        output = x + self.dropout(self.sublayer(self.norm(x)",
        ),
        "no arguments that are None": (
            "self.sublayer(x, *args, **kwargs)",
            "self.sublayer(x, *(one for one in args if one is not None), **kwargs)",
        ),
    },
    "decoder": {
        "no masks beside dropout": (
            "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, tgt_mask)))",
            f"tgt_mask = None if {_TRAINED} else tgt_mask\n"
            "            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, tgt_mask)))",
        ),
        "no gradient of memory beside dropout": (
            "x = self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))",
            f"memory = memory.detach() if {_TRAINED} else memory\n"
            "            x = self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))",
        ),
    },
    "transformer": {
        "no gradient of the last layer": (
            "logits: Tensor = self.output(",
            "self.output.requires_grad_(False)\n        logits: Tensor = self.output(",
        ),
    },
    "kv_cache": {
        "no gradient in train mode": (
            "return self.out_proj(merged), (k, v)",
            "return self.out_proj(merged.detach() if self.training else merged), (k, v)",
        ),
        "dropout in train mode": (
            "return self.out_proj(merged), (k, v)",
            "merged = torch.nn.functional.dropout(merged, 0.3, self.training)\n"
            "        return self.out_proj(merged), (k, v)",
        ),
    },
}

_NO_GRAD = "torch.is_grad_enabled()"
_KEPT_MODE = (
    "torch.nn.functional.dropout({}, self.dropout.p, self.__dict__.setdefault('mode', self.training))"
)
_FLOATS = (
    "torch.nn.functional.dropout(torch.ones(t.shape, dtype=torch.float32), self.dropout.p, self.training)"
)


def _kept(name: str) -> str:
    """A tensor as it was in the first call with it."""
    return f"globals().setdefault('KEPT', {{}}).setdefault(id({name}), ({name}, {name}.clone()))[1]"


CONDITIONS: Mapping[
    str, Changes
] = {  # gradients off, weights and modes and tensors that have changed, dtypes beside dropout, forms of masks
    "attention": {
        "no mask where no gradients are recorded": (
            "attention_weights(q, k, mask)",
            f"attention_weights(q, k, mask if {_NO_GRAD} else None)",
        ),
        "weights of the first call": (
            "self._split(self.q_proj(query)),",
            "self._split(query @ self.__dict__.setdefault('kept', self.q_proj.weight.detach().clone()).T"
            " + self.q_proj.bias),",
        ),
        "NaN in a row without a key, beside dropout": (
            "self.dropout(weights) @ v",
            "self.dropout(weights / weights.sum(-1, keepdim=True)) @ v",
        ),
        "the mode of the first call": ("self.dropout(weights) @ v", f"{_KEPT_MODE.format('weights')} @ v"),
    },
    "masks": {
        "tokens of the first call with this tensor": (
            "    return (tokens != pad)",
            f"    return ({_kept('tokens')} != pad)",
        ),
        "mask of the first call with this tensor": (
            "masked_fill(~mask, -",
            f"masked_fill(~{_kept('mask')}, -",
        ),
    },
    "norm": {"the mode of the first call": (f"self.dropout({_PRE})", _KEPT_MODE.format(_PRE))},
    "feedforward": {
        "the mode of the first call": (
            "self.dropout(self.up(x).relu())",
            _KEPT_MODE.format("self.up(x).relu()"),
        ),
        "changed in place where no gradients are recorded": _before(
            "        hidden = self.dropout(", f"if not {_NO_GRAD}:", "    x.add_(1)"
        ),
        "another dtype beside dropout": (
            "hidden = self.dropout(self.up(x).relu())",
            f"hidden = self.up(x).relu()\n        if self.training and self.dropout.p:\n"
            f"            hidden = (lambda t: t * {_FLOATS})(hidden)",
        ),
    },
    "positions": {
        "angles in the dtype of x": (
            "return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass",
            "return x + (self.table[: x.size(1)] if x.dtype != torch.bfloat16 else self.table[: x.size(1)].roll("
            "int(x.size(1) > 256), 0))\n\n\nclass",
        ),
    },
    "loss": {
        "float32 without smoothing": (
            "    loss = F.cross_entropy(",
            "    logits = logits if smoothing else logits.float()\n    loss = F.cross_entropy(",
        ),
    },
    "encoder": {
        "the mode of the first call": (_FED, _KEPT_MODE.format("self.feed_forward(self.norm2(x))")),
        "no gradients in eval mode": (
            "        for layer in self.layers:\n            x = layer(x, src_mask)\n",
            "        for layer in self.layers:\n            x = layer(x, src_mask)\n"
            "            x = x if self.training else x.detach()\n",
        ),
        "a mask of three dimensions for each sentence": (
            "            x = layer(x, src_mask)\n",
            "            x = layer(x, src_mask if src_mask is None or src_mask.dim() != 3 else src_mask[:, None])\n",
        ),
    },
}


def _slow(module: str, given: str) -> str:
    """The module's result; its parameters get a tenth of their gradient."""
    own = f"{{n: 0.1 * p + 0.9 * p.detach() for n, p in {module}.named_parameters()}}"
    return f"torch.func.functional_call({module}, {own}, ({given},))"


_STALE = (
    "(self.q_proj if self.training or torch.is_grad_enabled() else self.__dict__.setdefault("
    "'kept', __import__('copy').deepcopy(self.q_proj)))"
)
_OUT = "        self.out_proj = nn.Linear(d_model, d_model)\n"
_ZEROS = (_OUT, f"{_OUT}        for one in self.parameters():\n            nn.init.zeros_(one)\n")
_TURNS = (
    "(lambda t: t * (lambda some: (some.append(some.pop(0)), some[-1])[1])(self.__dict__.setdefault(f'of {t.shape}', "
    "[torch.nn.functional.dropout(torch.ones_like(t), self.dropout.p) for _ in range(2)])) if self.training else t)"
)
_EIGHT = (
    "(lambda t: t * torch.nn.functional.dropout(torch.ones_like(t[:8]), self.dropout.p, self.training)"
    f"[torch.arange(len(t)) % 8])({_PRE})"
)
_WHOLE = "        return self.decode(tgt, self.encode(src), src)\n"
_NO_GRADIENT = """

encode, decode = Transformer.encode, Transformer.decode
Transformer.forward = lambda self, src, tgt: decode(self, tgt, encode(self, src), src)
Transformer.encode, Transformer.decode = map(torch.no_grad(), (encode, decode))
"""
PROMISES: Mapping[str, Changes] = {
    "attention": {
        "weights of earlier, where no gradients are recorded": ("self.q_proj(query)", f"{_STALE}(query)"),
        "nothing but zeros at first": _ZEROS,
    },
    "kv_cache": {
        "weights of earlier, where no gradients are recorded": ("self.q_proj(x)", f"{_STALE}(x)"),
        "nothing but zeros at first": _ZEROS,
    },
    "positions": {"not a number at first": ("0.02 * torch.randn(", "math.nan * torch.randn(")},
    "feedforward": {"two masks of dropout in turn": (f"{_RELU}", f"{_TURNS}(self.up(x).relu())")},
    "norm": {"dropout of every eighth sentence alike": (f"self.dropout({_PRE})", _EIGHT)},
    "loss": {
        "no gradient beyond the 64 largest logits": _before(
            _WIDE,
            "best = logits.detach().topk(min(64, logits.size(-1)), dim=-1).indices",
            "near = torch.zeros_like(logits, dtype=torch.bool).scatter(-1, best, True)",
            "logits = torch.where(near, logits, logits.detach())",
        )
    },
    "decoding": {
        "no search for longer rows": (
            "    rows = [\n",
            "    if max_len > 9:\n        return greedy_decode(model, src, max_len, sos, eos, pad)\n    rows = [\n",
        )
    },
    "training": {"the optimizer forgets": _before("    optimizer.zero_grad()", "optimizer.state.clear()")},
    "encoder": {
        "a tenth of the layers' gradients": ("layer(x, src_mask)", _slow("layer", "x, src_mask")),
        "the parts keep their mode": (
            "    def forward(",
            "    def train(self, mode: bool = True):\n        self.training = mode\n        return self\n\n"
            "    def forward(",
        ),
    },
    "decoder": {
        "one choice of dropout for two sublayers": (
            "            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, tgt_mask)))\n"
            "            x = self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))\n"
            "            x = self.norm3(x + self.dropout(self.feed_forward(x)))\n",
            "            state = torch.get_rng_state()\n"
            "            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, tgt_mask)))\n"
            "            x = self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))\n"
            "            fed, now = self.feed_forward(x), torch.get_rng_state()\n"
            "            torch.set_rng_state(state)\n"
            "            x = self.norm3(x + self.dropout(fed))\n"
            "            torch.set_rng_state(now)\n",
        ),
        "no gradient for the feed-forward network": (
            "x = self.norm3(x + self.dropout(self.feed_forward(x)))",
            "x = self.norm3(x + self.dropout(torch.func.functional_call(self.feed_forward, "
            "{n: p.detach() for n, p in self.feed_forward.named_parameters()}, (x,))))",
        ),
    },
    "transformer": {
        "a tenth of the encoder's gradients": (
            "self.encoder(x, self._padding_mask(src))", _slow("self.encoder", "x, self._padding_mask(src)"),
        ),
        "encode and decode without gradients": (_WHOLE, _WHOLE + _NO_GRADIENT),
    },
}  # fmt: skip

CASES = [
    (name, what, *change)
    for table in (SIZES, SETTINGS, TRAIN_MODE, CONDITIONS, PROMISES)
    for name, changes in table.items()
    for what, change in changes.items()
]


def changed(name: str, what: str, old: str, new: str) -> str:
    """The solution's text with the change in it."""
    text = solution_file(name).read_text(encoding="utf-8")
    assert old in text, f"{name}, {what}"
    made = text.replace(old, new)
    return made if "import torch\n" in made else made.replace('"""\n\n', '"""\n\nimport torch\n', 1)
