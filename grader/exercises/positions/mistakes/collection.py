"""The collection that the themes of this folder fill, and what they share."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.positions.reference import Steps

mistake: Collection[Steps] = Collection()
PAPER = "Attention Is All You Need, section 3.5"
SINE = "PE(t, 2i) = sin(t / 10000^(2i/d_model)); PE(t, 2i+1) = cos(same)"
SUM = "forward(x) = x + positions[0 .. T-1]"
