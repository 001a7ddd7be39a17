"""Right decoders in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

RIGHT: Mapping[str, str] = {
    "keywords_and_functional_dropout": HEAD
    + """

class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.c, self.b, self.a = nn.LayerNorm(d_model), nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.feed, self.cross, self.own = feed_forward, cross_attention, self_attention
        self.p, self.where = dropout, norm

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        if self.where == "pre":
            h = self.a(x)
            x = x + self.drop(self.own(mask=tgt_mask, value=h, key=h, query=h))
            x = x + self.drop(self.cross(mask=src_mask, value=memory, key=memory, query=self.b(x)))
            return x + self.drop(self.feed(self.c(x)))
        x = self.a(x + self.drop(self.own(query=x, key=x, value=x, mask=tgt_mask)))
        x = self.b(x + self.drop(self.cross(query=x, key=memory, value=memory, mask=src_mask)))
        return self.c(x + self.drop(self.feed(x)))


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        if norm == "pre":
            self.end = nn.LayerNorm(d_model)
        for i in range(num_layers):
            self.add_module(f"layer{i}", make_layer())
        self.n = num_layers

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for i in range(self.n):
            layer = getattr(self, f"layer{i}")
            x = layer(tgt_mask=tgt_mask, src_mask=src_mask, memory=memory, x=x)
        return self.end(x) if hasattr(self, "end") else x
""",
    "own_norm_masks_left_out": HEAD
    + """

class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(d))
        self.gain = nn.Parameter(torch.ones(d))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.gain * centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() + self.shift


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.parts = nn.ModuleList([feed_forward, cross_attention, self_attention])
        self.norms = nn.ModuleList([Norm(d_model) for _ in range(3)])
        self.drop = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def around(self, i, x, f):
        if self.pre:
            return x + self.drop(f(self.norms[i](x)))
        return self.norms[i](x + self.drop(f(x)))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        src = {} if src_mask is None else {"mask": src_mask}
        tgt = {} if tgt_mask is None else {"mask": tgt_mask}
        x = self.around(2, x, lambda y: self.parts[2](y, y, y, **tgt))
        x = self.around(0, x, lambda y: self.parts[1](y, memory, memory, **src))
        return self.around(1, x, self.parts[0])


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.stack = nn.ModuleDict({str(i): make_layer() for i in range(num_layers)})
        self.last = Norm(d_model) if norm == "pre" else None

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.stack.values():
            x = layer(x, memory, src_mask, tgt_mask)
        return x if self.last is None else self.last(x)
""",
    "wrappers_and_a_module_list": HEAD
    + """

class Around(nn.Module):
    def __init__(self, inner, d_model, dropout):
        super().__init__()
        self.inner, self.norm, self.drop = inner, nn.LayerNorm(d_model), nn.Dropout(dropout)


class After(Around):
    def forward(self, x, call):
        return self.norm(torch.add(x, self.drop(call(self.inner, x))))


class Before(Around):
    def forward(self, x, call):
        return torch.add(self.drop(call(self.inner, self.norm(x))), x)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        kind = {"post": After, "pre": Before}[norm]
        self.third = kind(feed_forward, d_model, dropout)
        self.first = kind(self_attention, d_model, dropout)
        self.second = kind(cross_attention, d_model, dropout)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.first(x, lambda attention, y: attention(y, y, y, mask=tgt_mask))
        x = self.second(x, lambda attention, y: attention(y, memory, memory, mask=src_mask))
        return self.third(x, lambda feed, y: feed(y))


class Decoder(nn.ModuleList):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__(make_layer() for _ in range(num_layers))
        self.count = num_layers
        if norm == "pre":
            self.append(nn.LayerNorm(d_model))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for i, part in enumerate(self):
            x = part(x, memory, src_mask, tgt_mask) if i < self.count else part(x)
        return x
""",
    "dropout_by_hand_and_a_warning": HEAD
    + """
import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(d_model)) for _ in range(3)])
        self.shifts = nn.ParameterList([nn.Parameter(torch.zeros(d_model)) for _ in range(3)])
        self.own, self.other, self.feed = self_attention, cross_attention, feed_forward
        self.rate, self.pre = dropout, norm == "pre"

    def norm(self, i, x):
        return F.layer_norm(x, x.shape[-1:], self.gains[i], self.shifts[i])

    def drop(self, x):
        if not self.training or self.rate == 0:
            return x
        return x * (torch.rand_like(x) >= self.rate) / (1 - self.rate)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        steps = (
            lambda y: self.own(y, y, y, tgt_mask),
            lambda y: self.other(y, memory, memory, src_mask),
            self.feed,
        )
        for i, step in enumerate(steps):
            if self.pre:
                x = x + self.drop(step(self.norm(i, x)))
            else:
                x = self.norm(i, x + self.drop(step(x)))
        return x


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.Sequential(*[make_layer() for _ in range(num_layers)])
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else (lambda x: x)

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.layers.children():
            x = layer.forward(x, memory, tgt_mask=tgt_mask, src_mask=src_mask)
        return self.norm(x)
""",
    "norms_of_a_layer_stacked": HEAD
    + """

class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.shifts = nn.Parameter(torch.zeros(3, d_model))
        self.gains = nn.Parameter(torch.ones(3, d_model))  # the last sublayer's first
        self.own, self.cross, self.feed = self_attention, cross_attention, feed_forward
        self.drop, self.pre = nn.Dropout(dropout), norm == "pre"

    def norm(self, i, x):
        return F.layer_norm(x, x.shape[-1:], self.gains[2 - i], self.shifts[2 - i])

    def around(self, i, x, sublayer):
        if self.pre:
            return x + self.drop(sublayer(self.norm(i, x)))
        return self.norm(i, x + self.drop(sublayer(x)))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        x = self.around(0, x, lambda y: self.own(y, y, y, tgt_mask))
        x = self.around(1, x, lambda y: self.cross(y, memory, memory, src_mask))
        return self.around(2, x, self.feed)


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        if norm == "pre":
            self.last = nn.Parameter(torch.stack([torch.ones(d_model), torch.zeros(d_model)]))  # [2, D]

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        return F.layer_norm(x, x.shape[-1:], *self.last) if hasattr(self, "last") else x
""",
}
