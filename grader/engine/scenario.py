"""One thing that is asked of a submission, and what it answered.

A scenario is a small script: make parts, construct the learner's class, load weights, call, look. The same script is
run on the learner's code (in its worker), on the reference (in float64: that is the right answer) and on the reference
with one thing wrong (that is how a mistake gets its name).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from grader.core.submission import SubmissionError

if TYPE_CHECKING:
    from grader.engine.client import Client

Answer = Mapping[str, Tensor | str]
Free = tuple[tuple[str, Hashable], ...]

BESIDE = "another object of the class"
EQUAL = "an equal object of the class"
AFTER = "an earlier call with the same shapes"
DROPPED = "dropout in the backward pass"
GRADIENTS = "gradients"
REWEIGHTED = "weights that have changed"
REFILLED = "tensors that have changed since an earlier call"
TRAINED = "an earlier call in train mode"
COARSE = "an earlier call in another dtype"
NO_GRAD = "torch.no_grad()"
FIXED = "inputs that need no gradient"
POSITION = "arguments by position"
LAYER_SLACK = {torch.bfloat16: 2.0}
"""By dtype, for what goes through a whole layer: right code was off by half the usual bound in 1 of 1,500 draws."""


@dataclass(frozen=True, eq=False)
class Scenario:
    """See the module.

    Attributes:
        title: what is special about it, as words in a sentence ("a row of nothing but padding").
        component: the function or class that is judged by it.
        group: the hidden test it belongs to.
        ask: the script. Gives tensors and texts by name; SubmissionErrors are left to pass.
        dtype: of inputs and weights.
        slack: how many times the usual rounding error is allowed.
        traits: what a failure may turn on, as in `grader.engine.conclusions.TRAITS` ("bfloat16 inputs").
        picture: drawn beside a failure that has no picture of its own.
    """

    title: str
    component: str
    group: str
    ask: Callable[[Client], Answer]
    dtype: torch.dtype = torch.float32
    slack: float = 1.0
    traits: frozenset[str] = frozenset()
    picture: str = ""


def _as_it_is(_client: Client, answer: Answer) -> Answer:
    return answer


@dataclass(frozen=True)
class Prepared:
    """A script for which the client is prepared.

    Args:
        script: as a scenario's `ask`.
        prepare: is called with the client before.
        look: makes another answer of the script's.
    """

    script: Callable[[Client], Answer]
    prepare: Callable[[Client], None]
    look: Callable[[Client, Answer], Answer] = _as_it_is

    def __call__(self, client: Client) -> Answer:
        """The script's answer, as it is looked at."""
        self.prepare(client)
        return self.look(client, self.script(client))


def _prepared(
    scenario: Scenario,
    words: str,
    traits: Collection[str],
    look: Callable[[Client, Answer], Answer] = _as_it_is,
    **attributes: Any,
) -> Scenario:
    """A scenario with other traits, for which attributes of the client are set. Args: words: added to its title."""

    def prepare(client: Client) -> None:
        for name, value in attributes.items():
            setattr(client, name, value)

    ask = Prepared(scenario.ask, prepare, look)
    return replace(scenario, title=f"{scenario.title}, {words}", ask=ask, traits=frozenset(traits))


def beside_another(scenario: Scenario, *args: Any, **kwargs: Any) -> Scenario:
    """The same, while there is another object of the class: what that was made with, and its weights, must not change
    this one.

    Args:
        args: it is made with, in place of the others, if there are any.
        kwargs: it is made with, besides the others.
    """
    return _prepared(scenario, "beside another one", {BESIDE}, beside=(args, kwargs))


def beside_an_equal_one(scenario: Scenario) -> Scenario:
    """The same, while there is another object of the class that was made with the same, and has other weights."""
    return _prepared(scenario, "beside an equal one", {EQUAL}, beside=((), {}))


def after_a_call(scenario: Scenario) -> Scenario:
    """The same, after a call of each kind with other numbers in the same shapes, which must not change anything."""
    return _prepared(scenario, "after another call", {AFTER}, calls_before=True)


def with_dropped_gradients(scenario: Scenario) -> Scenario:
    """Whether the gradients are those of the output where some of it is dropped: in the backward pass the same is.

    Args:
        scenario: asks for gradients, in train mode and with dropout.
    """

    def look(_client: Client, answer: Answer) -> Answer:
        return {GRADIENTS: answer[GRADIENTS]}

    found = _prepared(scenario, "gradients with dropout", {DROPPED}, look, only_fit=True)
    return replace(found, dtype=torch.float64)  # in doubles, small steps differ from rounding


def with_fixed_inputs(scenario: Scenario) -> Scenario:
    """The gradients of the parameters alone. Args: scenario: asks for those of inputs too."""
    return _prepared(scenario, "inputs without gradients", {FIXED}, fixed_inputs=True)


def after_other_weights(scenario: Scenario) -> Scenario:
    """The same after a call with other weights: nothing that was computed of them may be kept, also where no gradients
    are recorded.

    Args:
        scenario: in eval mode.
    """
    traits = scenario.traits | {REWEIGHTED, NO_GRAD}
    return _prepared(scenario, "after a call with other weights", traits, reweighted=True, records=False)


def after_training(scenario: Scenario) -> Scenario:
    """The same after a call in train mode: nothing that was decided there may be kept.

    Args:
        scenario: in eval mode, with dropout.
    """
    words = "after a call in train mode"
    return _prepared(scenario, words, scenario.traits | {TRAINED}, trained_before=True)


def after_other_numbers(scenario: Scenario) -> Scenario:
    """The same after a call with the same tensors, into which other numbers were written since, as into buffers.

    What that call gave must stay as it is.
    """
    words = "after a call with other numbers in the same tensors"
    return _prepared(scenario, words, scenario.traits | {REFILLED}, refilled=True)


def after_another_dtype(scenario: Scenario) -> Scenario:
    """The same after a call with its inputs in bfloat16: nothing of so few digits may be kept."""
    words = "after a call in bfloat16"
    return _prepared(scenario, words, scenario.traits | {COARSE}, coarse_before=True)


def by_position(scenario: Scenario) -> Scenario:
    """The same, with arguments by position that the script gives by keyword: it has them in the contract's order."""
    return _prepared(scenario, "by position", {POSITION}, by_position=True)


def under_no_grad(scenario: Scenario) -> Scenario:
    """The same where no gradients are recorded, as when a trained model is used."""
    return _prepared(scenario, "under torch.no_grad()", scenario.traits | {NO_GRAD}, records=False)


def traits_of(title: str) -> frozenset[str]:
    """The traits of a scenario that is called after its trait: those of zeros have another one in common."""
    return frozenset({title, "zeros"} if title in ("vectors of zeros", "nothing but zeros") else {title})


def only_form(scenario: Scenario, dtype: torch.dtype = torch.float32) -> Scenario:
    """The dtype and shape of the results, and whether all is finite: of numbers that are dropped by chance.

    Args:
        dtype: of the inputs.
    """

    def look(client: Client, answer: Answer) -> Answer:
        forms = {
            f"form of {name}": f"{list(x.shape)}, "
            f"{'the dtype of the inputs' if x.dtype == client.dtype else str(x.dtype)[6:]}, "
            f"{'finite' if bool(x.isfinite().all()) else 'with NaN or infinity'}"
            for name, x in answer.items()
            if isinstance(x, Tensor)
        }
        return {**forms, **{name: text for name, text in answer.items() if name == "result"}}

    kind = "" if dtype == torch.float32 else f"{str(dtype)[6:]} inputs"
    words = f"{kind}, the form of the result" if kind else "the form of the result"
    found = _prepared(scenario, words, scenario.traits | ({kind} if kind else set()), look)
    return replace(found, dtype=dtype)


def made_only(scenario: Scenario) -> Scenario:
    """What a scenario makes, without a call: for a record of what constructors do."""
    return _prepared(scenario, "made only", scenario.traits, only_made=True)


@dataclass(frozen=True)
class Observation:
    """What a scenario gave: tensors and texts by name, or the error that ended it.

    `unread`: parameters that are as many numbers as they should be were not recognised, and so not loaded.
    `lacking`: parameters that right code has were not found.
    `idle`: names of parameters with which right code does nothing.
    `unusual`: parameters are kept in shapes that say little about the order of their numbers.
    `free`: what the contract leaves free, as the submission has it, see `Client.left_free`.
    `chosen`: words and switches that the class was constructed with, by name: norm="pre".
    `extra`: parameters that do not belong to the class, with their first values, see `Client.load`.
    `told_apart`: an earlier call gave something else than the same call with other numbers, see `after_a_call`.
    `given`: most tensors that one call was given.
    """

    values: Mapping[str, Tensor] = field(default_factory=dict)
    facts: Mapping[str, str] = field(default_factory=dict)
    error: SubmissionError | None = None
    unread: bool = False
    lacking: bool = False
    idle: frozenset[str] = frozenset()
    unusual: bool = False
    free: Free = ()
    chosen: Free = ()
    extra: tuple[tuple[str, Tensor], ...] = ()
    told_apart: bool = False
    given: int = 0


def observe(answer: Answer) -> Observation:
    """Sort an answer into tensors and texts."""
    tensors = {name: x.detach() for name, x in answer.items() if isinstance(x, Tensor)}
    return Observation(tensors, {name: str(x) for name, x in answer.items() if not isinstance(x, Tensor)})


def scenarios_of(
    everything: Sequence[Scenario], component: str, groups: Sequence[str] = ()
) -> list[Scenario]:
    """Those of one component, and of these groups if any are named."""
    return [s for s in everything if s.component == component and (not groups or s.group in groups)]
