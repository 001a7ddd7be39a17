"""`zoo watch --web`: who is answered and who is not, a page that renews itself, and an end that leaves nothing."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.cli import site as module
from grader.cli.site import Site
from tests import solution_file
from tests.browser import OpenPage
from tests.grader.learner.terminal import START, Terminal
from tests.grader.learner.test_watch import READY, left
from tests.zoo.cli.conftest import ROOT

HOSTILE = Path("</title><script>document.title = 'taken'</script>\u202e.py")
SOLUTION = solution_file("masks").read_text(encoding="utf-8")
WRONG = SOLUTION.replace("tokens != pad", "tokens == pad")
MASKS = Path("masks.py")


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as served:
        yield served


def ask(
    site: Site, path: str, host: str | None = "", method: str = "GET", *more: tuple[str, str]
) -> tuple[int, dict[str, str], str]:
    """Status, headers and text of an answer. `host`: "" for the right one, None for none."""
    address, _, port = site.host.partition(":")
    connection = http.client.HTTPConnection(address, int(port), timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in [*([] if host is None else [("Host", host or site.host)]), *more]:
        connection.putheader(name, value)
    connection.endheaders()
    response = connection.getresponse()
    found = response.status, dict(response.getheaders()), response.read().decode()
    connection.close()
    return found


def test_without_the_token_there_is_nothing(site: Site) -> None:
    site.address_of(MASKS)
    site.page_of(MASKS).write_text("<p>secret</p>")
    right = f"/{site.token}/1/page"
    assert (ask(site, right)[0], ask(site, right)[2]) == (200, "<p>secret</p>")
    for path in (
        "/",
        "/1",
        "/1/page",
        "/favicon.ico",
        f"/{site.token}",
        f"/{site.token[:-1]}/1",
        f"/{site.token}x/1",
        f"/x/{site.token}/1",
        f"/{site.token}/2",
        f"/{site.token}/01x",
        f"/{site.token}/1/",
        f"/{site.token}/../{site.token}/1",
        f"/{site.token}/1.html",
        f"/{site.token}/../../../etc/passwd",
        f"/{site.token}/%2e%2e/",
        f"http://{site.host}/{site.token}/1",
    ):
        status, _, text = ask(site, path)
        assert (status, text) == (404, "404 Not Found\n"), path
    assert len(site.token) >= 22  # 128 bits
    with Site() as other:
        assert other.token != site.token


def test_another_host_is_refused_whatever_is_asked_for(site: Site) -> None:
    site.address_of(MASKS)
    port = site.host.partition(":")[2]
    for host in (
        None,
        "example.org",
        f"example.org:{port}",
        f"localhost:{port}",
        "127.0.0.1",
        f"127.0.0.1:{port}1",
    ):
        for path in ("/", f"/{site.token}/", f"/{site.token}/1", f"/{site.token}/events"):
            assert ask(site, path, host)[0] == 421, (host, path)
    assert ask(site, f"/{site.token}/", "", "GET", ("Host", "example.org"))[0] == 421


def test_only_get_is_answered(site: Site) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        assert ask(site, f"/{site.token}/", method=method)[0] == 501


def test_answers_are_not_kept_nor_framed_nor_told_where_they_came_from(site: Site) -> None:
    for path in (f"/{site.token}/", "/"):
        headers = ask(site, path)[1]
        assert headers["Cache-Control"] == "no-store"
        assert headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert headers["Referrer-Policy"] == "no-referrer"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Server"] == "zoo"
        assert "Access-Control-Allow-Origin" not in headers


def test_the_server_listens_on_this_machine_alone(site: Site) -> None:
    assert site._server.server_address[0] == "127.0.0.1"
    assert site.address.startswith("http://127.0.0.1:")


def test_a_page_before_the_first_grade_and_names_that_are_hostile(site: Site) -> None:
    assert site.address_of(HOSTILE) == f"{site.address}1"
    assert site.address_of(MASKS) == f"{site.address}2"
    assert site.address_of(HOSTILE) == f"{site.address}1"
    for path in ("", "1"):
        status, _, text = ask(site, f"/{site.token}/{path}")
        assert status == 200
        assert text.count("<script") == 1
        assert "connect-src &#39;self&#39;" in text
        assert r"\u202e.py" in text
    assert ask(site, f"/{site.token}/1/page")[0] == 404


def test_each_change_is_sent_and_the_end_of_the_site_ends_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.05)
    with Site() as site:
        site.address_of(MASKS)
        address, _, port = site.host.partition(":")
        connection = http.client.HTTPConnection(address, int(port), timeout=20)
        connection.request("GET", f"/{site.token}/events")
        stream = connection.getresponse()
        assert stream.getheader("Content-Type") == "text/event-stream"

        def next_states() -> object:
            while not (line := stream.readline()).startswith(b"data: "):
                assert line
            return json.loads(line[len("data: ") :])

        assert next_states() == [{"number": 1, "state": "waiting", "version": 0}]
        assert stream.readline() == b"\n"
        assert stream.readline() == b":\n"  # nothing has changed
        site.set_state(MASKS, "grading")
        assert next_states() == [{"number": 1, "state": "grading", "version": 0}]
        site.set_state(MASKS, "failed")
        assert next_states() == [{"number": 1, "state": "failed", "version": 1}]
        site.set_state(MASKS, "removed")
        assert next_states() == [{"number": 1, "state": "removed", "version": 1}]
        folder = site.page_of(MASKS).parent
        assert folder.is_dir()
    stream.read()  # to its end
    connection.close()
    assert not folder.exists()
    assert not [one for one in threading.enumerate() if one is site._thread]


def test_a_browser_that_goes_away_is_no_news(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    address, _, port = site.host.partition(":")
    for _ in range(3):
        connection = http.client.HTTPConnection(address, int(port), timeout=20)
        connection.request("GET", f"/{site.token}/events")
        connection.close()
    site.set_state(MASKS, "grading")
    assert ask(site, f"/{site.token}/")[0] == 200
    assert capfd.readouterr() == ("", "")


def run(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, "watch", *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_open_without_web_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "masks.py").write_text(SOLUTION)
    done = run("masks.py", "--open", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "--open is for --web." in done.stderr


def processes() -> dict[int, tuple[int, str]]:
    """Parent and start time of every process that is not a zombie, by id."""
    found = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent, *rest = path.read_text().rpartition(")")[2].split()
            if state != "Z":
                found[int(path.parent.name)] = int(parent), rest[17]
    return found


def below(pid: int) -> dict[int, str]:
    """The processes that one has started, and those that they have, with their start times."""
    known = processes()
    found: dict[int, str] = {}
    while more := {
        one: since
        for one, (parent, since) in known.items()
        if one not in found and (parent == pid or parent in found)
    }:
        found |= more
    return found


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.filterwarnings("ignore:This process")
@pytest.mark.parametrize("end", ["\x03", signal.SIGINT, "q"])
def test_an_end_in_the_middle_of_a_grade_leaves_nothing(end: str | signal.Signals, tmp_path: Path) -> None:
    """While the submission hangs in its worker and a browser listens."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "masks.py").write_text("while True: pass\n")
    with (
        Terminal("watch", "masks.py", "--web", cwd=folder, ZOO_MARK=str(folder)) as terminal,
        contextlib.ExitStack() as ends,
    ):
        seen = terminal.wait_for("--- masks.py")
        found = re.search(r"Page: http://([\d.]+):(\d+)(/[\w-]+/)1\r?\n", seen)
        assert found is not None, seen
        connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=20)
        ends.callback(connection.close)
        connection.request("GET", f"{found[3]}events")
        stream = connection.getresponse()
        while b"grading" not in (line := stream.readline()):
            assert line  # the end of the stream
        started: dict[int, str] = {}
        until = time.monotonic() + 120
        while len(started) < 3:  # the grade, the fork server, the worker
            assert time.monotonic() < until, "no worker was started"
            started = below(terminal.process.pid)
        if isinstance(end, str):
            terminal.press(end)
        else:
            terminal.process.send_signal(end)
        assert (terminal.end(), terminal.modes()) == (0 if end == "q" else 130, terminal.before)
        assert "Traceback" not in terminal.shown
        stream.read()  # ends too

    def remaining() -> list[int]:
        now = processes()
        return [one for one, since in started.items() if one in now and now[one][1] == since]

    until = time.monotonic() + 5  # a killed process may take a moment
    while remaining() and time.monotonic() < until:
        time.sleep(0.05)
    assert [Path(f"/proc/{one}/cmdline").read_text() for one in remaining()] == []
    assert not left(folder)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:This process")
def test_the_page_is_renewed_on_every_save_and_keeps_ones_place(open_page: OpenPage, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "masks.py").write_text(WRONG)
    (folder / "norm.py").write_text("def f(:\n")
    with Terminal(
        "watch", "masks.py", "norm.py", "--quick", "--web", cwd=folder, ZOO_MARK=str(folder)
    ) as terminal:
        seen = terminal.wait_for(READY)
        found = re.search(r"Page: (http://127\.0\.0\.1:\d+/[\w-]{22,}/)\r?\n", seen)
        assert found is not None, seen
        index = open_page(found[1], within=found[1])
        index.get_by_text("failed", exact=True).nth(1).wait_for()
        index.get_by_role("link", name="masks.py").click()
        page = index
        page.get_by_role("link", name="padding-inverted").first.wait_for()
        assert page.locator("mark").all_inner_texts() == ["tokens == pad"]
        page.set_viewport_size({"width": 1280, "height": 500})
        for summary in page.locator("summary").all():
            if summary.inner_text().startswith(("to_additive", "behaviour")):
                summary.click()
        summary.focus()  # the last: behaviour
        page.evaluate("document.getElementById('file-1-tests-numerics').scrollIntoView()")
        opened = "[...document.querySelectorAll('details[open]')].map((one) => one.id)"
        top = "Math.round(document.getElementById('file-1-tests-numerics').getBoundingClientRect().top)"
        before = page.evaluate(opened), page.evaluate(top)
        assert "file-1-tests-behaviour" in before[0]
        (folder / "masks.py").write_text("# a line more\n\n" + WRONG)
        page.get_by_text("# a line more").wait_for()
        assert (page.evaluate(opened), page.evaluate(top)) == before
        assert page.evaluate("document.activeElement.parentElement.id") == "file-1-tests-behaviour"
        (folder / "masks.py").write_text(SOLUTION)
        page.get_by_text("Passed: 20/20 points").wait_for()
        assert page.title().startswith("masks.py: passed")
        page.get_by_role("link", name="All files").click()
        page.get_by_text("passed", exact=True).wait_for()
        (folder / "norm.py").unlink()
        page.get_by_text("removed", exact=True).wait_for()
        terminal.wait_for("was removed")
        page.goto("about:blank")
        terminal.process.send_signal(signal.SIGINT)
        assert (terminal.end(), terminal.modes()) == (130, terminal.before)
        assert "Traceback" not in terminal.shown
    assert not left(folder)
