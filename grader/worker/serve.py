"""The worker's loop: one request, one answer, until the judge closes its end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from . import absent, failures, source
from .frames import FrameError, StreamEndedError, read_frame, write_frame
from .operations import Operations
from .values import Packer

_exit = os._exit
_Answer = dict[str, Any]


def serve(read: int, write: int, device: str) -> None:
    """Answer requests. Ends the process when the judge is gone.

    A request's header has `n` (its number), `op`, what the operation needs, and the table of its tensors;
    the answer has the same `n`, and either the operation's results or `failure`.
    """
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    signal.signal(signal.SIGURG, _stop)  # of the judge, which waits no longer; others ignore it
    sys.meta_path[:0] = [source.RefuseImports(), absent.StandIns()]
    source.hide_package()
    operations = Operations(device)
    flush = sys.stdout.flush
    write_frame(write, {"n": 0, "torch": torch.__version__})
    try:
        with absent.without_compiling(), absent.without_threads():
            while True:
                header, body = read_frame(read)
                _answer(operations, header, body, write, flush)
    except (StreamEndedError, BrokenPipeError):
        _exit(0)


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise failures.StoppedError


def _answer(
    operations: Operations, header: dict[str, Any], body: bytearray, write: int, flush: Callable[[], None]
) -> None:
    number = header.get("n")
    if type(number) is not int:
        raise FrameError("a request without a number")
    try:
        packer = Packer()
        answer = operations.run(header, body, packer)
        flush()
        told = {"n": number, **answer, **operations.noted(), "tensors": packer.table}
        write_frame(write, told, packer.buffers())
    except (StreamEndedError, BrokenPipeError):
        raise
    except FrameError as error:
        _fail(
            write,
            number,
            operations,
            failures.Failure("protocol", f"what your code gave back is too large: {error}"),
        )
    except source.NotPythonError as error:
        _fail(
            write, number, operations, failures.describe_syntax(error.__cause__ or error, operations.filename)
        )
    except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt are the submission's too
        _fail(write, number, operations, failures.describe(error, operations.filename))


def _fail(write: int, number: int, operations: Operations, failure: failures.Failure) -> None:
    write_frame(write, {"n": number, "failure": failure.fields(), **operations.noted(), "tensors": []})
