"""From a file's text to its grade: the sandbox is started first, so that both sides import torch at once.

Importing this imports no torch.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from grader.core.policy import Uses, library_attention, library_attention_seen
from grader.core.results import Grade
from grader.sandbox.sandbox import Sandbox

if TYPE_CHECKING:
    from grader.catalog import Exercise
    from grader.core.progress import Progress
    from grader.sandbox.remote import RemoteSubmission

MAX_SOURCE = 1 << 20  # bytes; the longest honest file is a hundredth of it
COPY_MEMORY = 2 << 30  # bytes of address space for changed copies: one that takes more must not take long
_GPU_FILES = (
    "nvidia[0-9]*",
    "nvidiactl",
    "nvmap",
    "nvhost-gpu",
    "dxg",
    "kfd",
)  # in /dev: NVIDIA, Jetson, WSL, ROCm


def read_bounded(file: Path) -> bytes:
    """A file's content, and of one that is too large no more than shows that it is. Raises OSError."""
    with file.open("rb") as opened:
        return opened.read(MAX_SOURCE + 1)


@dataclass(frozen=True)
class Request:
    """A file to grade, and the settings.

    Attributes:
        exercise: the exercise it is for.
        file: its name, for messages.
        source: its text, as bytes.
        device: "auto", "cpu" or "cuda".
        seed: every random draw of the tests derives from it.
        categories: of the tests to run.
        strict: refuse a library's own attention, in the source and while it runs.
        sandbox: where submissions are held, which several grades can share; None: one of its own.
        selection, options: see `grader.core.results.Grade`.
    """

    exercise: Exercise
    file: str
    source: bytes
    device: str
    seed: int
    categories: frozenset[str]
    strict: bool = False
    sandbox: Sandbox | None = None
    selection: str = ""
    options: str = ""

    @property
    def text(self) -> str:
        """The file's, without the mark that some editors put in front."""
        return self.source.decode("utf-8-sig", "replace")


def grade_file(request: Request, progress: Progress) -> Grade:
    """Grade a file.

    Raises:
        ZooError: CUDA was asked for and is not there, or a level of the sandbox that does not hold.
        GraderBrokenError: the hidden suite, or the worker's own code, is broken.
        KeyboardInterrupt: as it came; the worker is gone by then.
    """
    started = time.monotonic()
    os.environ.update(OMP_NUM_THREADS="1", MKL_NUM_THREADS="1")  # before torch is imported, here and there
    with contextlib.ExitStack() as stack:
        sandbox = request.sandbox or stack.enter_context(Sandbox())
        return _grade(request, progress, sandbox, started)


def _grade(request: Request, progress: Progress, sandbox: Sandbox, started: float) -> Grade:
    text = request.text
    refusal = _refusal(request, text)
    if not refusal and _surely_without_gpu(request.device):
        sandbox.start()
    from grader.run.session import Session  # imports torch and pytest
    from zoo.models.devices import resolve_device

    device = resolve_device(request.device).type
    level = sandbox.level(device)
    uses: Uses = set()
    session = Session(
        request.exercise,
        lambda: _submission(sandbox, device, request, uses),
        source=text,
        device=device,
        seed=request.seed,
        progress=progress,
        breach=lambda: library_attention_seen(uses),
        open_changed=lambda text: _submission(
            sandbox, device, replace(request, source=text.encode("utf-8", "replace")), uses
        ),
    )
    results = session.run(request.categories, refusal=refusal)
    return Grade(
        exercise=request.exercise.name,
        title=request.exercise.title,
        file=request.file,
        components=request.exercise.components,
        device=device,
        sandbox=level,
        sandbox_reason=sandbox.fallback_reason(device),
        seed=request.seed,
        results=tuple(results),
        duration_s=time.monotonic() - started,
        selection=request.selection,
        options=request.options,
        next_exercise=_next_file(request.exercise),
        source=text[:MAX_SOURCE],
    )


def _submission(
    sandbox: Sandbox, device: str, request: Request, uses: Uses, memory: int | None = None
) -> RemoteSubmission:
    """The file, loaded in a worker of its own. Raises SubmissionError.

    Args:
        uses: is filled with --no-library-attention.
        memory: that it may use, in bytes; None for the usual limit.
    """
    from grader.sandbox.process import Limits
    from grader.sandbox.remote import RemoteSubmission

    return RemoteSubmission(
        sandbox.worker(device, None if memory is None else Limits(memory=memory)),
        request.source,
        Path(request.file).name,
        again=lambda: _submission(sandbox, device, request, uses),
        again_for_copies=lambda: _submission(sandbox, device, request, uses, memory=COPY_MEMORY),
        uses=uses if request.strict else None,
    )


def _refusal(request: Request, source: str) -> str:
    """Why the file is not even loaded, or ""."""
    if len(request.source) > MAX_SOURCE:
        return "The file has more than 1 MB; expected at most 1 MB of Python."
    return library_attention(source) if request.strict else ""


def _surely_without_gpu(device: str) -> bool:
    """Return whether the device is known to be the CPU without asking torch, which takes seconds to import."""
    return device == "cpu" or (
        device == "auto" and not any(any(Path("/dev").glob(name)) for name in _GPU_FILES)
    )


def _next_file(exercise: Exercise) -> str:
    from grader.catalog import get_exercises

    following = get_exercises().get(exercise.next)
    return following.file if following is not None else ""
