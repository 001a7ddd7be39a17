"""Choices per layer: what is typed, what is saved, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import ZooError
from zoo.core.pattern import LONGEST, format_pattern, name_layers, shortest, split_pattern
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.registry import Option, Registry, Variant
from zoo.core.rules import problems

PER_LAYER = [axis.name for axis in get_registry().axes if axis.per_layer]
NUMBERS = st.floats(1, 1e30) | st.integers(1, 10**6)


def value_of(option: Option) -> st.SearchStrategy[Any]:
    if option.choices:
        return st.sampled_from(option.choices)
    if option.type is bool:
        return st.booleans()
    low, high = option.minimum, option.maximum
    if option.type is int:
        return st.integers(int(low or 0), int(high or 1000))
    return st.floats(low if low is not None else -1e30, high if high is not None else 1e30)


@st.composite
def texts(draw: st.DrawFn, axis: str) -> str:
    """A variant as a user types it, with some of its options."""
    variant: Variant = draw(st.sampled_from(get_registry().variants(axis)))
    some = draw(st.lists(st.sampled_from(variant.options), unique=True)) if variant.options else []
    typed = [(one.name, draw(value_of(one))) for one in some]
    return ":".join([variant.name, *(f"{k}={str(v).lower() if v in (True, False) else v}" for k, v in typed)])


@given(st.data())
def test_a_choice_per_layer_comes_back_from_its_text_and_from_json(data: st.DataObject) -> None:
    axis = data.draw(st.sampled_from(PER_LAYER))
    one = texts(axis)
    layers = data.draw(st.lists(one | one.map(lambda text: f"{text}*2"), min_size=1, max_size=4))
    blueprint = make_blueprint(**{axis: "+".join(layers)})
    written = str(blueprint[axis])
    assert make_blueprint(**{axis: written}) == blueprint
    assert Blueprint.from_json(json.loads(json.dumps(blueprint.to_json()))) == blueprint
    assert blueprint[axis].layers == tuple(
        shortest([make_blueprint(**{axis: text})[axis] for text in split_pattern("+".join(layers))])
    )


@given(st.lists(st.sampled_from(["a", "b", "c:x=1e+6", "d:y=2.e+3:z=-1"]), min_size=1, max_size=12))
def test_formatting_and_splitting_are_inverse(layers: list[str]) -> None:
    assert split_pattern(format_pattern(layers)) == layers
    period = shortest(layers)
    assert [period[i % len(period)] for i in range(len(layers))] == layers
    assert not any(
        len(layers) % p == 0 and layers == layers[:p] * (len(layers) // p) for p in range(1, len(period))
    )


def test_a_repeated_pattern_is_the_shorter_one() -> None:
    assert make_blueprint(attention="eager*3") == make_blueprint(attention="eager")
    twice = make_blueprint(attention="sliding+eager+sliding+eager")
    assert twice == make_blueprint(attention="sliding+eager")
    assert str(twice["attention"]).count("+") == 1


@pytest.mark.parametrize(
    "text", ["", "+",  "eager+", "+eager", "eager*0", "eager*-1", "eager*", "eager*x", "eager*2*3x",
             f"eager*{LONGEST + 1}", "eager*99999999999999999999", "eager*²", "eager*1000+sliding*1000"],
)  # fmt: skip
def test_what_is_no_pattern_is_refused_with_a_sentence(text: str) -> None:
    with pytest.raises(
        ZooError, match=r"is not a choice, or not one for 1 to 1024|more than 1024 layers|There is no"
    ):
        make_blueprint(attention=text)


@pytest.mark.parametrize(
    "layers", [[], {}, "eager", [[]], [{"name": "eager", "times": 0}], [{"name": "eager", "times": True}],
               [{"name": "eager", "times": 10**9}], [{"name": "eager", "times": LONGEST}] * 2, [{"layers": []}], [None],
               [{"layers": [{"name": "eager"}]}], [{"name": "eager+fused"}]],
)  # fmt: skip
def test_damaged_json_is_refused_with_a_sentence(layers: object) -> None:
    data = make_blueprint().to_json()
    data["choices"]["attention"] = {"layers": layers}
    with pytest.raises(ZooError):
        Blueprint.from_json(data)


def test_axes_of_the_whole_model_take_one_choice() -> None:
    for axis in get_registry().axes:
        two = [one.name for one in get_registry().variants(axis.name)][:2]
        if len(two) < 2:
            continue
        text = "+".join(two)
        if axis.per_layer:
            assert make_blueprint(**{axis.name: text})[axis.name].then
        else:
            with pytest.raises(
                ZooError, match=rf"all layers have the same {axis.name}\. Use one choice such as"
            ):
                make_blueprint(**{axis.name: text})


def test_a_choice_is_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []
    plain = Registry.resolve

    def counting(self: Registry, axis: str, text: str) -> Any:
        asked.append((axis, text))
        return plain(self, axis, text)

    monkeypatch.setattr(Registry, "resolve", counting)
    blueprint = make_blueprint(attention="sliding*3+eager+sliding*2", encoding="rotary*3+none")
    make_plan(blueprint)
    assert len(asked) == len(set(asked))
    asked.clear()
    make_plan(Blueprint.from_json(blueprint.to_json()))
    assert asked.count(("attention", "sliding")) == 2  # two runs of it are saved
    assert asked.count(("encoding", "rotary")) == 1


def test_rules_say_in_which_layers() -> None:
    plan = make_plan(make_blueprint(attention="eager*2+torch", encoding="rotary"))
    assert problems(plan).keys() == {"positions"}
    assert problems(plan)["positions"].startswith("In layer 3: encoding=rotary acts on")
    everywhere = make_plan(make_blueprint(attention="additive+torch", encoding="rotary"))
    assert "In layer 1: " in problems(everywhere)["positions"]
    assert "In layer 2: " in problems(everywhere)["positions"]
    assert not problems(make_plan(make_blueprint(attention="eager+torch", encoding="rotary+none")))


def test_a_pattern_has_no_more_layers_than_a_stack() -> None:
    long = {"attention": "sliding*5+eager", "num_encoder_layers": 5}
    sentence = problems(make_plan(make_blueprint(**long)))["pattern-length"]
    assert "has a choice for each of 6 layers" in sentence
    assert "Use num_encoder_layers=6 or more, or choices for at most 5 layers." in sentence
    assert not problems(make_plan(make_blueprint(**long, assembly="decoder")))
    assert not problems(make_plan(make_blueprint(attention="sliding*5+eager", num_encoder_layers=8)))


def test_only_what_acts_inside_the_attention_differs_by_layer() -> None:
    found = problems(make_plan(make_blueprint(encoding="rotary+sinusoidal")))
    assert "encoding=sinusoidal acts on the embedding, once for all layers" in found["encoding-per-layer"]
    assert not problems(make_plan(make_blueprint(encoding="rotary+none+alibi")))


def test_attentions_share_a_form_of_mask() -> None:
    plan = make_plan(make_blueprint(attention="eager+linear", mask="additive"))
    form = plan.mask_form("self")
    assert form is not None
    assert form.name == "bool"


def test_layers_by_number() -> None:
    assert name_layers([4]) == "layer 4"
    assert name_layers([1, 2, 3, 5, 7, 8]) == "layers 1-3, 5, 7-8"
    assert name_layers(range(1, 40, 2)) == "layers 1, 3, 5, 7 and so on"
