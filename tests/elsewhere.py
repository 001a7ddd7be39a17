"""Runs tests as on another machine: `python -m tests.elsewhere [TEST ...]`, by default those that kernels matter to.

- torch's own kernels are those for any processor, and not those for the vector instructions of this one;
- MKL, which multiplies matrices, takes the kernels of another maker's processors;
- the tests' process does without oneDNN;
- in the folder for temporary files there are already some with the names that one thinks of first.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests import ROOT

TESTS = (
    "tests/zoo/parts/attention/test_behaviour.py",
    "tests/zoo/parts/attention/test_differential.py",
    "tests/zoo/analysis/checks/test_checks.py::test_a_wrong_part_is_found_out",
    "tests/zoo/parts/decoding/test_beam.py",
    "tests/zoo/parts/decoding/test_greedy.py",
    "tests/zoo/models/interop/test_both_ways.py",
    "tests/zoo/parts/loss",
    "tests/zoo/parts/norm_type",
    "tests/zoo/accelerate",
    "tests/zoo/training/test_training.py",
    "tests/zoo/training/translation/test_trainer.py",
    "tests/zoo/training/translation/test_translator.py",
    "tests/grader/exercises/test_kill_matrix.py::test_reference_gets_all_points",
    "tests/grader/exercises/test_kill_matrix.py::test_right_file_passes",
    "tests/grader/engine/test_rounding.py",
    "tests/grader/exercises/test_solutions_of_components.py",
    "tests/grader/exercises/test_solutions_of_models.py",
    "tests/grader/worker",
)
NAMES = ("new", "secret", "x", "tmp", "test", "out", "exercises")
INTEL = "int mkl_serv_intel_cpu(void) { return 1; }\nint mkl_serv_intel_cpu_true(void) { return 1; }\n"
"""Preloaded, it tells MKL that the processor is Intel's, which gets kernels that no other processor gets."""


def other_products(folder: Path) -> dict[str, str]:
    """Variables with which MKL takes kernels that it would not take here; none where that cannot be had."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return {}
    if "GenuineIntel" in Path("/proc/cpuinfo").read_text():
        return {"MKL_CBWR": "COMPATIBLE"}
    compiler = shutil.which("cc")
    if compiler is None:
        return {}
    library = folder / "intel.so"
    words = [compiler, "-shared", "-fPIC", "-x", "c", "-o", str(library), "-"]
    subprocess.run(words, input=INTEL, text=True, check=True)
    return {"LD_PRELOAD": str(library)}


def main(tests: Sequence[str]) -> int:
    """Run the tests that are not slow or marked `elsewhere`, and return pytest's exit code."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "temporary")
        for name in NAMES:
            (folder / name).mkdir(parents=True)
        other = {
            "ATEN_CPU_CAPABILITY": "default",
            "ZOO_TEST_ONEDNN": "off",
            "TMPDIR": str(folder),
            **other_products(Path(made)),
        }
        print("As on another machine:", *(f"{name}={value}" for name, value in other.items()))
        words = [sys.executable, "-m", "pytest", "-n", "auto", "-m", "not slow or elsewhere", *tests]
        return subprocess.run(words, cwd=ROOT, env={**os.environ, **other}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or TESTS))
