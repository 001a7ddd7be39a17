"""Wrong Transformers as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = """
import math
import torch
import torch.nn.functional as F
from torch import nn

class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder
        self.src_embed, self.tgt_embed = src_embed, tgt_embed
        self.positions = positions
        self.d_model = d_model
        self.pad = pad
        self.fc_out = nn.Linear(d_model, tgt_vocab)
"""
RIGHT_PARTS = {
    "masks": """
    def make_src_mask(self, src):
        return (src != self.pad).unsqueeze(1).unsqueeze(2)

    def make_trg_mask(self, trg):
        n = trg.shape[1]
        return (trg != self.pad).unsqueeze(1).unsqueeze(2) & torch.tril(torch.ones(n, n)).bool()
""",
    "encode": """
    def encode(self, src):
        x = self.positions(self.src_embed(src) * math.sqrt(self.d_model))
        return self.encoder(x, self.make_src_mask(src))
""",
    "decode": """
    def decode(self, tgt, memory, src):
        x = self.positions(self.tgt_embed(tgt) * math.sqrt(self.d_model))
        return self.fc_out(self.decoder(x, memory, self.make_src_mask(src), self.make_trg_mask(tgt)))
""",
    "forward": """
    def forward(self, src, tgt):
        return self.decode(tgt, self.encode(src), src)
""",
}


def file(head: str = HEAD, **changed: str) -> str:
    """A file in which these parts are written in another way."""
    return head + "".join({**RIGHT_PARTS, **changed}.values())


WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "no scale": (
        frozenset({"scale-missing"}),
        file(
            encode="""
    def encode(self, src):
        return self.encoder(self.positions(self.src_embed(src)), self.make_src_mask(src))
""",
            decode="""
    def decode(self, tgt, memory, src):
        x = self.positions(self.tgt_embed(tgt))
        return self.fc_out(self.decoder(x, memory, self.make_src_mask(src), self.make_trg_mask(tgt)))
""",
        ),
    ),
    "logits of zero": (  # have many causes: no module is copied here
        frozenset(),
        file(
            decode="""
    def decode(self, tgt, memory, src):
        x = self.positions(self.tgt_embed(tgt) * math.sqrt(self.d_model))
        h = self.decoder(x, memory, self.make_src_mask(src), self.make_trg_mask(tgt))
        return F.linear(h, F.normalize(self.fc_out.weight, dim=1)) * self.fc_out.bias
"""
        ),
    ),
    "torch's convention of masks": (
        frozenset({"masks-inverted"}),
        file(
            masks="""
    def make_src_mask(self, src):
        return (src == self.pad)[:, None, None, :]

    def make_trg_mask(self, trg):
        future = torch.triu(torch.ones(trg.size(1), trg.size(1), dtype=torch.bool), diagonal=1)
        return future | (trg == self.pad)[:, None, None, :]
"""
        ),
    ),
    "additive masks of ones and zeros": (
        frozenset({"masks-as-numbers"}),
        file(
            masks="""
    def make_src_mask(self, src):
        return (src != self.pad)[:, None, None, :].float()

    def make_trg_mask(self, trg):
        return torch.tril(torch.ones(trg.size(1), trg.size(1))) * (trg != self.pad)[:, None, None, :].float()
"""
        ),
    ),
    "padding along the queries of the target": (
        frozenset({"target-mask-causal-only"}),
        file(
            masks="""
    def make_src_mask(self, src):
        return (src != self.pad).unsqueeze(1).unsqueeze(2)

    def make_trg_mask(self, trg):
        n = trg.shape[1]
        return (trg != self.pad).unsqueeze(1).unsqueeze(3) & torch.tril(torch.ones(n, n)).bool()
"""
        ),
    ),
    "the source's mask is kept by encode": (
        frozenset({"encode-remembered"}),
        file(
            encode="""
    def encode(self, src):
        self.src_mask = self.make_src_mask(src)
        x = self.positions(self.src_embed(src) * math.sqrt(self.d_model))
        return self.encoder(x, self.src_mask)
""",
            decode="""
    def decode(self, tgt, memory, src):
        x = self.positions(self.tgt_embed(tgt) * math.sqrt(self.d_model))
        return self.fc_out(self.decoder(x, memory, self.src_mask, self.make_trg_mask(tgt)))
""",
        ),
    ),
    "tied to the target's embedding": (
        frozenset({"projection-tied"}),
        file(
            HEAD + "        self.fc_out = nn.Linear(d_model, tgt_vocab, bias=False)\n"
            "        self.fc_out.weight = tgt_embed.weight\n"
        ),
    ),
    "shifts and ends in a softmax": (
        frozenset({"target-shifted", "softmax-in-model"}),
        file(
            decode="""
    def decode(self, tgt, memory, src):
        x = self.positions(self.tgt_embed(tgt) * math.sqrt(self.d_model))
        out = self.decoder(x, memory, self.make_src_mask(src), self.make_trg_mask(tgt))
        return F.softmax(self.fc_out(out), dim=-1)
""",
            forward="""
    def forward(self, src, tgt):
        return self.decode(tgt[:, :-1], self.encode(src), src)
""",
        ),
    ),
    "xavier over everything": (
        frozenset({"parts-initialised-again"}),
        file(
            HEAD + "        for p in self.parameters():\n"
            "            if p.dim() > 1:\n                nn.init.xavier_uniform_(p)\n"
        ),
    ),
    "the decoder's mask as src_mask": (
        frozenset({"decoder-masks-swapped"}),
        file(
            decode="""
    def decode(self, tgt, memory, src):
        x = self.positions(self.tgt_embed(tgt) * math.sqrt(self.d_model))
        return self.fc_out(self.decoder(x, memory, self.make_trg_mask(tgt), self.make_src_mask(src)))
"""
        ),
    ),
}
