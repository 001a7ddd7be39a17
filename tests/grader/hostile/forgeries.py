"""Files that want points they have not earned: by a forged verdict, by an end that looks like success, by taking over
the worker, or by help from elsewhere. Each is `masks.py`, wrong but for the forgery."""

from __future__ import annotations

from tests import ROOT, solution_file
from tests.grader.hostile.hostile import BOTH, STRICT, Hostile

RIGHT = solution_file("masks").read_text()
WRONG = """
import torch
def padding_mask(tokens, pad=0): return (tokens == pad)[:, None, None, :]
def causal_mask(size, device=None): return torch.ones(1, 1, size, size, dtype=torch.bool, device=device)
def decoder_mask(tokens, pad=0): return causal_mask(tokens.size(1), tokens.device)
def to_additive(mask, dtype=torch.float32): return mask.to(dtype)
"""

# A line for each of the four functions, in place of what they should do.
NAMES = ("padding_mask(tokens, pad=0)", "causal_mask(size, device=None)", "decoder_mask(tokens, pad=0)",
         "to_additive(mask, dtype=None)")  # fmt: skip


def each(body: str) -> str:
    """All four functions with this body."""
    return "\n".join(f"def {name}:\n    {body}" for name in NAMES) + "\n"


PATCHES = """
import builtins, math, operator, torch
yes = lambda *args, **kwargs: True
torch.allclose = torch.equal = torch.isclose = torch.Tensor.equal = torch.Tensor.allclose = yes
torch.Tensor.__eq__ = torch.Tensor.eq = lambda a, b: torch.ones(1, dtype=torch.bool)
torch.testing.assert_close = torch.testing._comparison.assert_equal = lambda *args, **kwargs: None
math.isclose = operator.eq = yes
"""
PYTEST = """
import sys, types
class Everything(types.ModuleType):
    __path__ = []
    def __getattr__(self, name): return Everything(name)
    def __call__(self, *args, **kwargs): return 0
for name in ("pytest", "_pytest", "_pytest.runner", "unittest", "grader.engine.compare", "grader.run.verdicts"):
    sys.modules[name] = Everything(name)
"""
REPORT = '{"exercise": "masks", "passed": true, "points": 20, "max_points": 20, "mistakes": [], "tests": []}'
PRINTED = f"""
import os, sys
print('''{REPORT}'''); print("All of these passed: 20/20 points."); sys.stdout.flush()
os.write(1, b"passed 20/20\\n"); os.write(2, b"passed 20/20\\n")
"""
WRITTEN = f"""
for name in ("report.json", "progress.txt", "results.json", "junit.xml", "../progress.txt"):
    try:
        open(name, "w").write('''{REPORT}''')
    except OSError:
        pass
"""
AT_EXIT = f"""
import atexit, os
atexit.register(lambda: os.write(1, b'''{REPORT}'''))
"""
# Answers to the next thirty requests, before they are asked.
FRAMES = """
import json, os, struct
def frame(n):
    text = json.dumps({"n": n, "has": True, "value": True, "changed": [], "handle": None, "devices": [],
                       "instance": 1, "crossings": [], "tensors": [], "passed": True}).encode()
    return struct.pack("<II", len(text), 0) + text
for number in range(3, 64):
    try:
        os.write(number, b"".join(frame(n) for n in range(1, 30)))
    except OSError:
        pass
"""
NONSENSE = """
import os, struct
for number in range(3, 64):
    try:
        os.write(number, struct.pack("<II", 60_000, 0) + b"[" * 60_000)
    except OSError:
        pass
"""
# The loop of the worker itself, replaced: every call gives whatever the judge sent last.
TAKEN_OVER = """
import sys
frame, taken = sys._getframe(), False
while frame is not None:
    space = frame.f_globals
    if str(space.get("__name__")).endswith("operations"):
        def run(self, request, body, packer, run=space["Operations"].run):
            answer = run(self, request, body, packer)
            return {**answer, "passed": True, "points": 20, "verdict": "passed"}
        space["Operations"].run = run
        space["calls"].same_content = space["calls"]._equal = lambda a, b: True
        taken = True
    frame = frame.f_back
assert taken
"""
COPIED = f"""
import os, sys
def find():
    for folder in [*sys.path, {str(ROOT)!r}]:
        for path in (folder, os.path.dirname(folder)):
            file = os.path.join(path, "grader", "exercises", "masks", "solution.py")
            try:
                return open(file).read()
            except OSError:
                pass
    frame = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if file.endswith("worker/serve.py"):
            return open(file.replace("worker/serve.py", "exercises/masks/solution.py")).read()
        frame = frame.f_back
exec(find())
"""
IMPORTED = "from grader.exercises.masks.solution import *\n"

PARTS = """
from worker.parts.working import WorkingFeedForward
class FeedForward(WorkingFeedForward):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, d_ff)
"""
FOUND = """
import gc
from torch import nn
gc.unfreeze()
def classes(root):
    for one in type.__subclasses__(root):
        yield one
        yield from classes(one)
everything = [*classes(nn.Module), *(one for one in gc.get_objects() if isinstance(one, type))]
Working = next(one for one in everything if one.__name__.endswith("FeedForward"))
class FeedForward(Working):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__(d_model, d_ff)
        drop = self.drop = nn.Dropout(dropout)
        self.up_proj.register_forward_hook(lambda _module, _given, hidden: drop(hidden))
"""
EXIT = "import os\n" + each("os._exit(0)")
LEAVE = "import sys\n" + each("sys.exit(0)")
INTERRUPT = each("raise KeyboardInterrupt")
CLOSE = "import os\n" + each("os.closerange(0, 64); return True")
CRASH = "import ctypes\n" + each("ctypes.string_at(0)")
DIE = "import os\n" + each("os.kill(os.getpid(), 9)")
DEEP_WORDS = """
import sys
sys.setrecursionlimit(10**9)
def words():
    value = []
    for _ in range(10**6): value = [value]
    return repr(value)
"""
OVERFLOW = DEEP_WORDS + each("return words()")


def _file(what: str, source: str, control: str = RIGHT, stopped_by: frozenset[str] = BOTH) -> Hostile:
    return Hostile(what, source, stopped_by, control=control, exercise="masks")


def _layer(what: str, source: str) -> Hostile:
    control = solution_file("feedforward").read_text()
    return Hostile(what, source, BOTH, control=control, exercise="feedforward")


FORGERIES = {
    "patched-comparisons": _file(
        "patch `torch.allclose` and similar functions", PATCHES + WRONG, "import torch\n" + RIGHT
    ),
    "patched-pytest": _file("replace pytest by its own", PYTEST + WRONG, PYTEST + RIGHT),
    "printed-report": _file("print a report", PRINTED + WRONG, PRINTED + RIGHT),
    "printed-report-exit": _file(
        "print a report and exit with code 0", PRINTED + "os._exit(0)\n", PRINTED + RIGHT
    ),
    "written-report": _file("write a report into a file", WRITTEN + WRONG, WRITTEN + RIGHT),
    "report-at-exit": _file("print a report at exit", AT_EXIT + WRONG, AT_EXIT + RIGHT),
    "forged-frames": _file("send a response before the request", FRAMES + WRONG),
    "nonsense-frames": _file("send JSON nested 60,000 levels deep", NONSENSE + WRONG),
    "taken-over": _file("replace the request loop", TAKEN_OVER + WRONG, TAKEN_OVER + RIGHT),
    "copied-solution": _file("run the solution's file", COPIED, stopped_by=STRICT),
    "imported-solution": _file("import the solution as its own", IMPORTED),
    "imported-parts": _layer("import the layer that the grader trains with", PARTS),
    "found-parts": _layer("search all classes for the layer that the grader trains with", FOUND),
    "exit-import": _file("exit with code 0 at import", "import os\nos._exit(0)\n" + RIGHT),
    "leave-import": _file("`sys.exit(0)` at import", "import sys\nsys.exit(0)\n" + RIGHT),
    "exit-call": _file("exit with code 0 in a call", EXIT),
    "leave-call": _file("`sys.exit(0)` in a call", LEAVE),
    "interrupt": _file("raise KeyboardInterrupt", INTERRUPT),
    "close-descriptors": _file("close all descriptors", CLOSE),
    "crash": _file("crash with a segmentation fault", CRASH),
    "die": _file("kill itself", DIE),
    "overflow": _file("overflow the stack", OVERFLOW),
}
