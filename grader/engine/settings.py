"""Names code that changes a setting of all of torch; the worker notices it, see `grader.worker.global_state`."""

from __future__ import annotations

from grader.core.failures import Named
from grader.engine.naming import Findings

CHANGED_SETTING = Named(
    "global-state-changed",
    "The code changes a setting of all of torch (whether gradients are recorded, the default dtype, the seed, ...) and "
    "does not restore it, so that other code computes something else from then on.",
    hint="Restore it before the call ends, or do without: a with block ends by itself, and a dtype, a device or a "
    "generator can be given where it is needed.",
)


def changed_setting(findings: Findings) -> Named | None:
    """The name, if that ended a wrong scenario."""
    errors = (findings.got[i].error for i in findings.wrong)
    changed = any(error is not None and error.kind == "global_state" for error in errors)
    return CHANGED_SETTING if changed else None
