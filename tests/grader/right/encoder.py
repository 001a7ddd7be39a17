"""Right encoders in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

RIGHT: Mapping[str, str] = {
    "keywords_and_functional_dropout": HEAD
    + """

class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.ln_ffn = nn.LayerNorm(d_model)
        self.ffn = feed_forward
        self.ln_att = nn.LayerNorm(d_model)
        self.att = self_attention
        self.p = dropout
        self.where = norm

    def drop(self, x):
        return F.dropout(x, self.p, self.training)

    def forward(self, x, src_mask=None):
        if self.where == "pre":
            h = self.ln_att(x)
            x = self.drop(self.att(mask=src_mask, value=h, key=h, query=h)) + x
            return self.drop(self.ffn(self.ln_ffn(x))) + x
        x = self.ln_att(self.drop(self.att(query=x, key=x, value=x, mask=src_mask)) + x)
        return self.ln_ffn(self.drop(self.ffn(x)) + x)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        if norm == "pre":
            self.end = nn.LayerNorm(d_model)
        for i in range(num_layers):
            self.add_module(f"layer{i}", make_layer())
        self.n = num_layers

    def forward(self, x, src_mask=None):
        for i in range(self.n):
            x = getattr(self, f"layer{i}")(x=x, src_mask=src_mask)
        return self.end(x) if hasattr(self, "end") else x
""",
    "own_norm_mask_left_out": HEAD
    + """

class Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.shift = nn.Parameter(torch.zeros(d))
        self.gain = nn.Parameter(torch.ones(d))

    def forward(self, x):
        centred = x - x.mean(-1, keepdim=True)
        return self.gain * centred / (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt() + self.shift


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.parts = nn.ModuleList([feed_forward, self_attention])
        self.norms = nn.ModuleList([Norm(d_model), Norm(d_model)])
        self.drop = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def around(self, i, x, f):
        if self.pre:
            return x + self.drop(f(self.norms[i](x)))
        return self.norms[i](x + self.drop(f(x)))

    def forward(self, x, src_mask=None):
        rest = () if src_mask is None else (src_mask,)
        x = self.around(0, x, lambda y: self.parts[1](y, y, y, *rest))
        return self.around(1, x, self.parts[0])


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.stack = nn.ModuleDict({str(i): make_layer() for i in range(num_layers)})
        self.last = Norm(d_model) if norm == "pre" else None

    def forward(self, x, src_mask=None):
        for layer in self.stack.values():
            x = layer(x, src_mask)
        return x if self.last is None else self.last(x)
""",
    "wrappers_of_one_sublayer": HEAD
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


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post", *, verbose=False):
        super().__init__()
        kind = {"post": After, "pre": Before}[norm]
        self.second = kind(feed_forward, d_model, dropout)
        self.first = kind(self_attention, d_model, dropout)

    def forward(self, x, src_mask=None):
        x = self.first(x, lambda attention, y: attention(y, y, y, mask=src_mask))
        return self.second(x, lambda feed, y: feed(y))


class Encoder(nn.ModuleList):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__(make_layer() for _ in range(num_layers))
        self.count = num_layers
        if norm == "pre":
            self.append(nn.LayerNorm(d_model))

    def forward(self, x, src_mask=None):
        for i, part in enumerate(self):
            x = part(x, src_mask) if i < self.count else part(x)
        return x
""",
    "subclasses_dropout_by_hand_and_a_warning": HEAD
    + """
import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class Sublayers(nn.Module):
    pre = False

    def drop(self, x):
        if not self.training or self.rate == 0:
            return x
        return x * (torch.rand_like(x) >= self.rate) / (1 - self.rate)

    def residual(self, x, norm, f):
        return x + self.drop(f(norm(x))) if self.pre else norm(x + self.drop(f(x)))


class EncoderLayer(Sublayers):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.g1, self.b1 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.g2, self.b2 = nn.Parameter(torch.ones(d_model)), nn.Parameter(torch.zeros(d_model))
        self.self_attention, self.feed_forward = self_attention, feed_forward
        self.rate, self.pre, self.d_model = dropout, norm == "pre", d_model

    def norm1(self, x):
        return F.layer_norm(x, (self.d_model,), self.g1, self.b1)

    def norm2(self, x):
        return F.layer_norm(x, (self.d_model,), self.g2, self.b2)

    def forward(self, x, src_mask=None):
        x = self.residual(x, self.norm1, lambda y: self.self_attention(y, y, y, src_mask))
        return self.residual(x, self.norm2, self.feed_forward)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        layers = []
        while len(layers) < num_layers:
            layers.append(make_layer())
        self.layers = nn.Sequential(*layers)
        self.norm = nn.LayerNorm(d_model) if norm == "pre" else (lambda x: x)

    def forward(self, x, src_mask=None):
        for layer in self.layers.children():
            x = layer.forward(x, src_mask=src_mask)
        return self.norm(x)
""",
    "a_norm_made_in_any_case_and_attention_first_asked_for": HEAD
    + """

class Norm(nn.LayerNorm):
    pass


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post", activation=None):
        super().__init__()
        self.add_module("mha", self_attention)
        self.add_module("mlp", feed_forward)
        self.ln = nn.ModuleDict({"mha": Norm(d_model), "mlp": Norm(d_model)})
        self.norm_first, self.p = norm == "pre", float(dropout)

    def sublayer(self, name, x, *args):
        part, norm = getattr(self, name), self.ln[name]
        y = norm(x) if self.norm_first else x
        args = (y, y, *args) if args else ()
        z = F.dropout(part.forward(y, *args), p=self.p, training=self.training, inplace=True)
        return z.add_(x) if self.norm_first else norm(z.add_(x))

    def forward(self, x, src_mask=None, **unused):
        return self.sublayer("mlp", self.sublayer("mha", x, src_mask))


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(num_layers):
            self.layers.append(make_layer())
        self.ln_f, self.norm_first = Norm(d_model), norm == "pre"

    def forward(self, x, src_mask=None):
        from functools import reduce

        out = reduce(lambda y, layer: layer(y, src_mask=src_mask), self.layers, x)
        return self.ln_f(out) if self.norm_first else out
""",
    "gains_of_three_dimensions_and_views": HEAD
    + """

class Norm(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.beta = nn.Parameter(torch.zeros(1, 1, d_model))
        self.gamma = nn.Parameter(torch.ones(1, 1, d_model))

    def forward(self, x):
        var, mean = torch.var_mean(x, dim=2, correction=0, keepdim=True)
        return torch.addcmul(self.beta, (x - mean) * torch.rsqrt(var + 1e-5), self.gamma)


class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        self.norm_b, self.norm_a = Norm(d_model), Norm(d_model)
        self.steps = nn.ModuleList([self_attention, feed_forward])
        self.dropouts = nn.ModuleList([nn.Dropout(dropout), nn.Dropout(dropout)])
        self.forward_of = {"pre": self.pre, "post": self.post}[norm]

    def pre(self, x, mask):
        attention, feed = self.steps
        y = self.norm_a(x)
        x = self.dropouts[0](attention(y.clone(), y, y, mask=mask)).add(x)
        return self.dropouts[1](feed(self.norm_b(x))).add(x)

    def post(self, x, mask):
        attention, feed = self.steps
        x = self.norm_a(self.dropouts[0](attention(x, x, x, mask=mask)).add(x))
        return self.norm_b(self.dropouts[1](feed(x)).add(x))

    def forward(self, x, src_mask=None):
        return self.forward_of(x, src_mask)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.first = make_layer()
        self.others = nn.ModuleList(make_layer() for _ in range(num_layers - 1))
        self.end = Norm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        x = self.first(x, src_mask)
        for layer in self.others:
            x = layer(x, src_mask)
        return self.end(x)
""",
    "norms_of_a_layer_in_one_parameter": HEAD
    + """

class EncoderLayer(nn.Module):
    def __init__(self, self_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        start = torch.stack([torch.ones(2, d_model), torch.zeros(2, d_model)], 1)
        self.norms = nn.Parameter(start)  # [sublayers, gain and shift, D]
        self.attend, self.feed = self_attention, feed_forward
        self.drop, self.pre = nn.Dropout(dropout), norm == "pre"

    def norm(self, i, x):
        return F.layer_norm(x, x.shape[-1:], *self.norms[i])

    def around(self, i, x, sublayer):
        if self.pre:
            return x + self.drop(sublayer(self.norm(i, x)))
        return self.norm(i, x + self.drop(sublayer(x)))

    def forward(self, x, src_mask=None):
        x = self.around(0, x, lambda y: self.attend(y, y, y, src_mask))
        return self.around(1, x, self.feed)


class Encoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.layers = nn.ModuleList(make_layer() for _ in range(num_layers))
        self.last = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(self, x, src_mask=None):
        for layer in self.layers:
            x = layer(x, src_mask)
        return self.last(x)
""",
}
