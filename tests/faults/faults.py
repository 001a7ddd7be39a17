"""All faults, one file for a few rooms."""

from __future__ import annotations

from tests.faults import (
    grader_engine,
    grader_reports,
    grader_sandbox,
    zoo_cli,
    zoo_core,
    zoo_models,
    zoo_parts_attention,
    zoo_parts_other,
    zoo_training,
)
from tests.faults.fault import Fault

ROOMS = (
    zoo_core,
    zoo_parts_attention,
    zoo_parts_other,
    zoo_models,
    zoo_training,
    zoo_cli,
    grader_engine,
    grader_sandbox,
    grader_reports,
)
FAULTS: tuple[Fault, ...] = tuple(fault for room in ROOMS for fault in room.FAULTS)
