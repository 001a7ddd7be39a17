"""The confinement, part by part: its tables, its filter on both machines, and what a worker can still do."""

from __future__ import annotations

import json
import os
import platform
import re
import secrets
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from grader.core.submission import SubmissionError
from grader.sandbox.process import Limits, Worker
from grader.sandbox.remote import RemoteSubmission
from grader.worker.confinement import cuda, landlock, reach, seccomp, syscalls
from tests import ROOT

LINUX = sys.platform.startswith("linux") and platform.machine() in syscalls.ARCHITECTURES
strict_only = pytest.mark.skipif(not (LINUX and landlock.version()), reason="needs Linux with Landlock")

HEADERS = {  # where distributions have them
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h"),
    "aarch64": ("/usr/include/asm-generic/unistd.h",),
}


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    header = next((Path(one) for one in HEADERS[machine] if Path(one).exists()), None)
    if header is None:
        pytest.skip("the kernel's headers are not installed")
    defined = dict(re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text()))
    generic = {"newfstatat": "fstatat"}
    ours = {
        **syscalls.allowed(machine, cuda=True),
        "clone3": syscalls.CLONE3,
        "capset": syscalls.CAPSET[machine],
        "landlock_create_ruleset": syscalls.LANDLOCK_CREATE_RULESET,
        "landlock_add_rule": syscalls.LANDLOCK_ADD_RULE,
        "landlock_restrict_self": syscalls.LANDLOCK_RESTRICT_SELF,
    }
    for name, number in ours.items():
        assert int(defined.get(name) or defined[generic[name]]) == number, name
    if machine == "aarch64":  # what it never had is what its header does not define
        listed = {**syscalls.ALLOWED, **syscalls.ALLOWED_WITH_CUDA}
        missing = {name for name, (_, number) in listed.items() if number is None}
        assert not missing & defined.keys()


ALLOW, EPERM, ENOSYS, KILL = 0x7FFF0000, 0x00050001, 0x00050026, 0x80000000


def verdict(
    machine: str, number: int, *arguments: int, architecture: int | None = None, cuda: bool = False
) -> int:
    """What the filter says, run as the kernel would."""
    code = seccomp.program(machine, pid=77, cuda=cuda)
    words = {0: number, 4: syscalls.ARCHITECTURES[machine] if architecture is None else architecture}
    for index in range(6):
        value = arguments[index] if index < len(arguments) else 0
        words[16 + 8 * index], words[20 + 8 * index] = value & 0xFFFFFFFF, value >> 32
    at = loaded = 0
    while True:
        operation, true, false, constant = code[at]
        assert max(true, false) < 256
        at += 1
        if operation == 0x20:
            loaded = words[constant]
        elif operation == 0x54:
            loaded &= constant
        elif operation == 0x15:
            at += true if loaded == constant else false
        else:
            assert operation == 0x06
            return constant


@pytest.mark.parametrize("machine", syscalls.ARCHITECTURES)
def test_the_filter_allows_what_is_listed_and_nothing_else(machine: str) -> None:
    numbers = syscalls.allowed(machine)
    looked_at = {"fcntl", "ioctl", "prctl", "prlimit64", "kill", "tkill", "tgkill"}
    allowed = {number for name, number in numbers.items() if name not in looked_at}
    for number in range(1024):
        expected = ALLOW if number in allowed else ENOSYS if number == 435 else None
        if expected is not None or number not in numbers.values():
            assert verdict(machine, number) == (expected or EPERM), number
    assert verdict(machine, numbers["read"] | 0x40000000) == EPERM  # x32's way of asking
    assert verdict(machine, numbers["read"], architecture=0x40000003) == KILL  # i386's


@pytest.mark.parametrize("machine", syscalls.ARCHITECTURES)
@pytest.mark.parametrize(
    ("name", "harmless", "harmful"),
    [
        ("kill", [(77, 9)], [(1, 9), (0, 9), (2**32 - 1, 9), (78, 0)]),
        ("tgkill", [(77, 77, 6)], [(78, 78, 6)]),
        ("tkill", [(77, 6)], [(78, 6)]),
        ("fcntl", [(3, 1), (0, 1030)], [(3, 8), (3, 1031), (3, 1033)]),  # F_SETOWN, F_SETPIPE_SZ, F_ADD_SEALS
        ("ioctl", [(0, 0x5401)], [(0, 0x5412), (0, 0x541C)]),  # TIOCSTI, TIOCLINUX
        ("prctl", [(15, 0)], [(1, 0), (22, 2), (59, 1)]),  # PR_SET_PDEATHSIG, PR_SET_SECCOMP
        ("prlimit64", [(0, 7, 0, 5), (77, 7, 0, 5)], [(1, 7, 0, 5), (0, 7, 5, 0), (0, 7, 2**32, 0)]),
    ],
)
def test_arguments_tell_harmless_calls_from_others(
    machine: str, name: str, harmless: list[tuple[int, ...]], harmful: list[tuple[int, ...]]
) -> None:
    number = syscalls.allowed(machine)[name]
    assert {verdict(machine, number, *one) for one in harmless} == {ALLOW}
    assert {verdict(machine, number, *one) for one in harmful} == {EPERM}


THREAD, FORK, VFORK = 0x3D0F00, 0x1200011, 0x4111  # flags of clone, as the C library gives them


@pytest.mark.parametrize("machine", syscalls.ARCHITECTURES)
def test_with_cuda_the_filter_adds_threads_and_what_the_driver_calls(machine: str) -> None:
    numbers = syscalls.allowed(machine, cuda=True)
    clone, ioctl, fcntl = (numbers[name] for name in ("clone", "ioctl", "fcntl"))
    assert verdict(machine, clone, THREAD, cuda=True) == ALLOW
    assert {verdict(machine, clone, flags, cuda=True) for flags in (FORK, VFORK, 0, THREAD | 1 << 28)} == {
        EPERM
    }
    for request in (0xC020462A, 0xC0384657, 75, 37, 0x30000001):  # the driver's
        assert verdict(machine, ioctl, 3, request, cuda=True) == ALLOW
        assert verdict(machine, ioctl, 3, request) == EPERM
    for request in (
        0x5412,
        0x541C,
        0x8933,
        0x40086602,
        0x30000003,
    ):  # TIOCSTI, TIOCLINUX, SIOCGIFINDEX, FS_IOC_SETFLAGS
        assert verdict(machine, ioctl, 3, request, cuda=True) == EPERM
    assert verdict(machine, fcntl, 3, 1033, cuda=True) == ALLOW
    for name in syscalls.ALLOWED_WITH_CUDA.keys() & numbers.keys():
        assert verdict(machine, numbers[name], THREAD) == EPERM, name


ON_CUDA = """
import errno, fcntl, json, os, sys, threading
from pathlib import Path
import torch
from grader.worker import canary, confinement
from grader.worker.confinement import cuda
cuda.DEVICES = Path(sys.argv[3])
target = canary.Target(**json.loads(sys.argv[1]))
confinement.apply("strict", scratch=sys.argv[2], cpu_s=60, file_size=2**24, memory=None, device="cuda")
done = [name for name, act in canary.ACTS.items() if canary._comes_off(act, target)]
named = []
def work():
    comm = f"/proc/self/task/{threading.get_native_id()}/comm"
    opened = os.open(comm, os.O_RDWR)  # as the C library's pthread_setname_np does
    os.write(opened, b"cuda00001400006")
    named.append(open(comm).read().strip())
thread = threading.Thread(target=work)
thread.start()
thread.join()
try:
    open(f"/proc/{target.parent}/cmdline")
except OSError as error:
    named.append(type(error).__name__)
sealed = os.memfd_create("driver")
os.ftruncate(sealed, 4096)
try:
    os.execve(sealed, ["driver"], {})
except OSError as error:
    named.append(type(error).__name__)
opened = os.open(sys.argv[3] + "/nvidia0", os.O_RDWR)
for descriptor in (opened, os.open("/dev/zero", os.O_RDONLY)):  # that one may be read, and no more
    try:
        fcntl.ioctl(descriptor, 0x4601)
    except OSError as error:
        named.append(errno.errorcode[error.errno])
named.append(float((torch.ones(64, 64) @ torch.ones(64, 64)).sum()) == 64.0**3)
print(json.dumps([done, named]))
"""


@strict_only
def test_with_cuda_threads_can_be_started_and_named_and_nothing_else_comes_off(tmp_path: Path) -> None:
    """The rules for CUDA without a card: what the driver does with threads, memory and devices works, the acts do not.

    A device that knows none of the driver's ioctls stands for the card: it says ENOTTY to what reaches it.
    """
    secret = tmp_path / "secret"
    secret.write_text("s")
    with socket.socket() as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        tcp.bind(("127.0.0.1", 0))
        tcp.listen()
        udp.bind(("127.0.0.1", 0))
        target = {
            "secret": str(secret), "home": str(tmp_path), "outside": str(tmp_path / "outside"),
            "tcp": tcp.getsockname()[1], "udp": udp.getsockname()[1], "unix": "none",
            "parent": os.getpid(), "address": id(secret),
        }  # fmt: skip
        scratch = tmp_path / "scratch"
        scratch.mkdir()
        card = tmp_path / "dev" / "nvidia0"
        card.parent.mkdir()
        card.symlink_to("/dev/full")
        command = [sys.executable, "-c", ON_CUDA, json.dumps(target), str(scratch), str(card.parent)]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env={"OMP_NUM_THREADS": "1"})
    assert ran.returncode == 0, ran.stderr
    refused = "EACCES" if landlock.version() >= 5 else "ENOTTY"  # before that version Landlock knows no ioctl
    expected = ["cuda00001400006", "PermissionError", "PermissionError", "ENOTTY", refused, True]
    assert json.loads(ran.stdout) == [[], expected]


def test_the_cards_are_those_that_were_chosen_where_numbers_say_which(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("nvidia0", "nvidia1", "nvidia10", "nvidia-modeset"):
        (tmp_path / name).touch()
    monkeypatch.setattr(cuda, "DEVICES", tmp_path)
    in_order = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    for environment, expected in (
        ({}, ["nvidia0", "nvidia1", "nvidia10"]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["nvidia0", "nvidia1", "nvidia10"]),  # number 0 is the fastest
        ({**in_order, "CUDA_VISIBLE_DEVICES": "1"}, ["nvidia1"]),
        ({**in_order, "CUDA_VISIBLE_DEVICES": "2,0"}, ["nvidia10", "nvidia0"]),
        ({**in_order, "CUDA_VISIBLE_DEVICES": "3"}, ["nvidia0", "nvidia1", "nvidia10"]),  # there is none
        ({**in_order, "CUDA_VISIBLE_DEVICES": "GPU-8932f937"}, ["nvidia0", "nvidia1", "nvidia10"]),
    ):
        found = [Path(one) for one in cuda.devices(environment)]
        assert [one.name for one in found if one.parent == tmp_path] == expected
        others = {Path(one).name for one in cuda.other_cards(environment)}
        assert others == {"nvidia0", "nvidia1", "nvidia10"} - set(expected)


def test_a_card_s_file_has_the_driver_s_number_not_that_of_cuda(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cuda, "DEVICES", tmp_path)
    monkeypatch.setattr(cuda, "GPUS", tmp_path / "gpus")
    for bus, number in (("0000:04:00.0", 3), ("0000:81:00.0", 0), ("0000:c1:00.0", 7)):
        folder = tmp_path / "gpus" / bus
        folder.mkdir(parents=True)
        (folder / "information").write_text(f"Model: \t\t A card\nDevice Minor: \t {number}\n")
        if number != 7:  # a container has no file for that one
            (tmp_path / f"nvidia{number}").touch()
    first = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": "0"}
    assert cuda.devices(first)[3:] == [str(tmp_path / "nvidia3")]
    assert cuda.other_cards(first) == [str(tmp_path / "nvidia0")]


def test_the_driver_s_libraries_are_readable_one_by_one(tmp_path: Path) -> None:
    for name in ("libcuda.so.1", "libnvidia-ml.so.1", "libsecret.so", "key"):
        (tmp_path / name).touch()
    found = cuda.readable({"LD_LIBRARY_PATH": f"{tmp_path}:"})
    assert {Path(one).name for one in found if one.startswith(str(tmp_path))} == {
        "libcuda.so.1",
        "libnvidia-ml.so.1",
    }


def test_another_machine_is_no_place_for_it() -> None:
    with pytest.raises(OSError, match="no list of system calls for riscv64"):
        seccomp.program("riscv64", 1)


def homes() -> list[Path]:
    """The home folder, which some users do not have."""
    try:
        home = Path.home()
    except RuntimeError:
        return []
    return [home] if home.is_dir() else []


@strict_only
def test_no_folder_of_packages_and_no_home_is_in_reach() -> None:
    paths = [Path(one) for one in reach.readable()]
    torchs = Path(torch.__file__).resolve().parent
    assert torchs in paths
    for hidden in (torchs.parent, Path(__file__).resolve(), Path(reach.__file__).resolve(), *homes()):
        assert not any(hidden.is_relative_to(one) for one in paths), hidden
    assert not any(one.name in ("site-packages", "dist-packages") for one in paths)


@strict_only
@pytest.mark.parametrize(
    ("kernel", "rights"),
    [(1, (13, 0, 0)), (2, (14, 0, 0)), (3, (15, 0, 0)), (4, (15, 2, 0)), (5, (16, 2, 0)), (6, (16, 2, 2))],
)
def test_landlock_is_asked_for_all_that_a_kernel_can_refuse(kernel: int, rights: tuple[int, ...]) -> None:
    handled = landlock._handled(kernel)
    asked = (handled.files, handled.network, handled.scoped)
    assert asked == tuple((1 << count) - 1 for count in rights)


SETS = (
    r"import re; print(*re.findall(r'(?m)^Cap(?:Inh|Prm|Eff):\s*(\w+)$', open('/proc/self/status').read()))"
)


@strict_only
def test_root_gives_up_its_capabilities() -> None:
    before, after = (
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        ).stdout.split()
        for code in (SETS, f"from grader.worker.confinement import privileges; privileges.drop(); {SETS}")
    )
    if not any(int(one, 16) for one in before):
        pytest.skip("there are none to give up")
    assert [int(one, 16) for one in after] == [0, 0, 0]


@strict_only
def test_the_grader_is_hidden_also_among_the_libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    grader = Path(reach.__file__).resolve().parents[2]
    monkeypatch.setattr(reach.os, "__file__", str(grader.parent / "os.py"))
    paths = [Path(one) for one in reach.readable.__wrapped__()]
    assert grader.parent / "zoo" in paths
    assert not any(Path(reach.__file__).resolve().is_relative_to(one) for one in paths)


def test_what_is_hidden_is_left_out_of_a_folder_that_is_shown(tmp_path: Path) -> None:
    root = tmp_path.resolve()
    for folder in (
        "lib/python/json",
        "lib/python/site-packages/zoo",
        "lib/other",
        "mine/grader",
        "lib/python2",
    ):
        (root / folder).mkdir(parents=True)
    (root / "lib" / "python3").symlink_to("python")  # as conda has it
    (root / "lib" / "python" / "os.py").touch()
    (root / "lib" / "libc.so").symlink_to("libc.so.6")
    hidden = {root / "lib" / "python" / "site-packages", root / "mine" / "grader"}

    def shown(folder: str) -> set[str]:
        return {str(one.relative_to(root)) for one in reach._without(root / folder, hidden)}

    assert shown("lib") == {"lib/python/json", "lib/python/os.py", "lib/other", "lib/python2", "lib/libc.so"}
    assert shown("lib/other") == {"lib/other"}
    assert shown("mine/grader") == shown("lib/python/site-packages/zoo") == set()


# One worker for all of this: nothing that it tries may end it.
TRY = b"""
import os, socket, threading, subprocess, resource, signal, sys, ctypes

def tried(what, *args):
    try:
        globals()[what](*args)
    except BaseException as error:
        return type(error).__name__
    return "done"

def read(path): open(path).read()
def names(path): os.listdir(path)
def write(path): open(path, "w").write("x")
def fork(): os.fork() or os._exit(0)
def thread(): threading.Thread(target=print).start()
def program(): subprocess.run(["true"], check=True)
def connect(family): socket.socket(getattr(socket, family))
def pair(): socket.socketpair()
def kill(pid, number): os.kill(pid, number)
def more(): resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
def chmod(path): os.chmod(path, 0o600)
def truncate(path): os.truncate(path, 0)
def touch(path): os.utime(path)
def link(path): os.symlink(path, "link")
def hard(path): os.link(path, "link")
def leave(): os.setsid()
def group(): os.setpgid(0, 0)
def survive():
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(1, 0, 0, 0, 0) != 0:  # PR_SET_PDEATHSIG
        raise OSError
def raw(number, *args):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.syscall(number, *args) < 0:
        raise OSError
def use(module): __import__(module)
def own():
    os.makedirs("a/b")
    with open("a/b/file", "w") as file:
        file.write("x")
    os.rename("a/b/file", "a/b/other")
    os.remove("a/b/other"); os.removedirs("a/b")
def listed(): return os.listdir(".")
def parent(): return os.getppid()
def numbers(x):
    x = x.detach().requires_grad_()
    (x @ x).tanh().sum().backward()
    return x.grad, x.svd()[1], x.logsumexp(0)
"""


@pytest.fixture(scope="module")
def held() -> Iterator[RemoteSubmission]:
    with Worker(limits=Limits(request_s=600), level="strict") as worker:
        yield RemoteSubmission(worker, TRY, "a.py")


def outcome(submission: RemoteSubmission, *args: object) -> str:
    return str(submission.function("tried").call(args).value)


@strict_only
def test_files_beyond_its_folder_are_out_of_reach(held: RemoteSubmission, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("x")
    here = Path(__file__).resolve()
    for path in (secret, here, Path(reach.__file__), "/etc/passwd", "/proc/self/maps", "/proc/1/environ"):
        assert outcome(held, "read", str(path)) == "PermissionError", path
    parent = held.function("parent").call([]).value
    for name in ("environ", "mem", "maps", "cmdline"):
        assert outcome(held, "read", f"/proc/{parent}/{name}") == "PermissionError"
    packages, temporary = Path(torch.__file__).parents[1], tempfile.gettempdir()
    for folder in (tmp_path, *homes(), here.parent, packages, "/", temporary, "/proc"):
        assert outcome(held, "names", str(folder)) == "PermissionError", folder
    for change in ("write", "chmod", "truncate", "touch", "link", "hard"):
        assert outcome(held, change, str(secret)) == "PermissionError"
    assert outcome(held, "write", str(tmp_path / "new")) == "PermissionError"
    unused = f"zoo-test-{secrets.token_hex(8)}"  # beside its folder are those of everybody
    assert outcome(held, "write", f"../{unused}") == "PermissionError"
    assert not Path(temporary, unused).exists()
    assert secret.read_text() == "x"


@strict_only
def test_its_own_folder_and_libraries_are_there(held: RemoteSubmission) -> None:
    assert outcome(held, "own") == "done"
    assert held.function("listed").call([]).value == []
    for module in ("json", "sqlite3", "decimal", "sympy", "torch.optim", "numpy.fft", "unittest.mock"):
        assert outcome(held, "use", module) == "done", module
    for module in ("zoo", "grader", "pytest", "click"):  # installed, and not for it
        assert outcome(held, "use", module) in ("ImportError", "ModuleNotFoundError"), module


@strict_only
def test_no_process_no_network_no_signal(held: RemoteSubmission) -> None:
    parent = held.function("parent").call([]).value
    for what in ("fork", "program", "pair", "leave", "group"):
        assert outcome(held, what) == "PermissionError", what
    assert outcome(held, "thread") == "RuntimeError"
    assert outcome(held, "survive") == "OSError"
    assert outcome(held, "more") == "ValueError"
    for family in ("AF_INET", "AF_INET6", "AF_UNIX", "AF_NETLINK"):
        assert outcome(held, "connect", family) == "PermissionError"
    for pid in (parent, os.getpid(), 1, -1, 0):
        assert outcome(held, "kill", pid, 0) == "PermissionError", pid
    for number in (101, 310, 425, 434, 319, 29) if platform.machine() == "x86_64" else (117, 270, 425, 434):
        assert outcome(held, "raw", number, 0, 0, 0, 0) == "OSError", number  # ptrace, process_vm_readv, ...


@strict_only
def test_the_numbers_are_those_of_a_free_worker(held: RemoteSubmission) -> None:
    x = torch.randn(20, 20)
    confined = held.function("numbers").call([x]).value
    with Worker(limits=Limits(request_s=600)) as worker:
        free = RemoteSubmission(worker, TRY, "a.py").function("numbers").call([x]).value
    for one, other in zip(confined, free, strict=True):
        assert torch.equal(one, other)


@strict_only
def test_it_may_end_itself_by_a_signal() -> None:
    worker = Worker(level="strict")
    with pytest.raises(SubmissionError, match="signal 6"):
        RemoteSubmission(worker, b"import os\nos.abort()", "a.py")


@strict_only
def test_it_is_not_started_half_confined(tmp_path: Path) -> None:
    code = (
        "import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "from grader.worker import confinement\n"
        f"confinement.apply('strict', scratch={str(tmp_path)!r}, cpu_s=9, file_size=9, memory=None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert "ConfinementError: 2 threads run already" in done.stderr
