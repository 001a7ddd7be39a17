"""A ReLU that leaks: its slope is a number of its own, so it is measured and not looked up."""

from __future__ import annotations

from dataclasses import replace

import torch

from grader.api import LOOSE, Findings, LocalSubmission, Named, Observation, Scenario, run, same
from grader.exercises.feedforward.mistakes import MISTAKES, leaking
from grader.exercises.feedforward.reference import REFERENCE, namespace

LEAKY = next(mistake.named for mistake in MISTAKES if mistake.id == "activation-leaky")


def leaky(findings: Findings) -> Named | None:
    """The mistake with the slope in it, if one slope explains every answer; else None."""
    found = (_slope(findings, i) for i in findings.wrong)
    slope = next((one for one in found if one is not None), None)
    if slope is None:
        return None
    answers = zip(findings.scenarios, findings.got, strict=True)
    if not all(same(scenario, _with_slope(scenario, slope), got, loose=LOOSE) for scenario, got in answers):
        return None
    return replace(LEAKY, text=f"{LEAKY.text} Its slope there is {slope:.3g}; it must be 0.")


def _slope(findings: Findings, index: int) -> float | None:
    """Without dropout the output is linear in the slope: that of slope 1 (no activation at all) tells the scale."""
    scenario, got = findings.scenarios[index], findings.got[index].values.get("output")
    right = findings.right[index].values.get("output")
    if scenario.dtype == torch.bfloat16 or got is None or right is None or got.shape != right.shape:
        return None
    straight = _with_slope(scenario, 1.0).values["output"].double() - right.double()
    slope = float(((got.double() - right) * straight).sum() / straight.square().sum())
    return slope if 0 < abs(slope) < 1 else None


def _with_slope(scenario: Scenario, slope: float) -> Observation:
    return run(scenario, LocalSubmission(namespace(leaking(REFERENCE, slope))), exact=True)
