"""Detection of tensors on a fixed device: on a machine with one device, by following them."""

from __future__ import annotations

from collections.abc import Callable

from grader.core.failures import Failed, Named
from grader.core.submission import Submission

FIXED_DEVICE = Named(
    "device-hard-coded",
    "A tensor is created on the CPU whatever the device of the input: torch.arange, torch.zeros and similar functions "
    "use the CPU by default, and a plain tensor attribute stays there. On a GPU that raises an error.",
    hint="Pass device=x.device when you create a tensor, or register it as a buffer; what is trained is a parameter.",
    source="mlverse/torch#1473",
)


def check_devices(submission: Submission, what: str, ask: Callable[[], bool]) -> bool:
    """Raise Failed if tensors of different devices would meet on a GPU while `ask` runs the submission's code.

    Returns whether it ran: what raised before its end is not shown to be right.

    Args:
        what: the part and the call, in words.
        ask: runs it; False if it raised, and nothing can be said.
    """
    submission.trace(True)
    try:
        ran = ask()
    finally:
        crossings = submission.trace(False)
    if crossings and ran:
        message = f"{what}: tensors of different devices would meet on a GPU: {', '.join(crossings)}."
        raise Failed(message, mistakes=[FIXED_DEVICE])
    return ran
