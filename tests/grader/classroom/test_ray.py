"""Real Ray: its own on this machine, and a cluster of two nodes of which actors, a node and drivers are killed."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import random
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from grader.classroom.gradebook import Gradebook
from grader.classroom.synthetic import write_class
from tests import ROOT
from tests.grader.classroom.conftest import put
from tests.grader.classroom.test_class import done, grades
from tests.grader.processes import ZOO, below, gone, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks at processes in /proc"),
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs Ray: transformer-zoo[ray]"),
]
WORDS = ("--seed", "1", "--skip", "training,gradients,parameters")
GRADE = ("class", "grade", "c/submissions")
FILES = 14


def ray_environment(folder: Path) -> dict[str, str]:
    """For a cluster that listens on loopback only, keeps its files in `folder`, and takes one token."""
    (folder / "token").touch(mode=0o600)
    (folder / "token").write_text(secrets.token_hex(16))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    return {
        **kept,
        "PYTHONPATH": str(ROOT),
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(folder / "token"),
        "RAY_TMPDIR": str(folder),
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    }


@dataclass(frozen=True)
class Cluster:
    address: str
    nodes: tuple[int, ...]
    folder: Path
    environment: dict[str, str]

    def actors(self, node: int) -> list[int]:
        """Process ids of the slots on a node."""
        return [pid for pid in below(self.nodes[node]) if title(pid).startswith("ray::Slot")]

    def grade(self, folder: Path, *words: str, what: str = "c/submissions") -> subprocess.Popen[str]:
        """`zoo class grade` on this cluster."""
        return subprocess.Popen(
            [*ZOO, "class", "grade", what, *WORDS, "--engine", "ray", "--address", self.address, *words],
            cwd=folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes of one CPU each. The second one is killed by the last test that needs both."""
    folder = Path(tempfile.mkdtemp(prefix="zoo-test-"))  # short: Ray's sockets are below it
    environment = ray_environment(folder)
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.grader.classroom.ray_cluster", "2"],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    found = json.loads(process.stdout.readline())
    yield Cluster(found["address"], tuple(found["nodes"]), folder, environment)
    process.stdin.close()
    process.wait()
    process.stdout.close()
    shutil.rmtree(folder)


ATTACK = """
import glob, os, socket, subprocess, sys

reached = []
for name in glob.glob({folder!r} + "/**/sockets/*", recursive=True) or ["/tmp/ray/session_latest/sockets/raylet"]:
    try:
        with socket.socket(socket.AF_UNIX) as one:
            one.connect(name)
        reached.append("socket")
    except OSError:
        pass
try:
    with socket.create_connection(({host!r}, {port}), timeout=5):
        reached.append("port")
except OSError:
    pass
try:
    token = open({folder!r} + "/token").read()
    reached.append("token")
except OSError:
    token = ""
if any(name.startswith("RAY_") for name in os.environ):
    reached.append("own environment")
for pid in filter(str.isdigit, os.listdir("/proc") if os.access("/proc", os.R_OK) else ()):
    try:
        if b"RAY_AUTH_TOKEN" in open("/proc/" + pid + "/environ", "rb").read():
            reached.append("environment of others")
            break
    except OSError:
        pass
task = (
    "import ray; ray.init(address='{host}:{port}', log_to_driver=False); "
    "f = ray.remote(num_cpus=0)(lambda: 'done'); print(ray.get(f.remote(), timeout=60))"
)
try:
    environment = dict(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=token, RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER="0", HOME="/tmp")
    found = subprocess.run([sys.executable, "-c", task], env=environment, capture_output=True, text=True)
    if "done" in found.stdout:
        reached.append("job")
except Exception:
    pass
raise RuntimeError("reached " + ",".join(sorted(set(reached))))
"""


@pytest.fixture(scope="module")
def classes(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a class, a file among them that attacks the cluster, and `local`, what the local pool finds."""
    folder = tmp_path_factory.mktemp("class")
    write_class(folder / "c", students=FILES, seed=8, exercises=("masks",), hostile=0.1)
    host, _, port = cluster.address.partition(":")
    attack = ATTACK.format(folder=str(cluster.folder), host=host, port=port)
    put(folder / "c" / "submissions", {"mallory/masks.py": attack})
    put(folder / "attack", {"mallory/masks.py": attack})
    command = [*ZOO, *GRADE, *WORDS, "--jobs", "1", "--gradebook", "local"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return folder


def finish(run: subprocess.Popen[str]) -> str:
    output, _ = run.communicate()
    assert run.returncode == 0, output
    return output


def reason(path: Path) -> str:
    """What became of the attacker's file."""
    with Gradebook(path) as book:
        row = book.one(
            "SELECT g.state, g.reason FROM gradings g JOIN submissions s USING (sha256) JOIN students t "
            "ON t.id = s.student WHERE t.name = 'mallory'"
        )
    assert row is not None
    assert row["state"] == "unloadable"
    return str(row["reason"]).splitlines()[0].partition("reached")[2].strip()


def listening(pids: set[int]) -> dict[str, str]:
    """The addresses on which processes listen, in hexadecimal as in /proc, and the command of each."""
    owners = {}
    for pid in pids:
        for one in Path(f"/proc/{pid}/fd").glob("*"):
            with contextlib.suppress(OSError):
                owners[str(one.readlink())] = title(pid)
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path("/proc/net", table).read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in owners:
                found[fields[1]] = owners[f"socket:[{fields[9]}]"]
    return found


def test_ray_on_this_machine_grades_as_the_local_pool_and_leaves_nothing(classes: Path) -> None:
    place = Path(tempfile.gettempdir())
    before = set(place.glob("zoo-ray-*"))
    with subprocess.Popen(
        [*ZOO, *GRADE, *WORDS, "--engine", "ray", "--jobs", "1", "--gradebook", "ray"],
        cwd=classes,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as run:
        assert wait_until(lambda: done(classes / "ray") > 0)
        (folder,) = set(place.glob("zoo-ray-*")) - before
        started = below(run.pid)
        found = listening(started)
        mode = folder.stat().st_mode
        output = finish(run)
    assert mode & 0o077 == 0
    assert found
    assert all(address.partition(":")[0].endswith("0100007F") for address in found)  # 127.0.0.1
    assert not any("dashboard.py" in command for command in found.values())
    assert "Warning" not in output
    assert grades(classes / "ray") == grades(classes / "local")
    assert wait_until(lambda: all(gone(pid) for pid in started))
    assert not folder.exists()


def test_a_submission_that_is_trusted_reaches_the_cluster_and_one_that_is_not_does_not(
    cluster: Cluster, classes: Path
) -> None:
    assert reason(classes / "local") == ""
    words = ("--sandbox", "process", "--trust", "--gradebook", "trusted", "--jobs", "1")
    finish(cluster.grade(classes, *words, what="attack"))
    assert reason(classes / "trusted").split(",") == [
        "environment of others",
        "job",
        "port",
        "socket",
        "token",
    ]


def test_an_actor_a_driver_and_a_node_are_killed_and_nothing_is_lost(cluster: Cluster, classes: Path) -> None:
    book = classes / "disturbed"
    draw = random.Random(0)
    first = cluster.grade(classes, "--gradebook", "disturbed", "--tries", "3")
    assert wait_until(lambda: done(book) >= 2)
    os.kill(draw.choice(cluster.actors(0) + cluster.actors(1)), signal.SIGKILL)
    count = done(book)
    assert wait_until(lambda: done(book) >= count + 3)
    first.kill()
    first.communicate()
    assert wait_until(lambda: not cluster.actors(0) + cluster.actors(1))
    assert 0 < done(book) < FILES
    second = cluster.grade(classes, "--gradebook", "disturbed", "--tries", "3")
    assert wait_until(lambda: len(cluster.actors(0)) == 1 == len(cluster.actors(1)))
    count = done(book)
    assert wait_until(lambda: done(book) > count)
    os.kill(cluster.nodes[1], signal.SIGKILL)
    finish(second)
    assert grades(book) == grades(classes / "local")
    with Gradebook(book) as opened:
        assert not opened.all("SELECT sha256 FROM gradings GROUP BY sha256 HAVING count(*) > 1")
    assert reason(book) == ""
