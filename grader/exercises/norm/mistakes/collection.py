"""The collection of the known mistakes of `exercises/norm.py`, and the sources that their texts cite."""

from __future__ import annotations

from grader.api import Collection
from grader.exercises.norm.reference import Steps

NORM, PLACES = ("LayerNorm",), ("PreNorm", "PostNorm")
mistake: Collection[Steps] = Collection()
FORMULA = "gain * (x - mean) / sqrt(var + eps) + bias"
PRE, POST = "pre: x + drop(f(norm(x)))", "post: norm(x + drop(f(x)))"
BOTH_FORMULAS = f"{PRE}; {POST}"
BA = "Ba et al. 2016, arXiv 1607.06450"
PAPER = "Attention Is All You Need, section 3.1"
XIONG = "Xiong et al. 2020, arXiv 2002.04745"
