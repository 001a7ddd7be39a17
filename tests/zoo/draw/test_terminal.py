"""Pictures in terminals, settings, and what is imported."""

from __future__ import annotations

import base64
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from PIL import Image

import zoo.draw
from tests import ROOT
from zoo.core.errors import ZooError
from zoo.draw.canvas import rendered
from zoo.draw.terminal import QUERY, chosen, sequence

PNG = b"\x89PNG\r\n\x1a\n"


def picture() -> Any:
    return zoo.draw.schedule(["noam"], steps=20)


def test_the_callers_settings_are_neither_used_nor_changed() -> None:
    with mpl.rc_context({"image.cmap": "jet", "axes.facecolor": "black", "font.size": 30}):
        before = dict(mpl.rcParams)
        figure = picture()
        data = rendered(figure, "png")
        assert dict(mpl.rcParams) == before
    assert data == rendered(picture(), "png")
    assert figure._repr_png_() == data  # what a notebook shows


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"\x1b_Gi=31;OK\x1b\\\x1b[?62;4c", "kitty"),
        (b"\x1bP>|iTerm2 3.5.0\x1b\\\x1b[?1;2c", "iterm"),
        (b"\x1bP>|XTerm(390)\x1b\\\x1b[?64;1;4;22c", "sixel"),
        (b"\x1b[?64;1;44;22c", None),
        (b"\x1b_Gi=31;OK\x1b\\", None),  # not complete
        (b"", None),
    ],
)
def test_the_answer_decides(answer: bytes, expected: str | None) -> None:
    assert chosen(answer) == expected


def small_png() -> bytes:
    data = io.BytesIO()
    colours = np.array([[[255, 0, 0], [0, 0, 255]]] * 7, dtype=np.uint8)
    Image.fromarray(np.repeat(colours, 5, axis=1)).save(data, "png")
    return data.getvalue()


def test_each_protocol_carries_the_picture() -> None:
    png = rendered(picture(), "png")
    parts = re.findall(r"\x1b_G([^;]*);([^\x1b]*)\x1b\\", sequence(png, "kitty"))
    assert base64.b64decode("".join(data for _, data in parts)) == png
    assert parts[0][0] == "a=T,f=100,m=1"
    assert [keys for keys, _ in parts[1:]] == ["m=1"] * (len(parts) - 2) + ["m=0"]
    found = re.fullmatch(r"\x1b\]1337;File=inline=1;size=(\d+):(.*)\a\n", sequence(png, "iterm"))
    assert found
    assert (int(found[1]), base64.b64decode(found[2])) == (len(png), png)


def test_sixels_have_every_pixel() -> None:
    text = sequence(small_png(), "sixel")
    begin, end = '\x1bPq"1;1;10;7', "\x1b\\\n"
    assert text.startswith(begin)
    assert text.endswith(end)
    body = text[len(begin) : -len(end)]
    colours = dict(re.findall(r"#(\d+);2;(\d+;\d+;\d+)", body))
    drawn: dict[tuple[int, int], str] = {}
    for band, rows in enumerate(re.sub(r"#\d+;2;\d+;\d+;\d+", "", body).split("-")):
        for line in rows.split("$"):
            colour, x = re.match(r"#(\d+)", line)[1], 0  # type: ignore[index]
            for count, character in re.findall(r"(?:!(\d+))?([?-~])", line[len(colour) + 1 :]):
                for _ in range(int(count or 1)):
                    bits = ord(character) - 63
                    drawn.update(
                        {(band * 6 + bit, x): colours[colour] for bit in range(6) if bits >> bit & 1}
                    )
                    x += 1
    assert drawn == {(y, x): "100;0;0" if x < 5 else "0;0;100" for y in range(7) for x in range(10)}


def in_terminal(folder: Path, answer: bytes, term: str = "xterm-256color") -> bytes:
    """What `zoo draw schedule noam` writes to a terminal that answers so to a query."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    start = "from zoo.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", start, "draw", "schedule", "noam"],
        stdin=other, stdout=other, stderr=other, cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "TERM": term},
    )  # fmt: skip
    os.close(other)
    seen = bytearray()

    def read() -> None:
        answered = False
        while True:
            try:
                data = os.read(main, 1 << 16)
            except OSError:  # the other side is closed
                return
            if not data:
                return
            seen.extend(data)
            if not answered and QUERY.encode() in seen:
                answered = True
                os.write(main, answer)

    reader = threading.Thread(target=read)
    reader.start()
    assert process.wait(timeout=120) == 0, bytes(seen)
    reader.join(timeout=30)
    os.close(main)
    return bytes(seen)


@pytest.mark.slow
def test_a_terminal_is_asked_and_shows_the_picture_only_if_it_says_it_can(tmp_path: Path) -> None:
    shown = in_terminal(tmp_path, b"\x1b_Gi=31;OK\x1b\\\x1b[?62c")
    assert b"\x1b_Ga=T,f=100" in shown
    assert b"Wrote schedule-noam.png." in shown
    plain = in_terminal(tmp_path, b"\x1b[?62c")
    assert plain.replace(QUERY.encode(), b"") == b"Wrote schedule-noam-2.png.\r\n"
    dumb = in_terminal(tmp_path, b"", "dumb")
    assert dumb == b"Wrote schedule-noam-3.png.\r\n"


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_nothing_heavy_is_imported_before_it_is_needed() -> None:
    heavy = "print(sorted({'torch', 'matplotlib', 'numpy', 'jinja2'} & set(sys.modules)))"
    assert run(f"import sys, zoo.draw, zoo.cli.draw, zoo.training.record; {heavy}") == "[]\n"
    assert run(f"import sys, zoo.draw; zoo.draw.schedule; {heavy}") == "['matplotlib', 'numpy']\n"
    assert "pyplot" not in run("import sys, zoo.draw; zoo.draw.attention; print(*sys.modules)")


def test_without_matplotlib_a_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.draw.needs.find_spec", lambda _name: None)
    with pytest.raises(ZooError, match=r"pip install 'transformer-zoo\[draw\]'"):
        _ = zoo.draw.model
    with pytest.raises(AttributeError, match="no_such"):
        _ = zoo.draw.no_such
