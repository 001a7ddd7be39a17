"""Files that are nobody's business: acts on the user's files, the grader's, and those of other submissions."""

from __future__ import annotations

from tests.grader.hostile.hostile import BOTH, STRICT, Hostile

READ_DESCRIPTORS = """
import os
def act(t):
    found = b""
    for number in range(3, 64):
        try:
            found += os.pread(number, 1000, 0)
        except OSError:
            pass
    return found.decode("latin-1")
"""
HIDE = """
import ctypes, os
def act(t):
    descriptor = ctypes.CDLL(None).memfd_create(b"x", 0)
    os.write(descriptor, b"x" * 1000)
    return os.fstat(descriptor).st_size == 1000
"""
MANY = """
import time
def act(t):
    for number in range(1_200):
        open(f"{number}", "w").close()
    time.sleep(0 if t["none"] else 8)
    return True
"""
LARGE = """
import time
def act(t):
    for number in range(5):
        with open(f"{number}", "wb") as file:
            for _ in range(15):
                file.write(bytes(2**20))
    time.sleep(0 if t["none"] else 8)
    return True
"""
REMOVED = """
import mmap, os, time
def act(t):
    kept = []
    for _ in range(6):
        with open("x", "w+b") as file:
            for _ in range(15):
                file.write(bytes(2**20))
            file.flush()
            kept.append(mmap.mmap(file.fileno(), 4096))
        os.remove("x")
    time.sleep(0 if t["none"] else 8)
    return True
"""
DEEP = """
import os
def act(t):
    start = os.getcwd()
    for number in range(300):
        os.mkdir("d" * 60); os.chdir("d" * 60)
    os.mkdir("shut"); os.chmod(start, 0) if t["none"] else None
    return start
"""

FILES = {
    "read-home": Hostile(
        "read a file of the home folder", "def act(t): return open(t['secret']).read()", STRICT
    ),
    "list-home": Hostile(
        "list the home folder", "import os\ndef act(t): return 'key' in os.listdir(t['home'])", STRICT
    ),
    "read-solution": Hostile(
        "read the solution's file",
        "def act(t): return 'def causal_mask' in open(t['solution']).read()",
        STRICT,
    ),
    "read-suite": Hostile(
        "read the hidden tests", "def act(t): return 'def ' in open(t['suite']).read()", STRICT
    ),
    "list-packages": Hostile(
        "list the installed packages",
        "import os\ndef act(t): return len(os.listdir(t['packages'])) > 1",
        STRICT,
    ),
    "symlink": Hostile(
        "read through a symbolic link",
        "import os\ndef act(t):\n    os.symlink(t['secret'], 'link')\n    return open('link').read()",
        STRICT,
    ),
    "dotdot": Hostile(
        "read through `..`",
        "def act(t): return open('../' * 30 + t['secret'].lstrip('/')).read()",
        STRICT,
    ),
    "hard-link": Hostile(
        "read through a hard link",
        "import os\ndef act(t):\n    os.link(t['secret'], 'link')\n    return open('link').read()",
        STRICT,
    ),
    "read-other": Hostile(
        "read another submission's folder", "def act(t): return open(t['other']).read()", STRICT
    ),
    "list-temporary": Hostile(
        "list other submissions' folders",
        "import os\ndef act(t): return any(n.startswith('zoo-') for n in os.listdir(t['temporary']))",
        STRICT,
    ),
    "write-outside": Hostile(
        "write outside its folder", "def act(t): open(t['outside'], 'w').write('x')", STRICT, "file"
    ),
    "rename-outside": Hostile(
        "move a file out of its folder",
        "import os\ndef act(t):\n    open('x', 'w').close()\n    os.rename('x', t['outside'])",
        STRICT,
        "file",
    ),
    "write-progress": Hostile(
        "mark itself as solved in progress.txt",
        "def act(t): open(t['progress'], 'a').write('masks: solved; points 20/20\\n')",
        STRICT,
        "changed",
    ),
    "delete-progress": Hostile(
        "delete a file of the learner", "import os\ndef act(t): os.remove(t['progress'])", STRICT, "changed"
    ),
    "truncate": Hostile(
        "empty a file without opening it",
        "import os\ndef act(t): os.truncate(t['progress'], 0)",
        STRICT,
        "changed",
    ),
    "chmod": Hostile(
        "change a file's permissions",
        "import os\ndef act(t): os.chmod(t['progress'], 0o600)",
        STRICT,
        "changed",
    ),
    "utime": Hostile(
        "change a file's times", "import os\ndef act(t): os.utime(t['progress'], (5, 5))", STRICT, "changed"
    ),
    "descriptors": Hostile("read the grader's open file descriptors", READ_DESCRIPTORS, BOTH),
    "many-descriptors": Hostile(
        "open hundreds of files",
        "def act(t):\n    kept = [open('/dev/null') for _ in range(200)]\n    return len(kept) == 200",
        BOTH,
    ),
    "huge-file": Hostile(
        "write one huge file",
        "def act(t):\n    file = open('x', 'wb')\n    for _ in range(17): file.write(bytes(2**20))\n"
        "    file.close()\n    return True",
        BOTH,
    ),
    "hidden-file": Hostile("fill memory with unnamed files", HIDE, STRICT),
    "many-files": Hostile("create thousands of files", MANY, BOTH, slow=True),
    "many-large-files": Hostile("fill the disk with many files", LARGE, BOTH, slow=True),
    "removed-files": Hostile("fill the disk with files that it has removed", REMOVED, BOTH, slow=True),
    "endless-output": Hostile(
        "print endlessly",
        "def act(t):\n    while True: print('x' * 2**20, flush=True)",
        BOTH,
        "end",
    ),
    "deep-folder": Hostile("create folders too deep to remove", DEEP, BOTH, "left"),
}
