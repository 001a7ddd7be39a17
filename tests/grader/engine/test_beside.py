"""Another object of a class, made with other settings, must not change the one that is asked."""

from __future__ import annotations

import pytest

from grader.catalog import get_exercise
from grader.engine.local import LocalSubmission
from tests import solution_file
from tests.grader.grades import graded

CLASSES = {
    "attention": "MultiHeadAttention",
    "positions": "SinusoidalPositions",
    "feedforward": "FeedForward",
    "norm": "LayerNorm PreNorm PostNorm",
    "encoder": "EncoderLayer",
    "decoder": "DecoderLayer",
    "transformer": "Transformer",
    "kv_cache": "CachedAttention",
}
SHARING = """

import collections

def _sharing(cls):
    made, begin = collections.deque(maxlen=2), cls.__init__

    def begun(self, *args, **kwargs):
        begin(self, *args, **kwargs)
        made.append(self)
        for own, other in zip(made[0].modules(), self.modules()):
            own._buffers.update(other._buffers)
            settings = {name: one for name, one in vars(other).items() if isinstance(one, (int, float, str))}
            vars(own).update({name: one for name, one in settings.items() if name != "training"})

    cls.__init__ = begun

_sharing(NAME)
"""


@pytest.mark.parametrize(
    ("exercise", "name"), [(key, one) for key, names in CLASSES.items() for one in names.split()]
)
@pytest.mark.sampled(5)
def test_settings_that_all_objects_share_are_seen(exercise: str, name: str) -> None:
    text = solution_file(exercise).read_text(encoding="utf-8")
    shared = LocalSubmission.from_source(text + SHARING.replace("NAME", name))
    results = graded(exercise, shared, pairs=False)
    assert any("beside another one" in one.message for one in results if one.status == "failed")


@pytest.mark.parametrize("exercise", CLASSES)
def test_there_is_such_a_scenario_for_each_class(exercise: str) -> None:
    scenarios = get_exercise(exercise).subject().scenarios(1)
    classes = {one.component for one in scenarios if one.title.endswith("beside another one")}
    assert {*CLASSES[exercise].split()} <= classes
