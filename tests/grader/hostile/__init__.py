"""Hostile submissions, by name: acts, and files that want points they have not earned, of the tests or of training."""

from __future__ import annotations

from collections.abc import Mapping

from tests.grader.hostile.answers import ANSWERS
from tests.grader.hostile.files import FILES
from tests.grader.hostile.forgeries import FORGERIES
from tests.grader.hostile.hostile import Hostile
from tests.grader.hostile.live import LIVE
from tests.grader.hostile.memory import MEMORY
from tests.grader.hostile.processes import PROCESSES
from tests.grader.hostile.resources import RESOURCES

ACTS: Mapping[str, Hostile] = {**FILES, **MEMORY, **PROCESSES, **RESOURCES}
WANTING: Mapping[str, Hostile] = {**FORGERIES, **ANSWERS}
HOSTILE: Mapping[str, Hostile] = {**ACTS, **WANTING, **LIVE}
