"""Steps and modules of right code, or of the file itself, where something was left out; statements in another block."""

from __future__ import annotations

import ast

import pytest

from grader.edits.edits import Edits
from grader.edits.fragments import Fragments
from tests.grader.edits.tried import RIGHT, changed, lines

TEXT = """import math
import torch
from torch import nn


class Part(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.norm = nn.Identity(size)

    def forward(self, x, mask=None):
        total = 0
        for row in x:
            total = total + row
            return total
        if mask is None:
            x = x + 1
        x = x * 2
        return x
"""


def test_a_step_of_right_code_is_put_around_an_expression() -> None:
    found = lines(TEXT, 19, RIGHT)
    assert {"return (x.tril())", "return (x / math.sqrt(x.size(-1)))", "return (self.norm(x))"} <= found
    assert "return (x[:, None])" in found


def test_a_step_whose_names_are_not_known_there_is_left_out() -> None:
    assert not any("scores" in line for line in lines(TEXT, 19, RIGHT))
    step = Fragments(ast.parse("def f(x, y):\n    return x + y\n"))
    inner = ast.parse("z", mode="eval").body
    assert [ast.unparse(one) for one in step.around(inner, ["z", "y"], [])] == ["z + y"]


def test_types_are_no_steps() -> None:
    assert not any("Tensor" in line or "None |" in line for line in lines(TEXT, 19, RIGHT))


def test_another_module_of_right_code_is_tried() -> None:
    assert "self.norm = (nn.LayerNorm(size))" in lines(TEXT, 9, RIGHT)


def test_parentheses_around_the_last_two_of_three() -> None:
    assert "return (2 * (x // 2))" in lines("def f(x):\n    return 2 * x // 2\n", 2)


def test_a_statement_leaves_the_loop_that_it_ends() -> None:
    out = TEXT.replace("            return total\n", "        return total\n")
    assert out in changed(TEXT, 15)


def test_a_statement_goes_into_the_block_above() -> None:
    into = TEXT.replace(
        "            x = x + 1\n        x = x * 2\n", "            x = x + 1\n            x = x * 2\n"
    )
    assert into in changed(TEXT, 18)


def test_a_branch_of_a_condition_gets_another_operand() -> None:
    text = TEXT.replace("x = x * 2", "x = self.norm(x) if mask is None else x")
    assert any("self.norm(x) + x if mask" in line for line in lines(text, 18))


def test_a_condition_that_is_a_constant_asks_a_name() -> None:
    assert {"if not mask:", "if mask:"} <= lines(TEXT.replace("if mask is None:", "if True:"), 16)


def test_a_tensor_becomes_a_buffer() -> None:
    text = TEXT.replace("self.norm = nn.Identity(size)", "self.table = torch.ones(size)")
    assert "self.register_buffer('table', torch.ones(size))" in lines(text, 9)


def test_a_list_becomes_a_module() -> None:
    text = TEXT.replace("nn.Identity(size)", "[nn.Identity(size) for _ in range(3)]")
    assert "self.norm = nn.ModuleList([nn.Identity(size) for _ in range(3)])" in lines(text, 9)


LACKING = """
import torch.nn.functional as F
from torch import nn


class Part(nn.Module):
    def __init__(self, size, eps=1e-5):
        self.eps = 1e-6
        self.layers = nn.Sequential(
            nn.GELU(),
        )

    def forward(self, x, mask=None, used=1):
        y = self.attend(query=x, key=x, mask=mask)
        y = self.attend(query=y, key=y)
        y = F.dropout(y, p=0.5)
        k, v = y[:, :, 0], x[:, :, 0]
        y, k = self.pair, k
        y = y + F.relu(self.norm(x))
        y[y.le(0) & (x > 0)] = torch.finfo(y.dtype).min
        y = y if used < x.size(0) else x
        return k.view(2, 3), F.scaled_dot_product_attention(x, k, v, dropout_p=0.5)
"""


@pytest.mark.parametrize(
    ("line", "new"),
    [
        (8, "self.eps = eps"),
        (10, "(nn.ReLU()),"),
        (15, "y = (self.attend(query=y, key=y, mask=mask))"),
        (16, "y = (F.dropout(y, p=0.5, training=self.training))"),
        (17, "k, v = (y[:, :used, 0], x[:, :used, 0])"),
        (18, "y, k = v"),
        (19, "y = (self.norm(y + F.relu(x)))"),
        (20, "y[y.le(0) & (x > 0)] = (float('-inf'))"),
        (20, "y[(y.eq(0)) & (x > 0)] = torch.finfo(y.dtype).min"),
        (20, "y[y.le(0) & ((x != 0))] = torch.finfo(y.dtype).min"),
        (21, "y = y if (used != x.size(0)) else x"),
        (
            22,
            "return (k.transpose(1, 2).reshape(2, 3)), F.scaled_dot_product_attention(x, k, v, dropout_p=0.5)",
        ),
        (
            22,
            "return k.view(2, 3), (F.scaled_dot_product_attention(x, k, v, "
            "dropout_p=0.5 if self.training else 0.0))",
        ),
    ],
)
def test_what_a_call_or_a_constant_lacks_is_tried(line: int, new: str) -> None:
    assert new in lines(LACKING, line)


@pytest.mark.parametrize("made", ["nn.Sequential", "", "OrderedDict"])
def test_layers_are_exchanged_at_the_line_of_the_later_one(made: str) -> None:
    begin, end = f"layers = {made}({'' if made else '['}\n", f"\n{'' if made else ']'})\n"
    layers = ["a=A()", "b=B()", "c=C()"] if made == "OrderedDict" else ["A()", "B()", "C()"]
    text, wanted = (begin + ",\n".join(some) + end for some in (layers, [layers[i] for i in (0, 2, 1)]))
    same = ast.dump(ast.parse(wanted))
    assert [at for at, new in Edits(text).among([1], []) if ast.dump(ast.parse(new)) == same] == [4]


def test_rarer_functions_become_usual_ones() -> None:
    text = "import torch\n\n\ndef f(x):\n    y = nn.Softplus()(x)\n    return y.median(-1)\n"
    assert "y = (nn.ReLU())(x)" in lines(text, 5)
    assert any("(y.mean(-1))" in one for one in lines(text, 6))


def test_numpy_makes_floats_unless_told() -> None:
    assert "return (np.ones(n, dtype=bool))" in lines(
        "import numpy as np\n\n\ndef f(n):\n    return np.ones(n)\n", 5
    )


def test_an_index_may_lack_a_dimension() -> None:
    assert "return (x[:, None])" in lines("def f(x):\n    return x[:]\n", 2)


def test_an_operation_that_right_code_has_and_the_file_has_not_comes_early() -> None:
    every = [list(Edits(TEXT, right=RIGHT, lacking=names).among([19], [])) for names in ((), ("exp", "tril"))]
    first = [next(i for i, (_, new) in enumerate(some) if "return (x.tril())" in new) for some in every]
    assert first[1] < first[0]
    assert sorted(every[0]) == sorted(every[1])


def test_a_module_of_right_code_is_tried_for_one_that_does_nothing_before_others() -> None:
    tried = [new for _, new in Edits(TEXT, right=RIGHT).among([19], [], [9])]
    other = next(i for i, new in enumerate(tried) if "self.norm = (nn.LayerNorm(size))" in new)
    assert other < len(tried) / 2


def test_an_attribute_that_nothing_reads_is_tried_for_another_one() -> None:
    text = TEXT.replace("return x\n", "return self.scale(x)\n").replace(
        "self.norm =", "self.scale = nn.ReLU()\n        self.norm ="
    )
    line = text.splitlines().index("        return self.scale(x)") + 1
    tried = [new for at, new in Edits(text).among([line], []) if at == line]
    assert any("return (self.norm)(x)" in new for new in tried[:40])


@pytest.mark.parametrize(("wrong", "right"), [("sigmoid", "exp"), ("enable_grad", "no_grad")])
def test_functions_that_right_code_has_more_often_are_tried_for_others(wrong: str, right: str) -> None:
    assert f"return (torch.{right}(x))" in lines(f"import torch\ndef f(x):\n    return torch.{wrong}(x)\n", 3)


def test_a_module_that_does_nothing_and_gets_arguments_is_replaced_first() -> None:
    tried = [new for _, new in Edits(TEXT, right=RIGHT).among([19], [9])]
    assert "self.norm = (nn.LayerNorm(size))" in tried[0]


def test_a_backward_pass_gets_a_factor_that_was_saved() -> None:
    text = "def backward(ctx, grad):\n    hat, gain = ctx.saved_tensors\n    pull = grad\n    return pull * hat\n"
    assert "pull = (grad * gain)" in lines(text, 3)
    assert "pull = (grad * gain)" not in lines(text.replace("ctx.saved_tensors", "ctx"), 3)
