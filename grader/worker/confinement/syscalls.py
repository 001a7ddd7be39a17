"""System calls by name and number: those that a confined worker may make. Standard library only.

The list is an allow-list, found by tracing whole grades and imports of the standard library. What is missing, and why:

- what makes a process or a thread: clone, fork, vfork, execve;
- what speaks to others: ptrace, process_vm_readv, pidfd_open, socket, shmget, mq_open;
- what changes a file by its name, where Landlock does not look: chmod, chown, utimensat, truncate, setxattr;
- what outlives the limits or the process group: setrlimit, memfd_create, setpgid, setsid;
- what the kernel has learned lately, and where its faults are found: io_uring, bpf, userfaultfd, keyctl.
"""

from __future__ import annotations

# name: number on x86-64, number on aarch64 (None: that machine never had it)
ALLOWED: dict[str, tuple[int, int | None]] = {
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "newfstatat": (262, 79),
    "brk": (12, 214),
    "futex": (202, 98),
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mremap": (25, 216),
    "mprotect": (10, 226),
    "madvise": (28, 233),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "lseek": (8, 62),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "open": (2, None),
    "openat": (257, 56),
    "creat": (85, None),
    "stat": (4, None),
    "fstat": (5, 80),
    "lstat": (6, None),
    "statx": (332, 291),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "getdents": (78, None),
    "getdents64": (217, 61),
    "statfs": (137, 43),
    "fstatfs": (138, 44),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "ftruncate": (77, 46),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "flock": (73, 32),
    "umask": (95, 166),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigtimedwait": (128, 137),
    "rt_sigsuspend": (130, 133),
    "pause": (34, None),
    "sigaltstack": (131, 132),
    "alarm": (37, None),
    "setitimer": (38, 103),
    "getitimer": (36, 102),
    "nanosleep": (35, 101),
    "clock_nanosleep": (230, 115),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "getrusage": (98, 165),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "getpid": (39, 172),
    "getppid": (110, 173),
    "gettid": (186, 178),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getgroups": (115, 158),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getpgid": (121, 155),
    "getpgrp": (111, None),
    "getsid": (124, 156),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getrandom": (318, 278),
    "getcpu": (309, 168),
    "getrlimit": (97, 163),
    "sched_getaffinity": (204, 123),
    "sched_yield": (24, 124),
    "set_robust_list": (273, 99),
    "get_robust_list": (274, 100),
    "set_tid_address": (218, 96),
    "rseq": (334, 293),
    "membarrier": (324, 283),
    "restart_syscall": (219, 128),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
}

# With CUDA too: threads (`seccomp` looks at the flags), and what its driver calls. What memfd_create makes cannot be
# run as a program, since no call that runs one is allowed.
ALLOWED_WITH_CUDA: dict[str, tuple[int, int | None]] = {
    "clone": (56, 220),
    "memfd_create": (319, 279),
    "eventfd2": (290, 19),
    "epoll_create1": (291, 20),
    "epoll_ctl": (233, 21),
    "epoll_wait": (232, None),
    "epoll_pwait": (281, 22),
    "mincore": (27, 232),
    "get_mempolicy": (239, 236),
    "sched_get_priority_max": (146, 125),
    "sched_get_priority_min": (147, 126),
    "sched_getscheduler": (145, 120),
    "sched_getparam": (143, 121),
}

# Not allowed, but told to be missing, so that the C library uses `clone` instead, whose refusal it understands.
CLONE3 = 435

# Made by the confinement itself. Landlock's are the same on every machine.
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446
CAPSET: dict[str, int] = {"x86_64": 126, "aarch64": 91}

# Numbers by which the kernel names a machine to a filter (AUDIT_ARCH_* of linux/audit.h).
ARCHITECTURES: dict[str, int] = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}


def allowed(machine: str, cuda: bool = False) -> dict[str, int]:
    """Numbers of the allowed system calls on a machine, as `platform.machine` names it."""
    column = list(ARCHITECTURES).index(machine)
    calls = {**ALLOWED, **ALLOWED_WITH_CUDA} if cuda else ALLOWED
    numbers = {name: pair[column] for name, pair in calls.items()}
    return {name: number for name, number in numbers.items() if number is not None}
