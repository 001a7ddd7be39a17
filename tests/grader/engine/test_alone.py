"""What has nothing to do with a mistake keeps its points, and mistakes come from every plugin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType

import pytest

from grader.catalog import MistakeCollection, get_mistakes
from grader.core.results import Result
from grader.engine.local import LocalSubmission
from grader.engine.mistakes import Collection
from grader.exercises.attention.reference import Steps
from tests.grader import grades
from tests.grader.wrong.attention import RIGHT
from zoo.core.hookspecs import hookimpl
from zoo.core.plugins import Loaded, get_plugins

UNSCALED = RIGHT.replace(" / math.sqrt(d_k)", "")


def graded(source: str) -> dict[str, Result]:
    submission = LocalSubmission.from_source(source)
    return {result.name: result for result in grades.graded("attention", submission, pairs=False)}


def test_a_missing_scale_costs_only_what_it_touches() -> None:
    passed = {name for name, result in graded(UNSCALED).items() if result.status == "passed"}
    assert passed >= {
        *(f"function.test_{x}" for x in ("large_scores", "empty_rows", "dtypes", "same_every_time")),
        *(f"class.test_{x}" for x in ("large_scores", "empty_rows", "dtypes", "same_every_time")),
        *("class.test_eval_mode", "class.test_dropout", "function.test_inputs_unchanged"),
    }
    assert not passed & {"function.test_numbers", "class.test_gradients", "class.test_bool_masks"}


@pytest.mark.parametrize(
    ("test", "old", "new"),
    [
        ("class.test_eval_mode", "self.dropout(weights)", "F.dropout(weights, self.dropout.p)"),
        ("class.test_dropout", "weights = self.dropout(weights)", "pass"),
        ("function.test_dtypes", "return output, weights", "return output.float(), weights.float()"),
        (
            "class.test_same_every_time",
            "B = query.size(0)",
            "B = query.size(0)\n        self.old = mask if mask is not None else getattr(self, 'old', None)"
            "\n        mask = self.old if key.size(1) == 5 else mask",
        ),
    ],
)
def test_a_second_fault_shows_beside_a_missing_scale(test: str, old: str, new: str) -> None:
    assert old in UNSCALED
    with grades.without_names():
        assert graded(UNSCALED.replace(old, new))[test].status != "passed"


@pytest.fixture
def plugin() -> Iterator[None]:
    """A plugin that knows one more mistake: scores shifted by a multiple of the position."""
    mistake: Collection[Steps] = Collection()

    @mistake("scores-drift", "The scores grow with the position of the key.", hint="Remove the ramp.")
    def drift(steps: Steps) -> Steps:
        def ramp(call: object, scores: object, q: object, k: object) -> object:
            import torch

            scaled = steps.scale(call, scores, q, k)  # type: ignore[arg-type]
            return scaled + 0.37 * torch.arange(scaled.size(-1), device=scaled.device)

        return replace(steps, scale=ramp)  # type: ignore[arg-type]

    module = ModuleType("fake_mistakes")
    module.MISTAKES = mistake.mistakes  # type: ignore[attr-defined]
    sys.modules["fake_mistakes"] = module
    offered = [MistakeCollection("attention", "fake_mistakes:MISTAKES")]
    fake = ModuleType("fake")
    fake.zoo_mistakes = hookimpl(specname="zoo_mistakes")(lambda: offered)  # type: ignore[attr-defined]
    get_plugins().register(fake, Loaded("fake", "1", "a test"))
    get_mistakes.cache_clear()
    yield
    get_plugins().manager.unregister(name="fake")
    get_plugins().loaded.pop("fake")
    get_mistakes.cache_clear()
    del sys.modules["fake_mistakes"]


@pytest.mark.usefixtures("plugin")
def test_a_mistake_of_a_plugin_is_named() -> None:
    drifting = RIGHT.replace(
        "/ math.sqrt(d_k)\n",
        "/ math.sqrt(d_k)\n    scores = scores + 0.37 * torch.arange(scores.size(-1), device=scores.device)\n",
    )
    results = graded(drifting).values()
    assert {m.id for r in results for m in r.mistakes} == {"scores-drift"}
    assert sum(r.status == "failed" for r in results) == 1
