"""Hints for `transformer.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

HINTS: Mapping[str, Sequence[str]] = {
    "Transformer": (
        "Write encode and decode as the two lines of section 1, with the masks left out (None); then "
        "forward is one line that calls both. Add the masks last.",
        "The padding mask is src != pad, with two dimensions inserted so that the last one is the keys: [B, 1, 1, "
        "S]. The causal mask is the lower triangle with the diagonal, as bool. The target's mask combines both "
        "with &. Multiply embeddings by math.sqrt(d_model) before adding the positions.",
        "mask = (tokens != self.pad)[:, None, None, :]; causal = torch.ones(L, L, dtype=torch.bool, "
        "device=tgt.device).tril(); x = self.positions(self.tgt_embed(tgt) * math.sqrt(d_model)); "
        "self.output(self.decoder(x, memory, source mask, causal & target mask)) with self.output = "
        "nn.Linear(d_model, tgt_vocab).",
    ),
}
