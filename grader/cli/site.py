"""The pages of `zoo watch --web`: served to this machine alone, under a secret address, renewed as they are graded."""

from __future__ import annotations

import json
import re
import secrets
import sys
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType

from zoo.pages.rendering import render

ADDRESS = "127.0.0.1"
STYLES = ("grader.reports/grade.css",)
SCRIPTS = ("grader.cli/watch.js",)
HEARTBEAT_S = 15.0  # how often a browser is written to, which shows whether it is still there
_HTML = "text/html; charset=utf-8"
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",  # in addition to each page's own policy
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@dataclass
class _Served:
    """A file whose page is served: its number in addresses, what is happening to it, how often it was graded."""

    file: Path
    number: int
    state: str = "waiting"
    version: int = 0


class Site:
    """The server, a context manager. It ends with the block, and its files and threads with it.

    Every address begins with a token that is drawn anew each time; without it there is nothing to be found. A request
    that names another host is refused, so no other site's name can lead here.

    Attributes:
        address: of the index of all files.
    """

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(16)
        self._served: dict[Path, _Served] = {}
        self._changed = threading.Condition()
        self._changes, self._closed = 0, False
        self._folder = TemporaryDirectory(prefix="zoo-watch-")
        self._server = _Server((ADDRESS, 0), type("Handler", (_Handler,), {"site": self}))
        self.host = f"{ADDRESS}:{self._server.server_port}"
        self.address = f"http://{self.host}/{self.token}/"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.1,), daemon=True)

    def __enter__(self) -> Site:
        self._thread.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=2)
        self._folder.cleanup()

    def page_of(self, file: Path) -> Path:
        """The path to write the page of a file to, in one step."""
        return Path(self._folder.name) / f"{self._of(file).number}.html"

    def address_of(self, file: Path) -> str:
        """The address of the page of a file."""
        return f"{self.address}{self._of(file).number}"

    def set_state(self, file: Path, state: str) -> None:
        """Note what is happening to a file: "grading", "removed", or a result, with which its page is renewed."""
        with self._changed:
            served = self._of(file)
            served.state = state
            served.version += state in ("passed", "failed")
            self._changes += 1
            self._changed.notify_all()

    def _of(self, file: Path) -> _Served:
        with self._changed:
            return self._served.setdefault(file, _Served(file, len(self._served) + 1))

    # What the handlers ask for.

    def answer(self, path: str) -> str | None:
        """The page at a path that follows the token, or None."""
        with self._changed:
            files = list(self._served.values())
        if not path:
            return render(
                "grader.cli/watching.html", styles=STYLES, scripts=SCRIPTS, connect=True, files=files
            )
        found = re.fullmatch(r"([0-9]{1,6})(/page)?", path)
        served = next((one for one in files if found and one.number == int(found[1])), None)
        if found is None or served is None:
            return None
        if not found[2]:
            return render(
                "grader.cli/watch.html", styles=STYLES, scripts=SCRIPTS, connect=True, served=served
            )
        try:
            return self.page_of(served.file).read_text(encoding="utf-8")
        except OSError:
            return None  # not graded yet

    def next_states(self, seen: int) -> tuple[int, str] | None:
        """Wait for a change after the one numbered `seen`, for `HEARTBEAT_S` at most.

        Returns:
            the number of the last change, and the states of all files as JSON, "" if nothing has changed; None when
            the site is closed.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._closed or self._changes != seen, HEARTBEAT_S)
            if self._closed:
                return None
            states = [
                {"number": one.number, "state": one.state, "version": one.version}
                for one in self._served.values()
            ]
            return self._changes, json.dumps(states) if self._changes != seen else ""


class _Server(ThreadingHTTPServer):
    """One thread a request; none of them keeps the program from ending."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of a browser that is gone."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class _Handler(BaseHTTPRequestHandler):
    """Answers GET; of any other method the base class says that it is not supported."""

    site: Site
    timeout = 30  # of a request that does not arrive

    def do_GET(self) -> None:
        """Answer with a page, or the stream of changes."""
        if self.headers.get_all("Host") != [self.site.host]:
            self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            return
        token, _, rest = self.path.removeprefix("/").partition("/")
        known = secrets.compare_digest(token.encode("utf-8", "replace"), self.site.token.encode())
        if not known or not self.path.startswith(f"/{self.site.token}/"):
            self._refuse(HTTPStatus.NOT_FOUND)
        elif rest == "events":
            self._stream()
        elif (page := self.site.answer(rest)) is not None:
            self._send(HTTPStatus.OK, _HTML, page.encode())
        else:
            self._refuse(HTTPStatus.NOT_FOUND)

    def _stream(self) -> None:
        """The states of all files, at once and after each change: server-sent events."""
        self._begin(HTTPStatus.OK, {"Content-Type": "text/event-stream"})
        seen = -1
        try:
            while (found := self.site.next_states(seen)) is not None:
                seen, states = found
                self.wfile.write(f"data: {states}\n\n".encode() if states else b":\n\n")
                self.wfile.flush()
        except OSError:
            return  # the browser is gone

    def _refuse(self, status: HTTPStatus) -> None:
        self._send(status, "text/plain; charset=utf-8", f"{status.value} {status.phrase}\n".encode())

    def _send(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        self._begin(status, {"Content-Type": kind, "Content-Length": str(len(data))})
        self.wfile.write(data)

    def _begin(self, status: HTTPStatus, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()

    def version_string(self) -> str:
        """The name of the server."""
        return "zoo"

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the terminal shows the grades."""
