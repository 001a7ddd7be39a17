"""Plans: every choice is looked up once, and the plan says what the builder builds."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.zoo.support import fitting
from zoo.core import rules
from zoo.core.axes import AXES
from zoo.core.blueprint import Blueprint, Choice, make_blueprint
from zoo.core.errors import CombinationError, UnknownNameError, ZooError
from zoo.core.frozen import FrozenMapping
from zoo.core.plan import Plan, make_plan
from zoo.core.plugins import get_plugins, get_registry
from zoo.core.registry import Registry, Variant
from zoo.models.builder import build, build_decoding, build_loss, build_schedule

TINY = {
    "d_model": 8, "num_heads": 2, "d_ff": 8, "num_encoder_layers": 1, "num_decoder_layers": 1,
    "src_vocab": 9, "tgt_vocab": 9, "max_len": 8,
}  # fmt: skip
VARIANTS = get_registry().variants()
Calls = Counter[tuple[str, str]]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """How often each (axis, text) was looked up."""
    found: Calls = Counter()
    resolve = Registry.resolve

    def counted(self: Registry, axis: str, text: str) -> Any:
        found[axis, text] += 1
        return resolve(self, axis, text)

    monkeypatch.setattr(Registry, "resolve", counted)
    return found


def once_per_axis(calls: Calls, blueprints: int = 1) -> bool:
    return Counter(axis for axis, _ in calls.elements()) == {axis.name: blueprints for axis in AXES}


def test_building_looks_every_choice_up_once(calls: Calls) -> None:
    build(make_blueprint(**TINY))
    assert once_per_axis(calls)


def test_a_training_looks_every_choice_up_once(calls: Calls) -> None:
    blueprint = make_blueprint(**TINY)
    build(blueprint)
    build_loss(blueprint)
    build_schedule(blueprint, 10, 2)
    build_decoding(blueprint)
    assert once_per_axis(calls)


def test_a_blueprint_from_json_looks_every_choice_up_once(calls: Calls) -> None:
    data = make_blueprint(**TINY).to_json()
    calls.clear()
    build(Blueprint.from_json(data))
    assert once_per_axis(calls)


def test_another_choice_is_the_only_one_that_is_looked_up(calls: Calls) -> None:
    blueprint = make_blueprint(**TINY)
    calls.clear()
    build(blueprint.with_choices(attention="fused").with_sizes(d_model=4))
    assert calls == {("attention", "fused"): 1}


@pytest.mark.usefixtures("timed_once")
@pytest.mark.parametrize("command", [
    "build --attention=fused --norm=pre",
    "build --preset=reverse --attention=fused:bias=false",
    "train --steps=1 --attention=fused",
    "train --preset=write-your-own --corrected --steps=1 --max-len=16 --d-model=8 --num-heads=2",
    "train --task=translate {folder}/run --train-tsv={pairs} --valid-tsv={pairs} --test-tsv={pairs} --vocab-size=280 "
    "--epochs=1 --d-model=8 --d-ff=8 --num-heads=2",
    "compare --attention=fused --d-model=8 --num-heads=2 --batch=1 --length=4",
])  # fmt: skip
@pytest.mark.sampled(3)
def test_a_command_looks_every_choice_up_once(command: str, calls: Calls, tmp_path: Path) -> None:
    from zoo.cli.root import make_cli

    pairs = tmp_path / "pairs"
    pairs.write_text("ab\tba\ncd\tdc\n")
    group = make_cli(get_plugins())
    words = command.format(folder=tmp_path, pairs=pairs).split()
    group.resolve_command(group.make_context("zoo", ["list"]), [words[0]])  # imports the command
    calls.clear()
    result = CliRunner().invoke(group, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    if words[0] == "compare":  # its own attention is another blueprint, with which outputs are compared
        calls.subtract({("attention", "eager"): 1, ("attention", "eager:bias=true"): 1})
    translating = "--task=translate" in words  # to score, it reads run.json and best/zoo.json
    assert once_per_axis(calls, blueprints=3 if translating else 1)


def test_building_makes_one_plan_and_checks_it_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the command line to the module: what is planned and checked is handed on."""
    from zoo.cli.root import make_cli

    done: Counter[str] = Counter()

    def counted(place: object, name: str) -> None:
        function = getattr(place, name)

        def wrapper(*args: Any, **named: Any) -> Any:
            done[name] += 1
            return function(*args, **named)

        monkeypatch.setattr(place, name, wrapper)

    counted(Plan, "__init__")
    counted(rules, "problems")
    words = ["build", "--attention=fused", "--assembly=decoder", "--num-encoder-layers=2"]
    result = CliRunner().invoke(make_cli(get_plugins()), words, catch_exceptions=False)
    assert result.exit_code == 0
    assert "Not used by assembly=decoder: --num-encoder-layers." in result.stderr
    assert done == {"__init__": 1, "problems": 1}
    with pytest.raises(CombinationError, match="not divisible"):  # a caller from Python is checked too
        build(make_blueprint(d_model=9, num_heads=2))


COUNT = """
import json, sys
from collections import Counter
from click.testing import CliRunner
from zoo.core.registry import Registry
found, resolve = Counter(), Registry.resolve
def counted(self, axis, text):
    found[axis] += 1
    return resolve(self, axis, text)
Registry.resolve = counted
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins
done = CliRunner().invoke(make_cli(get_plugins()), sys.argv[1:], catch_exceptions=False)
assert done.exit_code == 0, done.output
print(json.dumps(found))
"""


@pytest.mark.parametrize(("command", "times"), [
    ("build --preset=reverse --attention=fused", 1), ("build --help", 0), ("list presets", 0)
])  # fmt: skip
@pytest.mark.sampled(3)
def test_a_process_looks_up_nothing_but_what_it_builds(command: str, times: int) -> None:
    """All of its look-ups are counted, those of the presets that --help names among them."""
    words = [sys.executable, "-c", COUNT, *command.split()]
    environment = {
        **os.environ,
        "ZOO_PLUGINS": "grader",
    }  # presets of others are checked when they are loaded
    done = subprocess.run(words, env=environment, check=True, capture_output=True, text=True, timeout=600)
    assert json.loads(done.stdout) == ({axis.name: times for axis in AXES} if times else {})


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: f"{v.axis}-{v.name}")
def test_a_plan_has_the_variants_of_its_blueprint(variant: Variant) -> None:
    blueprint = fitting({variant.axis: variant.name}, **TINY)
    plan = make_plan(blueprint)
    assert plan[variant.axis].variant == variant
    assert plan.sizes == blueprint.sizes
    for axis, choice in blueprint.choices.items():
        assert plan[axis].name == choice.name
        assert plan[axis].options == {n: value for n, value in choice.options.items() if value is not None}


def test_a_blueprint_that_was_pickled_needs_no_look_up(calls: Calls) -> None:
    blueprint = pickle.loads(pickle.dumps(make_blueprint(**TINY)))
    calls.clear()
    make_plan(blueprint)
    assert not calls


def test_a_choice_made_by_hand_is_looked_up_and_checked() -> None:
    blueprint = make_blueprint(**TINY)

    def with_choice(choice: Choice) -> Blueprint:
        return replace(blueprint, choices=FrozenMapping({**blueprint.choices, "attention": choice}))

    plan = make_plan(with_choice(Choice("fused", {"bias": False})))
    assert plan["attention"].variant == get_registry().get("attention", "fused")
    assert plan["attention"].options == {"bias": False}
    with pytest.raises(ZooError, match="Option bias=3: expected true or false"):
        make_plan(with_choice(Choice("fused", {"bias": 3})))
    with pytest.raises(UnknownNameError, match="There is no attention 'fussed'"):
        make_plan(with_choice(Choice("fussed")))


def test_a_registry_without_the_variant_refuses_it() -> None:
    registry = Registry(AXES)
    for variant in VARIANTS:
        if variant.name != "fused":
            registry.add(variant, variant.origin)
    with pytest.raises(UnknownNameError, match="There is no attention 'fused'"):
        build(make_blueprint(**TINY, attention="fused"), registry=registry)
