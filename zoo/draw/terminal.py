"""Pictures in the terminal itself: kitty's, iTerm2's and sixel graphics, where the terminal says it has them."""

from __future__ import annotations

import base64
import io
import os
import re
import select
import sys
import time
from typing import Literal

Protocol = Literal["kitty", "iterm", "sixel"]
ESC = "\x1b"
QUERY = f"{ESC}_Gi=31,s=1,v=1,a=q,t=d,f=24;AAAA{ESC}\\{ESC}[>0q{ESC}[c"
"""May kitty's graphics be used? What is the terminal called? What can it do? All terminals answer the last one."""
ATTRIBUTES = re.compile(rb"\x1b\[\?([\d;]*)c")
PATIENCE = 0.5
"""Seconds that the terminal has to answer."""
CHUNK = 4096
COLOURS, BAND = 128, 6


def protocol() -> Protocol | None:
    """The protocol by which the terminal shows pictures; None if it does not, does not answer, or is not a terminal."""
    if os.environ.get("TERM", "dumb") == "dumb" or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        return chosen(ask(sys.stdin.fileno(), sys.stdout.fileno()))
    except (OSError, ImportError, ValueError):  # no termios there, or no terminal any more
        return None


def ask(stdin: int, stdout: int, patience: float = PATIENCE) -> bytes:
    """Return what the terminal answers to `QUERY`; its modes are as before afterwards."""
    import termios
    import tty

    before = termios.tcgetattr(stdin)
    found = b""
    try:
        tty.setcbreak(stdin, termios.TCSADRAIN)  # answers are not echoed, and need no Enter
        os.write(stdout, QUERY.encode())
        until = time.monotonic() + patience
        while not ATTRIBUTES.search(found):
            ready, _, _ = select.select([stdin], [], [], max(0.0, until - time.monotonic()))
            data = os.read(stdin, 1024) if ready else b""
            if not data:
                break
            found += data
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
    return found


def chosen(answer: bytes) -> Protocol | None:
    """The best protocol that an answer to `QUERY` admits; None if the answer is not complete."""
    attributes = ATTRIBUTES.search(answer)
    if attributes is None:
        return None
    if b"\x1b_Gi=31;OK" in answer:
        return "kitty"
    if re.search(rb"\x1bP>\|(iTerm2|WezTerm)", answer):
        return "iterm"
    return "sixel" if b"4" in attributes[1].split(b";") else None


def sequence(png: bytes, how: Protocol) -> str:
    """Return what is written to the terminal to show a PNG."""
    if how == "sixel":
        return sixel(png)
    text = base64.b64encode(png).decode()
    if how == "iterm":
        return f"{ESC}]1337;File=inline=1;size={len(png)}:{text}\a\n"
    chunks = [text[i : i + CHUNK] for i in range(0, len(text), CHUNK)]
    return (
        "".join(
            f"{ESC}_G{'a=T,f=100,' if number == 0 else ''}m={int(number < len(chunks) - 1)};{chunk}{ESC}\\"
            for number, chunk in enumerate(chunks)
        )
        + "\n"
    )


def sixel(png: bytes) -> str:
    """A PNG as sixels: six rows at a time, colour by colour, repetitions counted."""
    import numpy as np
    from PIL import Image

    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLOURS)
    pixels = np.asarray(image)  # [height, width], indices of colours
    palette = np.asarray(image.getpalette(), dtype=int).reshape(-1, 3) * 100 // 255
    height, width = pixels.shape
    colours = "".join(f"#{i};2;{r};{g};{b}" for i, (r, g, b) in enumerate(palette))
    bands = []
    for top in range(0, height, BAND):
        band = pixels[top : top + BAND]
        weights = (1 << np.arange(len(band)))[:, None]  # a bit a row
        lines = [
            f"#{colour}{_repeated(((band == colour) * weights).sum(axis=0) + 63)}"
            for colour in np.unique(band)
        ]
        bands.append("$".join(lines))
    return f'{ESC}Pq"1;1;{width};{height}{colours}{"-".join(bands)}{ESC}\\\n'


def _repeated(codes: object) -> str:
    """Characters with these codes; a run of more than three as its length and the character."""
    from itertools import groupby

    found = []
    for code, group in groupby(codes):  # type: ignore[call-overload]
        count, character = len(list(group)), chr(int(code))
        found.append(f"!{count}{character}" if count > 3 else character * count)
    return "".join(found)
