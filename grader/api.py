"""The interface for exercises, the only module of the grader that they import: `from grader.api import Exercise`.

Names are imported lazily, so the metadata of an exercise does not import torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.catalog import Exercise, MistakeCollection
    from grader.core.explain import misfit
    from grader.core.failures import Failed, Named
    from grader.core.progress import Progress
    from grader.core.submission import (
        Instance,
        Outcome,
        ParameterInfo,
        Submission,
        SubmissionError,
        one_token,
    )
    from grader.engine.client import (
        STARTS,
        Client,
        describe_outcome,
        in_words,
        noted,
        parameter_facts,
        start_facts,
        weights_kept,
    )
    from grader.engine.conclusions import imprecise
    from grader.engine.contrast import alike, differing, same
    from grader.engine.draws import Draws, additive, causal, with_zeros
    from grader.engine.dropping import (
        NOWHERE,
        ON_AVERAGE,
        alike_along,
        chosen,
        drawn_again,
        drawn_rate,
        dropping_facts,
        mean_after,
        no_shape,
        repeats,
        said_of_factor,
        unaffine,
    )
    from grader.engine.factors import factor, made_of
    from grader.engine.grading import Grading, grading_of, unrefused
    from grader.engine.layout import Layout
    from grader.engine.local import LocalSubmission
    from grader.engine.mistakes import Collection, Mistake
    from grader.engine.naming import LOOSE, Findings
    from grader.engine.projection_names import is_bias_of
    from grader.engine.projections import missing, projections
    from grader.engine.readings import Wanted, own_parameters
    from grader.engine.scenario import (
        LAYER_SLACK,
        Answer,
        Observation,
        Prepared,
        Scenario,
        after_a_call,
        after_another_dtype,
        after_other_numbers,
        after_other_weights,
        after_training,
        beside_an_equal_one,
        beside_another,
        by_position,
        only_form,
        traits_of,
        under_no_grad,
        with_dropped_gradients,
        with_fixed_inputs,
    )
    from grader.engine.subject import Subject, run
    from grader.engine.wording import counted
    from grader.sandbox.remote import RemoteInstance
    from grader.training.proxy import RemoteModule
    from grader.training.spotcheck import SpotChecked
    from grader.training.stand_ins import (
        D_FF,
        D_MODEL,
        MAX_LEN,
        NUM_HEADS,
        VOCAB,
        LearnersLoss,
        LearnersMasks,
        StepsInPlace,
        WholeModel,
        load_from,
        remote,
        reverser_part,
        with_stack,
    )
    from grader.training.training import (
        PLACES,
        TASK,
        WORDS,
        good_speller,
        require,
        require_spelling,
        reverser,
        spelled,
        train_model,
        train_to_reverse,
    )
    from grader.training.wrapped_part import load, wrapped_part
    from grader.worker.device_trace import ASKED_FOR, RESULT
    from grader.worker.parts.blocks import Attention, FeedForward
    from grader.worker.parts.spelling import MEMORY_WIDTH, Speller

_MODULES: dict[str, tuple[str, ...]] = {
    "grader.catalog": ("Exercise", "MistakeCollection"),
    "grader.core.explain": ("misfit",),
    "grader.core.failures": ("Failed", "Named"),
    "grader.core.progress": ("Progress",),
    "grader.core.submission": (
        "Instance",
        "Outcome",
        "ParameterInfo",
        "Submission",
        "SubmissionError",
        "one_token",
    ),
    "grader.engine.conclusions": ("imprecise",),
    "grader.engine.contrast": ("alike", "differing", "same"),
    "grader.engine.client": (
        "Client",
        "STARTS",
        "describe_outcome",
        "in_words",
        "noted",
        "parameter_facts",
        "start_facts",
        "weights_kept",
    ),
    "grader.engine.draws": ("Draws", "additive", "causal", "with_zeros"),
    "grader.engine.dropping": (
        "NOWHERE",
        "ON_AVERAGE",
        "alike_along",
        "chosen",
        "drawn_again",
        "drawn_rate",
        "dropping_facts",
        "mean_after",
        "no_shape",
        "repeats",
        "said_of_factor",
        "unaffine",
    ),
    "grader.engine.factors": ("factor", "made_of"),
    "grader.engine.grading": ("Grading", "grading_of", "unrefused"),
    "grader.engine.subject": ("Subject", "run"),
    "grader.engine.local": ("LocalSubmission",),
    "grader.engine.mistakes": ("Collection", "Mistake"),
    "grader.engine.naming": ("Findings", "LOOSE"),
    "grader.engine.projection_names": ("is_bias_of",),
    "grader.engine.layout": ("Layout",),
    "grader.engine.projections": ("missing", "projections"),
    "grader.engine.readings": ("Wanted", "own_parameters"),
    "grader.engine.scenario": (
        "Answer",
        "LAYER_SLACK",
        "Prepared",
        "Scenario",
        "Observation",
        "after_a_call",
        "beside_an_equal_one",
        "beside_another",
        "by_position",
        "only_form",
        "traits_of",
        "after_training",
        "after_another_dtype",
        "after_other_numbers",
        "after_other_weights",
        "under_no_grad",
        "with_dropped_gradients",
        "with_fixed_inputs",
    ),
    "grader.engine.wording": ("counted",),
    "grader.sandbox.remote": ("RemoteInstance",),
    "grader.training.wrapped_part": ("load", "wrapped_part"),
    "grader.training.proxy": ("RemoteModule",),
    "grader.training.spotcheck": ("SpotChecked",),
    "grader.training.stand_ins": (
        "D_FF",
        "D_MODEL",
        "LearnersLoss",
        "LearnersMasks",
        "MAX_LEN",
        "NUM_HEADS",
        "StepsInPlace",
        "VOCAB",
        "WholeModel",
        "load_from",
        "remote",
        "reverser_part",
        "with_stack",
    ),
    "grader.training.training": (
        "PLACES",
        "TASK",
        "WORDS",
        "good_speller",
        "require",
        "require_spelling",
        "reverser",
        "spelled",
        "train_model",
        "train_to_reverse",
    ),
    "grader.worker.parts.blocks": ("Attention", "FeedForward"),
    "grader.worker.parts.spelling": ("MEMORY_WIDTH", "Speller"),
    "grader.worker.device_trace": ("ASKED_FOR", "RESULT"),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(_HOME)
