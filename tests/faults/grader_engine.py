"""Faults in `grader/core`, `grader/engine`, `grader/run` and `grader/training`."""

from __future__ import annotations

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "grader-core-import-overlooked",
        "grader/core/policy.py",
        'if (node.module or "").partition(".")[0] == "torch":',
        'if node.module == "torch":',
        "--strict overlooks `from torch.nn import MultiheadAttention`",
    ),
    Fault(
        "grader-core-stub-in-sibling",
        "grader/core/explain.py",
        "if outer[0] < indent] +",
        "if outer[0] <= indent] +",
        "a stub is reported under the name of the method before it",
    ),
    Fault(
        "grader-core-bidi-printed",
        "grader/core/results.py",
        'unicodedata.category(c)[0] != "C"',
        'unicodedata.category(c) != "Cc"',
        "a submission's text can turn the direction of writing of a report",
    ),
    Fault(
        "grader-core-nothing-run-passes",
        "grader/core/results.py",
        "return bool(self.results) and all(",
        "return all(",
        "a grade without a single test is passed",
    ),
    Fault(
        "grader-engine-nan-is-right",
        "grader/engine/wording.py",
        'return (a - b).abs().nan_to_num(float("inf")).masked_fill(same, 0.0)',
        "return (a - b).abs().nan_to_num(0.0).masked_fill(same, 0.0)",
        "NaN counts as the right number",
    ),
    Fault(
        "grader-engine-shape-tolerated",
        "grader/engine/wording.py",
        "    if expected.shape != got.shape or expected.is_complex()",
        "    if expected.numel() != got.numel() or expected.is_complex()",
        "a transposed result is compared by broadcasting",
    ),
    Fault(
        "grader-run-environment-left",
        "grader/run/session.py",
        "        os.environ.clear()\n",
        "",
        "a grade leaves pytest's variables in the environment",
    ),
    Fault(
        "grader-run-one-restart-more",
        "grader/run/session.py",
        "if self._ends[cause] > 1 or",
        "if self._ends[cause] > 2 or",
        "code that always ends the same way is restarted a second time",
    ),
    Fault(
        "grader-run-points-for-skipped",
        "grader/run/verdicts.py",
        'points = test.points if status == "passed" else 0',
        'points = test.points if status != "failed" else 0',
        "tests that were not run earn their points",
    ),
    Fault(
        "grader-run-known-mistake-hides-new",
        "grader/run/verdicts.py",
        "if ids and all(one in self._named for one in ids):",
        "if ids and any(one in self._named for one in ids):",
        "a second mistake in one test is not reported",
    ),
    Fault(
        "grader-run-strict-not-watched",
        "grader/run/run.py",
        "uses=uses if request.strict else None,",
        "uses=None,",
        "--strict does not see what is disguised in the source",
    ),
    Fault(
        "grader-run-broken-marker-ignored",
        "grader/run/pytest_plugin.py",
        'if marker.kwargs["category"] not in CATEGORIES:',
        'if not marker.kwargs["category"]:',
        "a hidden test of a category that does not exist is never run",
    ),
    Fault(
        "grader-training-last-step-unchecked",
        "grader/training/spotcheck.py",
        "return number == 1 or (training and number == self._steps) or",
        "return number == 1 or",
        "a part that cheats in the last step only is not found",
    ),
    Fault(
        "grader-training-nan-passes",
        "grader/training/spotcheck.py",
        "(float((got - expected).abs().nan_to_num(torch.inf).max()) for got, expected in both)",
        "(float((got - expected).abs().nan_to_num(0.0).max()) for got, expected in both)",
        "a live answer of NaN passes the spot-check",
    ),
    Fault(
        "grader-training-rows-not-replayed",
        "grader/training/replay.py",
        "for ask in (_repeat, _put_rows)]",
        "for ask in (_repeat,)]",
        "a part that knows a live model by its batch size is not found",
    ),
    Fault(
        "grader-training-bar-excluded",
        "grader/training/training.py",
        "    if score.share >= bar:\n        return\n",
        "    if score.share > bar:\n        return\n",
        "a model that reaches the bar exactly fails",
    ),
)
