"""Processes, signals and the network: acts that reach beyond the worker."""

from __future__ import annotations

from tests.grader.hostile.hostile import BOTH, STRICT, Hostile

FORK = """
import os
def act(t):
    pid = os.fork()
    if pid == 0: os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
"""
BOMB = """
import os, time
def act(t):
    for _ in range(60):
        if os.fork() == 0:
            time.sleep(30); os._exit(0)
    return True
"""
THREADS = """
import threading, time
def act(t):
    threads = [threading.Thread(target=time.sleep, args=(0.2,), daemon=True) for _ in range(100)]
    for thread in threads: thread.start()
    return True
"""
PRELOAD = """
import os, sys
def act(t):
    open("a.py", "w").write("raise SystemExit(7)")
    pid = os.posix_spawn(sys.executable, [sys.executable, "-I", "-S", "a.py"], {"LD_PRELOAD": "libm.so.6"})
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
"""
REPLACE = """
import os, sys
def act(t):
    code = "import time; open(%r, 'w').close(); time.sleep(1)" % t["outside"]
    os.execve(sys.executable, [sys.executable, "-I", "-S", "-c", code], {})
"""
DAEMON = """
import os, time
def act(t):
    read, write = os.pipe()
    if os.fork() == 0:
        os.setsid()
        pid = os.fork()
        if pid == 0:
            for number in range(64):
                try: os.close(number)
                except OSError: pass
            time.sleep(60); os._exit(0)
        os.write(write, str(pid).encode()); os._exit(0)
    return int(os.read(read, 20))
"""
SESSION = """
import os
def act(t):
    pid = os.fork()
    if pid == 0:
        os.setsid(); os._exit(7)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
"""
OUTLIVE = """
import ctypes
def act(t): return ctypes.CDLL(None).prctl(1, 0, 0, 0, 0) == 0
"""
MORE_TIME = """
import resource
def act(t):
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard + 100 if hard > 0 else hard))
    return True
"""
LISTEN = """
import socket
def act(t):
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        one.listen()
        return True
"""


def _connects(family: str, kind: str, address: str) -> str:
    return (
        f"import socket\ndef act(t):\n    one = socket.socket(socket.{family}, socket.{kind})\n    one.settimeout(2)\n"
        f"    one.connect({address}); one.send(b'x')"
    )


PROCESSES = {
    "fork": Hostile("start a process", FORK, STRICT),
    "fork-bomb": Hostile("start processes endlessly (fork bomb)", BOMB, STRICT),
    "threads": Hostile("start a hundred threads", THREADS, STRICT),
    "preload": Hostile("run a program with LD_PRELOAD", PRELOAD, STRICT),
    "replace": Hostile("replace itself by another program (exec)", REPLACE, STRICT, "file"),
    "daemon": Hostile("leave a daemon behind", DAEMON, BOTH, "left"),
    "new-session": Hostile("leave its process group", SESSION, STRICT),
    "kill": Hostile(
        "kill another process of the user",
        "import os\ndef act(t): os.kill(t['victim'], 9)",
        STRICT,
        "dead",
    ),
    "signal-parent": Hostile(
        "signal its parent", "import os\ndef act(t): return os.kill(os.getppid(), 0) is None", STRICT
    ),
    # Signal 0 asks for the right to signal, and harms nobody.
    "signal-all": Hostile(
        "signal every process: kill(-1)", "import os\ndef act(t): return os.kill(-1, 0) is None", STRICT
    ),
    "outlive": Hostile("outlive the grader", OUTLIVE, STRICT),
    "more-time": Hostile("raise its own resource limits", MORE_TIME, STRICT, rights="limits"),
    "tcp": Hostile(
        "connect by TCP", _connects("AF_INET", "SOCK_STREAM", "('127.0.0.1', t['tcp'])"), STRICT, "knock"
    ),
    "udp": Hostile(
        "send by UDP", _connects("AF_INET", "SOCK_DGRAM", "('127.0.0.1', t['udp'])"), STRICT, "knock"
    ),
    "unix": Hostile(
        "connect to a Unix socket", _connects("AF_UNIX", "SOCK_STREAM", "t['unix']"), STRICT, "knock"
    ),
    "abstract": Hostile(
        "connect to an abstract Unix socket",
        _connects("AF_UNIX", "SOCK_STREAM", "chr(0) + t['abstract']"),
        STRICT,
        "knock",
    ),
    "listen": Hostile(
        "open a port",
        LISTEN,
        STRICT,
    ),
    "netlink": Hostile(
        "query the network configuration (netlink)",
        "import socket\ndef act(t): return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).fileno() > 0",
        STRICT,
    ),
}
