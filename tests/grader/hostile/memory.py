"""What the judge knows: acts that look for it in other processes, and in their own."""

from __future__ import annotations

from tests.grader.hostile.hostile import BOTH, STRICT, Hostile

VM_READ = """
import ctypes, os
def act(t):
    buffer = ctypes.create_string_buffer(64)
    own = (ctypes.c_size_t * 2)(ctypes.addressof(buffer), 64)
    theirs = (ctypes.c_size_t * 2)(t["address"], 64)
    call = ctypes.CDLL(None, use_errno=True).process_vm_readv
    if call(t["judge"], own, ctypes.c_ulong(1), theirs, ctypes.c_ulong(1), ctypes.c_ulong(0)) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")
    return buffer.value.decode()
"""
TRACE = """
import ctypes
def act(t):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(0x4206, t["victim"], None, None) < 0:  # PTRACE_SEIZE
        raise OSError(ctypes.get_errno(), "ptrace")
    return True
"""
STEAL = """
import ctypes, os
def act(t):
    call = ctypes.CDLL(None, use_errno=True).syscall
    descriptor = call(438, os.pidfd_open(t["judge"]), t["open"], 0)  # pidfd_getfd
    if descriptor < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return os.pread(descriptor, 100, 0).decode()
"""
OBJECTS = """
import gc
def act(t):
    found = []
    for one in gc.get_objects():
        if type(one) is dict:
            found += [x for x in list(one.values()) if type(x) is str and x.startswith("SECRET-")]
    return " ".join(found)
"""
FRAMES = """
import sys
def act(t):
    frame, found = sys._getframe(), []
    while frame is not None:
        found += [str(x) for x in list(frame.f_locals.values()) if type(x) is str]
        frame = frame.f_back
    return " ".join(x for x in found if x.startswith("SECRET-"))
"""
SCAN = """
import re
def act(t):
    with open("/proc/self/maps") as file:
        areas = [line.split()[0] for line in file if line.split()[1].startswith("rw")]
    with open("/proc/self/mem", "rb", 0) as memory:
        for area in areas:
            start, end = (int(x, 16) for x in area.split("-"))
            if end - start > 2**26:
                continue
            try:
                memory.seek(start)
                if found := re.search(rb"SECRET-[0-9a-f]{16}", memory.read(end - start)):
                    return found.group().decode()
            except (OSError, ValueError, OverflowError):
                pass
"""
FORCED = """
import importlib.machinery, sys
def act(t):
    sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter,
                        importlib.machinery.PathFinder]
    sys.path.append(t["project"])
    import grader.exercises
    return len(grader.exercises.__path__) > 0
"""


def _reads(name: str) -> str:
    return f"def act(t): return open(f'/proc/{{t[\"judge\"]}}/{name}', errors='replace').read()"


MEMORY = {
    "environ": Hostile("read the grader's environment variables", _reads("environ"), STRICT, rights="trace"),
    "cmdline": Hostile("read the grader's command line", _reads("cmdline"), STRICT),
    "mem": Hostile(
        "open the grader's memory",
        "def act(t):\n    file = open(f'/proc/{t[\"judge\"]}/mem', 'rb', 0)\n    file.seek(t['address'])\n"
        "    return file.read(64).decode('latin-1')",
        STRICT,
        rights="trace",
    ),
    "fd": Hostile(
        "open a file of the grader through /proc",
        'def act(t): return open(f\'/proc/{t["judge"]}/fd/{t["open"]}\').read()',
        STRICT,
        rights="trace",
    ),
    "vm-read": Hostile("read the grader's memory with process_vm_readv", VM_READ, STRICT, rights="trace"),
    "trace": Hostile("trace another process", TRACE, STRICT, rights="trace"),
    "steal-descriptor": Hostile("copy a file descriptor of the grader", STEAL, STRICT, rights="trace"),
    "own-environ": Hostile(
        "search its environment variables for secrets",
        "import os\ndef act(t): return ' '.join(os.environ.values())",
        BOTH,
    ),
    "objects": Hostile("search all Python objects for the grader's", OBJECTS, BOTH),
    "frames": Hostile("search the stack frames of its callers", FRAMES, BOTH),
    "main": Hostile(
        "inspect `__main__`",
        "import __main__\ndef act(t): return ' '.join(x for x in vars(__main__).values() if type(x) is str)",
        BOTH,
    ),
    "scan": Hostile("search its own memory for the grader's data", SCAN, BOTH),
    "import": Hostile(
        "import the solutions",
        "def act(t):\n    import grader.exercises\n    return len(grader.exercises.__path__) > 0",
        BOTH,
    ),
    "import-tests": Hostile(
        "import the hidden tests",
        "def act(t):\n    import grader.engine\n    return len(grader.engine.__path__) > 0",
        BOTH,
    ),
    "forced-import": Hostile("import the solutions despite the import hook", FORCED, STRICT),
}
