"""Hints for `transformer.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "Transformer": (
        "Write encode and decode as the two lines of section 1, with the masks left out (None); then "
        "forward is one line that uses both. Add the masks last.",
        "The padding mask is src != pad, with two dimensions put in, so that it stands for keys: [B, 1, 1, "
        "S]. The causal mask is the lower triangle of ones, diagonal included, as bool. The target's mask "
        "is both with &. Multiply embeddings by math.sqrt(d_model) before the positions.",
        "mask = (tokens != self.pad)[:, None, None, :]; causal = torch.ones(L, L, dtype=torch.bool, "
        "device=tgt.device).tril(); x = self.positions(self.tgt_embed(tgt) * math.sqrt(d_model)); "
        "self.output(self.decoder(x, memory, source mask, causal & target mask)) with self.output = "
        "nn.Linear(d_model, tgt_vocab).",
    ),
}
