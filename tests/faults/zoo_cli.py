"""Faults in `zoo/analysis` and `zoo/cli`."""

from __future__ import annotations

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "analysis-worker-dies-of-exit",
        "zoo/analysis/workers.py",
        "    except (Exception, SystemExit) as error:",
        "    except Exception as error:",
        "a part that calls sys.exit ends the comparison",
    ),
    Fault(
        "analysis-none-in-csv",
        "zoo/analysis/records.py",
        'return " ".join("-" if one is None else str(one) for one in value)',
        'return " ".join(str(one) for one in value)',
        "a failed training is written as None into the CSV",
    ),
    Fault(
        "analysis-longest-batch-refused",
        "zoo/analysis/compare.py",
        "if conditions.length > sizes.max_len:",
        "if conditions.length >= sizes.max_len:",
        "a batch of exactly max_len is refused",
    ),
    Fault(
        "analysis-sides-swapped",
        "zoo/analysis/diff.py",
        "LEFT if right is None else RIGHT if left is None else CHANGED",
        "RIGHT if right is None else LEFT if left is None else CHANGED",
        "`zoo diff` marks added lines as removed",
    ),
    Fault(
        "analysis-groups-over-memory",
        "zoo/analysis/benchmarking.py",
        "        taken += one\n",
        "",
        "models that memory cannot hold together are timed together",
    ),
    Fault(
        "cli-divergence-exits-zero",
        "zoo/cli/train.py",
        "    return 1\n",
        "    return 0\n",
        "a training that diverges exits with 0",
    ),
    Fault(
        "cli-untrained-model-saved",
        "zoo/cli/train.py",
        "if self.save is None or not self.losses:",
        "if self.save is None:",
        "an interrupt before the first step replaces a checkpoint by an untrained model",
    ),
    Fault(
        "cli-one-refused-row-exits-one",
        "zoo/cli/compare.py",
        "if not any(row.measured for row in rows):",
        "if not all(row.measured for row in rows):",
        "one refused row among good ones makes the exit code 1",
    ),
    Fault(
        "cli-seed-too-large",
        "zoo/cli/options.py",
        "if not 0 <= value < 2**63:",
        "if not 0 <= value <= 2**63:",
        "a seed of 2^63 passes, and torch raises",
    ),
)
