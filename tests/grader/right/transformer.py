"""Right Transformers in unusual styles: none of these may fail a hidden test."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = "import math\nimport torch\nimport torch.nn.functional as F\nfrom torch import nn\n"

RIGHT: Mapping[str, str] = {
    "additive_masks_and_no_bias": HEAD
    + """

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.head = nn.Linear(d_model, tgt_vocab, bias=False)
        self.p, self.t, self.s, self.dec, self.enc = positions, tgt_embed, src_embed, decoder, encoder
        self.d, self.pad = d_model, pad

    def mask(self, tokens, like, causal=False):
        length = tokens.shape[1]
        hidden = tokens.eq(self.pad)[:, None, None, :].expand(-1, 1, length if causal else 1, -1)
        if causal:
            hidden = hidden | torch.ones(length, length, device=tokens.device).triu(1).bool()
        return torch.zeros(hidden.shape, dtype=like.dtype, device=like.device).masked_fill(hidden, -torch.inf)

    def encode(self, src):
        x = self.p(self.s(src) * self.d**0.5)
        return self.enc(x, self.mask(src, x))

    def decode(self, tgt, memory, src):
        x = self.p(self.t(tgt) * self.d**0.5)
        return self.head(self.dec(x, memory, self.mask(src, x), self.mask(tgt, x, causal=True)))

    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
""",
    "none_where_nothing_is_masked": HEAD
    + """

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.encoder, self.decoder, self.positions = encoder, decoder, positions
        self.embeds = nn.ModuleDict({"src": src_embed, "tgt": tgt_embed})
        self.to_words = nn.Linear(d_model, tgt_vocab)
        self.register_buffer("scale", torch.tensor(float(d_model)).sqrt(), persistent=False)
        self.pad = pad

    def keys(self, tokens):
        allowed = tokens.ne(self.pad)
        return None if bool(allowed.all()) else allowed.unsqueeze(1).unsqueeze(1)

    def embed(self, side, tokens):
        return self.positions(self.embeds[side](tokens).mul(self.scale))

    def encode(self, src):
        keys = self.keys(src)
        if keys is None:
            return self.encoder(self.embed("src", src))
        return self.encoder(self.embed("src", src), src_mask=keys)

    def decode(self, tgt, memory, src):
        length, keys = tgt.size(1), self.keys(tgt)
        at = torch.arange(length, device=tgt.device)
        mask = (at[None, :] <= at[:, None])[None, None]
        if keys is not None:
            mask = mask & keys
        elif length == 1:
            mask = None
        y = self.decoder(self.embed("tgt", tgt), memory=memory, tgt_mask=mask, src_mask=self.keys(src))
        return self.to_words(y)

    def forward(self, src, tgt):
        return self.decode(src=src, tgt=tgt, memory=self.encode(src=src))
""",
    "full_masks_and_bare_parameters": HEAD
    + """

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.positions, self.decoder, self.encoder = positions, decoder, encoder
        self.tgt_embed, self.src_embed = tgt_embed, src_embed
        self.kernel = nn.Parameter(torch.empty(d_model, tgt_vocab))
        self.offset = nn.Parameter(torch.zeros(tgt_vocab))
        nn.init.xavier_uniform_(self.kernel)
        self.scale, self.pad = math.sqrt(d_model), pad

    def allowed(self, queries, tokens):
        keys = tokens != self.pad
        return keys.view(len(tokens), 1, 1, -1).repeat(1, 1, queries.size(1), 1)

    def encode(self, src):
        return self.encoder(self.positions(self.scale * self.src_embed(src)), self.allowed(src, src))

    def decode(self, tgt, memory, src):
        mask = torch.tril(self.allowed(tgt, tgt))
        x = self.positions(self.scale * self.tgt_embed(tgt))
        return self.decoder(x, memory, self.allowed(tgt, src), mask) @ self.kernel + self.offset

    def forward(self, src, tgt):
        memory = self.encode(src)
        return self.decode(tgt, memory, src)
""",
    "base_class_and_a_warning": HEAD
    + """

import warnings

warnings.warn("a warning of the learner's file", stacklevel=1)


class Base(nn.Module):
    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)

    @staticmethod
    def padding(tokens, pad):
        return torch.logical_not(tokens == pad)[:, None, None]

    @classmethod
    def future(cls, tokens, pad):
        n = tokens.size(-1)
        causal = ~torch.triu(torch.ones((n, n), dtype=torch.bool, device=tokens.device), diagonal=1)
        return torch.logical_and(cls.padding(tokens, pad), causal)


class Transformer(Base):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.parts = nn.ModuleList([decoder, encoder, tgt_embed, src_embed, positions])
        self.out = nn.Linear(d_model, tgt_vocab)
        self.root, self.pad = math.sqrt(d_model), pad

    def encode(self, src):
        _, encoder, _, embed, positions = self.parts
        return encoder(positions(embed(src) * self.root), self.padding(src, self.pad))

    def decode(self, tgt, memory, src):
        decoder, _, embed, _, positions = self.parts
        x = positions(embed(tgt) * self.root)
        return self.out(decoder(x, memory, self.padding(src, self.pad), self.future(tgt, self.pad)))
""",
}
