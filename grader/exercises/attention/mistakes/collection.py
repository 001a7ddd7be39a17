"""The decorator that adds a mistake to this exercise's collection, and what several themes share."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.attention import reference
from grader.exercises.attention.reference import Steps

mistake: Collection[Steps] = Collection()
CLASS, FUNCTION = (reference.CLASS,), (reference.FUNCTION,)
BOTH = CLASS + FUNCTION

SOFTMAX = "softmax(Q K^T / sqrt(d_k)) V"
HEADS = "Concat(head_1, ..., head_h) W_O"
PAPER = "Attention Is All You Need, section 3.2.1"
PAPER_HEADS = "Attention Is All You Need, section 3.2.2"
