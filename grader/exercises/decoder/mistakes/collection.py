"""The collection of the decoder's own known mistakes, and the sources that their texts cite."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.encoder_and_decoder.reference import Steps

LAYER, STACK = ("DecoderLayer",), ("Decoder",)
mistake: Collection[Steps] = Collection()
ORDER = "self-attention, cross-attention, feed-forward network"
CROSS = "cross_attention(query, memory, memory, src_mask)"
SELF = "self_attention(y, y, y, tgt_mask)"
MASKS = "self_attention(..., tgt_mask); cross_attention(..., src_mask)"
LOOP = "for layer in layers: x = layer(x, memory, src_mask, tgt_mask)"
PAPER = "Attention Is All You Need, sections 3.1 and 3.2.3"
SOURCE_MASK = (
    "keras-team/keras-io#1046; keras-team/keras-io#1964; fchollet/deep-learning-with-python-notebooks#209"
)
CAUSAL = "zhouhaoyi/Informer2020#38"
INVERTED = "pytorch/pytorch#120668; lucidrains/x-transformers#164"
