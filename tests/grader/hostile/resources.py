"""Time and memory without an end."""

from __future__ import annotations

from tests.grader.hostile.hostile import BOTH, Hostile

DEAF = """
import signal
def act(t):
    for number in range(1, 65):
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    while True: pass
"""
BLOCKED = """
import signal, time
def act(t):
    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
    while True: time.sleep(100)
"""
ENDLESS_WORDS = """
class Endless(Exception):
    def __str__(self):
        while True: pass
def act(t): raise Endless
"""
STUBBORN = """
def act(t):
    while True:
        try:
            while True: pass
        except BaseException:
            pass
"""

RESOURCES = {
    "loop-import": Hostile("loop at import", "while True: pass", BOTH, "end"),
    "loop-call": Hostile("loop in a call", "def act(t):\n    while True: pass", BOTH, "end"),
    "loop-deaf": Hostile("loop with all signals ignored", DEAF, BOTH, "end"),
    "sleep": Hostile("sleep for an hour", "import time\ndef act(t): time.sleep(3600)", BOTH, "end"),
    "sleep-blocked": Hostile("sleep with all signals blocked", BLOCKED, BOTH, "end"),
    "stop": Hostile("stop itself", "import os\ndef act(t): os.kill(os.getpid(), 19)", BOTH, "end"),
    "loop-words": Hostile("loop while its error message is formatted", ENDLESS_WORDS, BOTH, "end"),
    "loop-stubborn": Hostile("loop and catch every exception", STUBBORN, BOTH, "end"),
    "loop-regex": Hostile(
        "loop in C code, which ignores signals",
        "import re\ndef act(t): re.match('(a+)+$', 'a' * 40 + 'b')",
        BOTH,
        "end",
    ),
    "memory": Hostile(
        "allocate nine gigabytes",
        "import mmap\ndef act(t): return len(mmap.mmap(-1, 9 * 2**30, mmap.MAP_PRIVATE | 0x4000)) > 0",
        BOTH,
    ),
    "cpu-time": Hostile(
        "exceed its CPU time and catch the signal",
        "import signal\nsignal.signal(signal.SIGXCPU, lambda *_: None)\ndef act(t):\n    while True: pass",
        BOTH,
        "end",
        slow=True,
    ),
}
