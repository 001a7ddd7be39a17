"""Requests to one worker, their answers checked, and what nobody will ask for any more."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, get_args

import torch
from torch import Tensor

from grader.core.policy import Uses
from grader.core.submission import ErrorKind, Outcome, SubmissionError
from grader.sandbox.process import Worker
from grader.worker.library_names import FORBIDDEN
from grader.worker.values import Packer, unpack_tensors

T = TypeVar("T")
Reader = Callable[[dict[str, Any], list[Tensor]], T]


class Link:
    """Requests to one worker, their answers checked; and what nobody will ask for any more.

    Args:
        worker: answers them.
        uses: where the uses of a library's own attention are noted that the answers tell of.

    Attributes:
        cpu_s: seconds of CPU that the worker has taken so far, as it says.
        seed: of the worker's random generators, for the next request.
    """

    def __init__(self, worker: Worker, uses: Uses | None = None) -> None:
        self.worker, self.uses = worker, uses
        self.cpu_s = 0.0
        self.dropped: list[int] = []
        self.seed: int | None = None
        self._watched: dict[int, tuple[weakref.finalize[[int], Outcome], dict[int | str, torch.Size]]] = {}

    def ask(self, request: dict[str, Any], doing: str, read: Reader[T], packer: Packer | None = None) -> T:
        """Send a request, and read the answer with `read`.

        Raises:
            SubmissionError: the submission failed, or the answer is none (`read` raised on it).
        """
        table, buffers = ([], []) if packer is None else (packer.table, packer.buffers())
        request = {**request, "tensors": table}
        if self.dropped:
            request["drop"], self.dropped = self.dropped, []
        if self.seed is not None:
            request["seed"], self.seed = self.seed, None
        answer, body = self.send(request, buffers, doing)
        try:
            return read(answer, unpack_tensors(answer.get("tensors"), body))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError) as error:
            self.worker.close()
            message = f"your code's process sent a malformed response ({doing}): {error}"
            raise SubmissionError("protocol", message, fatal=True) from error

    def send(
        self, request: dict[str, Any], buffers: Sequence[memoryview], doing: str
    ) -> tuple[dict[str, Any], bytearray]:
        """Send a request. Raises SubmissionError, also if the answer is a failure."""
        answer, body = self.worker.request(request, buffers, doing=doing)
        said = answer.get("cpu_s")
        if isinstance(said, float) and math.isfinite(said):
            self.cpu_s = max(self.cpu_s, said)
        if self.uses is not None and "library" in answer:
            self.uses.update(_uses(answer["library"]))
        if "failure" in answer:
            raise failure(answer["failure"])
        return answer, body

    def watch(self, outcome: Outcome, shapes: dict[int | str, torch.Size]) -> None:
        """Let the worker drop the call's graph when nobody can ask for it any more."""
        if outcome.handle is not None:
            end = weakref.finalize(outcome, self._forget, outcome.handle)
            end.atexit = False
            self._watched[outcome.handle] = (end, shapes)

    def unwatch(self, outcome: Outcome) -> dict[int | str, torch.Size] | None:
        """The graph is used up. Gives the shapes of the arguments whose gradients were asked for, None if it was
        used up before."""
        end, shapes = self._watched.pop(outcome.handle or 0, (None, None))
        if end is not None:
            end.detach()
        return shapes

    def _forget(self, handle: int) -> None:
        del self._watched[handle]
        self.dropped.append(handle)


def _uses(told: Any) -> Uses:
    """Lines and names, as a worker tells them; what is none is left out."""
    pairs = [one for one in told if isinstance(one, list) and len(one) == 2] if isinstance(told, list) else []
    return {
        (line, name)
        for line, name in pairs
        if type(line) is int and 0 <= line < 2**31 and type(name) is str and name in FORBIDDEN
    }


def failure(fields: Any) -> SubmissionError:
    """The failure that a worker reports. Its texts are the submission's own, cut to length."""
    if not isinstance(fields, dict) or fields.get("kind") not in get_args(ErrorKind):
        return SubmissionError("protocol", "your code's process sent a malformed response")
    line = fields.get("line")
    return SubmissionError(
        fields["kind"],
        str(fields.get("message"))[:2_000],
        type_name=str(fields.get("type_name"))[:100],
        line=line if type(line) is int and 0 < line < 2**31 else None,
        source_line=str(fields.get("source_line"))[:500],
    )
