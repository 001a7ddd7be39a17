"""Parts from somebody's own file, on every axis; what goes wrong in them becomes a sentence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests import ROOT, solution_file
from zoo.core.axes import AXES
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.models.builder import build

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 9, "dropout": 0,
}  # fmt: skip
SRC, TGT = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([[1, 8, 9, 2], [1, 5, 0, 0]])
HEAD = "import torch\nfrom torch import nn\n"
ATTENTION = (
    HEAD
    + "class Mine(nn.Module):\n    def __init__(self, d_model, num_heads, dropout=0.0):\n        {init}\n"
)
FORWARD = "    def forward(self, query, key, value, mask=None):\n        return {result}\n"


def attention(result: str, init: str = "super().__init__()") -> str:
    return ATTENTION.format(init=init) + FORWARD.format(result=result)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


def logits(file: Path, code: str, axis: str = "attention", **changes: Any) -> torch.Tensor:
    file.write_text(code)
    return build(make_blueprint(**{axis: f"{file}:Mine"}, **{**SIZES, **changes}), seed=0)(SRC, TGT)  # type: ignore[no-any-return]


@pytest.mark.parametrize("axis", [axis.name for axis in AXES])
def test_a_class_of_a_file_stands_on_every_axis(axis: str, file: Path) -> None:
    variant = get_registry().variants(axis)[0]
    cls: Any = variant.load()
    code = f"from {cls.__module__} import {cls.__name__}\nclass Mine({cls.__name__}):\n    pass\n"
    assert logits(file, code, axis).shape == (2, 4, 11)


def test_its_weights_stay_as_it_drew_them(file: Path) -> None:
    init = "super().__init__(); self.map = nn.Linear(8, 8); nn.init.constant_(self.map.weight, 0.5)"
    file.write_text(attention("self.map(query)", init))
    weights = build(make_blueprint(attention=f"{file}:Mine", **SIZES), seed=0).state_dict()
    drawn = [value for name, value in weights.items() if name.endswith("map.weight")]
    assert len(drawn) == 3
    assert all((value == 0.5).all() for value in drawn)


def test_a_learners_class_that_returns_a_tuple_will_do(file: Path) -> None:
    assert logits(file, attention("query, None")).shape == (2, 4, 11)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("None", "mine.py:Mine, forward: expected a tensor, got NoneType."),
        ("'text'", "forward: expected a tensor, got str."),
        ("()", "forward: expected a tensor, got tuple."),
        ("query[:, :1]", "forward: expected shape [2, 3, 8], got [2, 1, 8]."),
        ("query.double()", "forward: expected dtype torch.float32, got torch.float64."),
        ("1 / 0", "forward: ZeroDivisionError (line 7): division by zero"),
        ("undefined", "forward: NameError (line 7): name 'undefined' is not defined"),
        ("query @ query", "forward: RuntimeError (line 7): "),
        ("exit(0)", "forward: SystemExit (line 7): 0"),
    ],
)
def test_what_goes_wrong_in_forward_is_a_sentence(result: str, message: str, file: Path) -> None:
    with pytest.raises(ZooError) as caught:
        logits(file, attention(result))
    assert message in str(caught.value)


def test_a_stub_is_not_written_yet(file: Path) -> None:
    code = ATTENTION.format(init='raise NotImplementedError("attention: the constructor")')
    with pytest.raises(ZooError) as caught:
        logits(file, code)
    assert (
        f"{file}:Mine cannot be constructed as Mine(8, 2, 0.0): not written yet (line 5): attention: the con"
        in str(caught.value)
    )


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "class Mine: pass",
            "cannot be constructed as Mine(8, 2, 0.0): TypeError: Mine() takes no arguments",
        ),
        (
            "class Mine:\n    def __init__(self, *args): pass",
            "expected a class derived from nn.Module, got Mine.",
        ),
        ("def Mine(*args): return 5", "expected a class derived from nn.Module, got int."),
        ("Mine = None", "cannot be constructed"),
        (
            "from zoo.parts.attention.base import MultiHeadAttention\nclass Mine(MultiHeadAttention): pass",
            "cannot be constructed: class Mine has no method 'attend', which its base zoo.parts.attention.base.Mu",
        ),
        (
            "class Mine:\n    def __init__(self, *args): raise SystemExit(0)",
            "cannot be constructed as Mine(8, 2, 0.0): SystemExit (line 2): 0",
        ),
    ],
)
def test_what_cannot_be_constructed_is_a_sentence(code: str, message: str, file: Path) -> None:
    with pytest.raises(ZooError) as caught:
        logits(file, code)
    assert message in str(caught.value)


def test_the_template_says_that_it_is_not_written_yet() -> None:
    template = ROOT / "exercises" / "attention.py"
    with pytest.raises(ZooError, match="not written yet"):
        build(make_blueprint(attention=f"{template}:MultiHeadAttention", **SIZES))


def test_the_model_solution_equals_eager() -> None:
    solution = solution_file("attention")
    theirs = build(make_blueprint(attention=f"{solution}:MultiHeadAttention", **SIZES), seed=0).eval()
    oracle = build(make_blueprint(**SIZES), seed=0).eval()
    oracle.load_state_dict(
        {name.replace(".inner.", "."): value for name, value in theirs.state_dict().items()}
    )
    real = TGT != 0
    torch.testing.assert_close(theirs(SRC, TGT)[real], oracle(SRC, TGT)[real])


MASK = """
class Mine:
    def encode(self, keep, dtype): return {}
    def decode(self, mask, num_keys): return {}
"""


@pytest.mark.parametrize(
    ("axis", "code", "message"),
    [
        ("mask", "class Mine: pass", "expected a method 'encode' (see `zoo list mask`)"),
        ("mask", MASK.format("None", "mask"), "encode: expected a tensor, got NoneType."),
        (
            "masking",
            "from zoo.parts.masking.full import FullMasking\n"
            "class Mine(FullMasking):\n    def tgt(self, tokens, num_queries): return tokens",
            "tgt: expected dtype torch.bool, got torch.int64.",
        ),
        (
            "masking",
            "from zoo.parts.masking.full import FullMasking\n"
            "class Mine(FullMasking):\n    def tgt(self, tokens, num_queries): return self.src(tokens)",
            "its tgt() lets a position see later ones",
        ),
        (
            "head",
            HEAD + "class Mine(nn.Linear):\n    def forward(self, x): return x",
            "forward: expected shape [2, 4, 11], got [2, 4, 8].",
        ),
        ("init", "class Mine: pass", "expected a method 'matrix' (see `zoo list init`)"),
        (
            "init",
            "class Mine:\n    def matrix(self, *args): 1 / 0\n    bias = table = matrix",
            "ZeroDivisionError (line 2)",
        ),
        (
            "mask",
            MASK.format("keep", "mask.float()"),
            "decode: expected dtype torch.bool, got torch.float32.",
        ),
        ("mask", MASK.format("1 / 0", "mask"), "encode: ZeroDivisionError (line 3)"),
        ("embedding", HEAD + "class Mine(nn.Linear): pass", "expected a method 'src'"),
        (
            "embedding",
            "from zoo.parts.embedding.scaled import ScaledEmbeddings\n"
            "class Mine(ScaledEmbeddings):\n    def tgt(self, tokens): return tokens",
            "tgt: expected shape [2, 4, 8], got [2, 4].",
        ),
        (
            "norm",
            "from zoo.parts.norm.base import NormPlacement\n"
            "class Mine(NormPlacement):\n    def forward(self, x, *sublayers): return None",
            "forward: expected a tensor, got NoneType.",
        ),
    ],
)
def test_other_axes_say_what_is_wrong_too(axis: str, code: str, message: str, file: Path) -> None:
    with pytest.raises(ZooError) as caught:
        logits(file, code, axis)
    assert message in str(caught.value)


def test_a_mask_form_of_ones_own_gives_the_same_logits(file: Path) -> None:
    expected = build(make_blueprint(**SIZES), seed=0)(SRC, TGT)
    got = logits(file, MASK.format("1 - keep.int()", "mask == 0"), "mask")
    torch.testing.assert_close(got[TGT != 0], expected[TGT != 0])
