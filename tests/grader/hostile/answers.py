"""Files whose answers lie: they look right to a careless comparison, harm who reads them, or are right only as long
as they believe that they are tested."""

from __future__ import annotations

from tests import solution_file
from tests.grader.hostile.forgeries import RIGHT, WRONG, each
from tests.grader.hostile.hostile import BOTH, Hostile

FEEDFORWARD = solution_file("feedforward").read_text()

SUBCLASS = """
import torch
class Lying(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None): return True
    def __reduce__(self): return (print, ("unpickled",))
    def __eq__(self, other): return True
    __hash__ = None
"""
EQUAL = """
class Equal:
    shape, dtype, device, ndim = (1,), "bool", "cpu", 4
    def __eq__(self, other): return True
    def __hash__(self): return 1
    def __getattr__(self, name): return self
    def __call__(self, *args, **kwargs): return self
    def __bool__(self): return True
    def __iter__(self): return iter(())
"""
BOMB = """
import os
class Bomb:
    def __reduce__(self): return (os.system, ("touch unpickled",))
class BombError(Exception):
    def __reduce__(self): return (os.system, ("touch unpickled",))
    def __str__(self): return Bomb()
"""
DEEP = """
def deep():
    value = []
    for _ in range(60_000): value = [value]
    return value
"""
# Right for whoever asks the first time with an argument, and for small ones; wrong in earnest.
FIRST_ONLY = (
    RIGHT
    + """
calls = 0
def wrap(function):
    def inner(*args, **kwargs):
        global calls
        calls += 1
        found = function(*args, **kwargs)
        return found if calls < 3 else ~found if found.dtype == torch.bool else found + 1
    return inner
padding_mask, causal_mask, decoder_mask = (wrap(f) for f in (padding_mask, causal_mask, decoder_mask))
"""
)
SMALL_ONLY = RIGHT.replace("(tokens != pad)[", "(tokens != (pad if tokens.size(1) < 6 else -1))[")
IN_PLACE = RIGHT.replace(
    "    return (tokens != pad)",
    "    tokens.mul_(1).add_(1).sub_(1).clamp_(max=1)\n    return (tokens != pad)",
)
FRAME_READER = (
    RIGHT
    + """
import sys
def wrap(function):
    def inner(*args, **kwargs):
        names, frame = [], sys._getframe()
        while frame is not None:
            names.append(frame.f_code.co_filename.rpartition("/")[2] + frame.f_code.co_name)  # not of a checkout
            frame = frame.f_back
        found = function(*args, **kwargs)
        return found if any("test" in name or "suite" in name for name in names) else found.logical_not()
    return inner
padding_mask, causal_mask, decoder_mask = (wrap(f) for f in (padding_mask, causal_mask, decoder_mask))
"""
)


def _masks(what: str, source: str, control: str = RIGHT) -> Hostile:
    return Hostile(what, source, BOTH, control=control, exercise="masks")


def _layer(what: str, change: str) -> Hostile:
    source = (
        FEEDFORWARD.replace("class FeedForward", "class Own")
        + f"""
class FeedForward(Own):
    def forward(self, x):
        {change}
"""
    )
    return Hostile(what, source, BOTH, control=FEEDFORWARD, exercise="feedforward")


ANSWERS = {
    "lying-subclass": _masks(
        "return a Tensor subclass with forged results",
        SUBCLASS + each("return torch.ones(1).as_subclass(Lying)"),
        SUBCLASS + RIGHT,
    ),
    "equal-to-all": _masks("return an object that equals everything", EQUAL + each("return Equal()"), EQUAL + RIGHT),
    "unpickling": _masks(
        "return an object with a malicious pickle", BOMB + each("return [Bomb(), {Bomb(): 1}]"), BOMB + RIGHT
    ),
    "unpickling-error": _masks("raise an error with a malicious pickle", BOMB + each("raise BombError(Bomb())")),
    "deep": _masks("return lists nested 60,000 levels deep", DEEP + each("return deep()"), DEEP + RIGHT),
    "cyclic": _masks("return a list that contains itself", each("a = []; a.append(a); return a")),
    "huge": _masks(
        "return a shape of one terabyte", "import torch\n" + each("return torch.zeros(1).expand(2**40)")
    ),
    "many": _masks("return a million values", each("return [0] * 10**6")),
    "rows": _masks(
        "return a million rows", "import torch\n" + each("return torch.ones(2**20, 1, 2, 1, dtype=torch.bool)")
    ),
    "text": _masks("return a string of ten megabytes", each("return 'passed' * 2 * 10**6")),
    "nothing": _masks("return None", each("return None")),
    "truth": _masks("return True", each("return True")),
    "meta": _masks("return meta tensors", "import torch\n" + each("return torch.ones(1, device='meta')")),
    "sparse": _masks("return sparse tensors", RIGHT + "padding = padding_mask\n"
                     "def padding_mask(tokens, pad=0): return padding(tokens, pad).to_sparse()\n"),
    "dtype": _masks("return another dtype", RIGHT + "padding = padding_mask\n"
                    "def padding_mask(tokens, pad=0): return padding(tokens, pad).double()\n"),
    "shape": _masks("return the values in another shape", RIGHT + "padding = padding_mask\n"
                    "def padding_mask(tokens, pad=0): return padding(tokens, pad).flatten()\n"),
    "first-only": _masks("be correct in the first calls only", FIRST_ONLY),
    "small-only": _masks("be correct for small inputs only", SMALL_ONLY),
    "by-the-caller": _masks("be correct only if the caller is a test", FRAME_READER),
    "changed-input": _masks("change its input in place", IN_PLACE),
    "not-a-number": _layer("return NaN", "return super().forward(x) * float('nan')"),
    "double": _layer("return float64", "return super().forward(x).double()"),
    "detached": _layer("cut the gradient", "return super().forward(x).detach()"),
    "no-gradient": _layer(
        "return correct values without a gradient", "return torch.tensor(super().forward(x).tolist())"
    ),
    "mode": _layer("be correct in eval mode only", "return super().forward(x) * (0.5 if self.training else 1)"),
    "batch": _layer("be correct for one batch size only", "return super().forward(x) if x.size(0) < 3 else x"),
    "wrong": _masks("be wrong everywhere", WRONG),
}  # fmt: skip
