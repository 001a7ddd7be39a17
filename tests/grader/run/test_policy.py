"""`--strict`: what counts as a library's own attention."""

from __future__ import annotations

from pathlib import Path

import pytest

import grader.exercises.attention.solution
from grader.core.policy import library_attention


@pytest.mark.parametrize(
    "code",
    [
        "from torch.nn.functional import scaled_dot_product_attention as sdpa",
        "import torch\ntorch.nn.functional.scaled_dot_product_attention(1, 2, 3)",
        "import torch.nn.functional as F\nF.scaled_dot_product_attention(1, 2, 3)",
        "from torch import nn\nlayer = nn.MultiheadAttention(8, 2)",
        "from torch import nn\nclass Mine(nn.MultiheadAttention): pass",
        "from torch import nn\nlayer = nn.TransformerEncoderLayer(8, 2)",
        "from torch.nn import *\nlayer = MultiheadAttention(8, 2)",
        "import torch.nn.functional as F\ngetattr(F, 'multi_head_attention_forward')",
        "import torch.nn.functional as F\ndef attend(q): return F.scaled_dot_product_attention(q)",
    ],
)
def test_library_attention_is_refused_with_its_line(code: str) -> None:
    reason = library_attention(code)
    assert "--no-library-attention" in reason
    assert f"line {len(code.splitlines())}: " in reason


@pytest.mark.parametrize(
    "code",
    [
        Path(grader.exercises.attention.solution.__file__).read_text(encoding="utf-8"),
        "def scaled_dot_product_attention(q): return q\nscaled_dot_product_attention(1)",
        "class A:\n  def scaled_dot_product_attention(self): pass\n  def f(self): self.scaled_dot_product_attention()",
        "class A:\n  def scaled_dot_product_attention(): pass\nA.scaled_dot_product_attention()",
        "# F.scaled_dot_product_attention is not used here",
        "def broken(:",
        "x = '\\d'",
        "\0",
    ],
)
def test_own_attention_is_not(code: str) -> None:
    assert library_attention(code) == ""


def test_deep_nesting_does_not_break_the_judge() -> None:
    assert library_attention("(" * 100_000) == ""
    assert library_attention("-" * 100_000 + "1") == ""
