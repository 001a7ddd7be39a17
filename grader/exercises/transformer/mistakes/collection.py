"""The collection of the known mistakes of `exercises/transformer.py`, and the sources that their texts cite."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.transformer.reference import Steps

mistake: Collection[Steps] = Collection()
INPUT = "x = positions(embed(tokens) * sqrt(d_model))"
MASKS = "src_mask: key != PAD; tgt_mask: key != PAD and not after the query"
DECODE = "logits = head(decoder(x, memory, src_mask, tgt_mask))"
FORWARD = "forward(src, tgt) = decode(tgt, encode(src), src)"
PAPER = "Attention Is All You Need, section 3.4"
PAPER_MASKS = "Attention Is All You Need, section 3.2.3"
