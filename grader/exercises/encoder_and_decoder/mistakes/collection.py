"""The collection of the known mistakes of encoder and decoder, and the sources that their texts cite."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.encoder_and_decoder.reference import Steps

LAYERS, STACKS = ("EncoderLayer", "DecoderLayer"), ("Encoder", "Decoder")
EVERYWHERE = LAYERS + STACKS
mistake: Collection[Steps] = Collection()
PRE, POST = "pre: x = x + drop(f(norm(x)))", "post: x = norm(x + drop(f(x)))"
BOTH = f"{POST}; {PRE}"
PAPER = "Attention Is All You Need, section 3.1"
XIONG = "Xiong et al. 2020, arXiv 2002.04745"
BA = "Ba et al. 2016, arXiv 1607.06450"
DROPOUT = "Attention Is All You Need, section 5.4"
PLACES = "harvardnlp/annotated-transformer#92; hkproj/pytorch-transformer#14"
