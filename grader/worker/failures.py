"""Failures of a submission as plain data: from an exception to kind, words and line."""

from __future__ import annotations

import errno
import linecache
import re
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Any

from .source import MODULE

MAX_MESSAGE = 2_000  # characters of a message that travel
OUTPUT_LIMIT = 16 * 2**20  # bytes that a submission may print
ALONE = (
    "a file is graded by itself, with torch, numpy, einops and Python's own modules. "
    "Copy into it what it needs of your other files"
)
ONE_THREAD = "while it is graded, code has one thread"
# NotImplementedErrors that torch raises from an operator, in a line of the submission's.
_TORCHS_OWN = re.compile(r"Could not run|\"\w+\" not implemented for ")


@dataclass(frozen=True)
class Failure:
    """The fields of `grader.core.submission.SubmissionError`, but for `fatal`."""

    kind: str
    message: str
    type_name: str = ""
    line: int | None = None
    source_line: str = ""

    def fields(self) -> dict[str, Any]:
        return asdict(self)


class FailureError(Exception):
    """Raised in the worker for failures that are not exceptions of the submission."""

    type_name = ""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind

    def line_in(self, filename: str) -> int | None:
        """The line of the submission that it is about, if that is known and no frame tells it."""
        return None


class StoppedError(BaseException):
    """Raised wherever the code is when the judge waits for it no longer."""


def describe(error: BaseException, filename: str | None) -> Failure:
    """Describe what a submission raised.

    Args:
        error: the exception, with its traceback.
        filename: the name the submission was compiled under; None where its code has many files.
    """
    line, source_line, own = _place(error, filename)
    message, type_name = _words(error), _kind(error).__name__[:100]
    if filename is not None and isinstance(error, RuntimeError) and (told := _told(message, filename)):
        line, source_line = told, _text(filename, told)
    if type(error) is not _kind(error):
        message = f"{type(error).__name__[:100]}: {message}"[:MAX_MESSAGE]
    if isinstance(error, StoppedError):
        return Failure("timeout", "", "", line, source_line)
    if isinstance(error, FailureError):
        if filename is not None and (about := error.line_in(filename)) is not None:
            line, source_line = about, _text(filename, about)
        return Failure(error.kind, message, error.type_name, line, source_line)
    if _is_out_of_memory(error, message):
        return Failure(
            "limit", f"your code tried to use more memory than allowed ({message})", "", line, source_line
        )
    if isinstance(error, OSError) and error.errno == errno.EFBIG:
        limit = f"your code printed more than {OUTPUT_LIMIT // 2**20} MB"
        return Failure("limit", limit, "", line, source_line)
    if isinstance(error, ModuleNotFoundError):
        message = f"{message}: {ALONE}"
    if message == "can't start new thread":
        message = f"{message}: {ONE_THREAD}"
    if isinstance(error, NotImplementedError) and own and not _TORCHS_OWN.match(message):
        return Failure("not_written", message, type_name, line, source_line)
    return Failure("exception", message, type_name, line, source_line)


def describe_syntax(error: BaseException, filename: str) -> Failure:
    """Describe why a submission's source does not compile."""
    if not isinstance(error, SyntaxError):  # a null byte, or nested too deeply for the compiler
        return Failure("syntax", f"{filename}: {_words(error)}", type(error).__name__[:100])
    text = (error.text or "").rstrip()[:500]
    if "\x00" in text or ("unicode error" in str(error.msg) and not text.isprintable()):
        text = ""  # not a text: it would be shown as control characters
    where = f"{filename}, line {error.lineno}" if error.lineno else filename
    caret = ""
    if text and error.offset:
        shown = text.lstrip()
        caret = f"\n    {shown}\n    {' ' * max(error.offset - 1 - (len(text) - len(shown)), 0)}^"
    message = f"{where}: {error.msg}{caret}"[:MAX_MESSAGE]
    return Failure("syntax", message, type(error).__name__[:100], error.lineno, text.strip())


def _kind(error: BaseException) -> type[BaseException]:
    """The error's class; ValueError for a kind of it that the submission defines."""
    own = isinstance(error, ValueError) and type(error).__module__ == MODULE
    return ValueError if own else type(error)


def _words(error: BaseException) -> str:
    """The exception's own text, whatever its `__str__` does."""
    try:
        return str(error)[:MAX_MESSAGE]
    except BaseException:  # noqa: BLE001 - it is the submission's code that runs here
        return "(the exception's own text cannot be shown)"


def _place(error: BaseException, filename: str | None) -> tuple[int | None, str, bool]:
    """Line and text of the deepest frame in the submission, and whether that frame raised.

    Of a recursion without end it is the line that it went through most often: where it is noticed is chance.
    """
    lines: list[int] = []
    own = False
    trace = error.__traceback__
    while trace is not None:
        own = filename is None or trace.tb_frame.f_code.co_filename == filename
        if own and filename is not None:
            lines.append(trace.tb_lineno)
        trace = trace.tb_next
    if not lines or filename is None:
        return None, "", own
    line = Counter(lines).most_common(1)[0][0] if isinstance(error, RecursionError) else lines[-1]
    return line, _text(filename, line), own


def _told(message: str, filename: str) -> int | None:
    """The line of the submission that a compiler's message speaks of: no frame is there."""
    found = re.findall(rf'File "(?:[^"]*/)?{re.escape(filename)}", line (\d+)', message)
    return int(found[-1 if "most recent call last" in message else 0]) if found else None


def _text(filename: str, line: int) -> str:
    return linecache.getline(filename, line).strip()[:500]


def _is_out_of_memory(error: BaseException, message: str) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return isinstance(error, RuntimeError) and (
        "DefaultCPUAllocator" in message or "can't allocate" in message
    )
