"""Blueprints: defaults, JSON there and back over the live registry, and what is no blueprint."""

from __future__ import annotations

import copy
import json
import pickle
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.core.axes import AXES
from zoo.core.blueprint import Blueprint, Choice, Sizes, get_preset, make_blueprint
from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.plugins import get_registry
from zoo.core.registry import Option, Variant

REGISTRY = get_registry()


def values(option: Option) -> st.SearchStrategy[Any]:
    if option.choices:
        return st.sampled_from(option.choices)
    low, high = option.minimum, option.maximum
    return {
        bool: st.booleans(),
        int: st.integers(None if low is None else int(low), None if high is None else int(high)),
        float: st.floats(low, high, allow_nan=False, allow_infinity=False),
        str: st.text(st.characters(exclude_characters=":", codec="utf-8"), min_size=1),
    }[option.type]


def choices(variant: Variant) -> st.SearchStrategy[str]:
    given_options = st.fixed_dictionaries({}, optional={o.name: values(o) for o in variant.options})
    return given_options.map(lambda options: str(Choice(variant.name, options)))


blueprints = st.builds(
    make_blueprint,
    **{axis.name: st.one_of([choices(v) for v in REGISTRY.variants(axis.name)]) for axis in AXES},
    dropout=st.floats(0, 0.99),
    **{name: st.integers(1, 10**6) for name in ("d_model", "num_heads", "d_ff", "max_len", "src_vocab", "tgt_vocab")},
)  # fmt: skip


@given(blueprint=blueprints)
def test_json_there_and_back_gives_an_equal_blueprint(blueprint: Blueprint) -> None:
    assert Blueprint.from_json(blueprint.to_json()) == blueprint
    assert Blueprint.from_json(json.dumps(blueprint.to_json())) == blueprint


@given(blueprint=blueprints)
def test_a_choice_as_text_stands_for_itself(blueprint: Blueprint) -> None:
    again = make_blueprint(**{axis: str(choice) for axis, choice in blueprint.choices.items()})
    assert again.choices == blueprint.choices


def test_defaults_fill_every_axis_and_every_option() -> None:
    blueprint = make_blueprint()
    assert {axis.name: axis.default for axis in AXES} == {a: c.name for a, c in blueprint.choices.items()}
    assert blueprint["attention"].options == {"bias": True, "dropout": None}
    assert blueprint.sizes == Sizes()
    assert str(make_blueprint(attention="fused:bias=false")["attention"]) == "fused:bias=false"


def test_changed_copies_leave_the_original_alone() -> None:
    first = make_blueprint()
    second = first.with_sizes(d_model=64).with_choices(norm="post")
    assert (second.sizes.d_model, second["norm"].name) == (64, "post")
    assert first == make_blueprint()
    with pytest.raises(TypeError):
        second.choices["norm"] = Choice("pre")  # type: ignore[index]


@pytest.mark.parametrize(
    ("given_arguments", "message"),
    [
        ({"atention": "fused"}, "There is no axis or size 'atention'. Did you mean attention"),
        ({"attention": "fussed"}, "There is no attention 'fussed'. Did you mean fused"),
        ({"d_modle": 3}, "Did you mean d_model?"),
        ({"d_model": 0}, "d_model=0: expected at least 1."),
        ({"d_model": 1.5}, "d_model=1.5: expected a whole number."),
        ({"d_model": True}, "d_model=True: expected a whole number."),
        ({"d_model": "8"}, "d_model='8': expected a whole number."),
        ({"dropout": "no"}, "dropout='no': expected a number."),
        ({"dropout": 1}, "dropout=1.0: expected a probability below 1."),
        ({"dropout": -0.1}, "dropout=-0.1: expected at least 0."),
        ({"dropout": float("nan")}, "dropout=nan: expected a probability below 1."),
        ({"pad": 1000}, "pad=1000 is not a token of the vocabularies (src_vocab=1000, tgt_vocab=1000)"),
        ({"pad": -1}, "pad=-1: expected at least 0."),
    ],
)
def test_what_is_wrong_is_a_sentence(given_arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ZooError) as caught:
        make_blueprint(**given_arguments)
    assert message in str(caught.value)


@pytest.mark.parametrize("change", [{"d_modle": 3}, {"attention": 3}])
def test_only_sizes_are_sizes(change: dict[str, int]) -> None:
    with pytest.raises(UnknownNameError):
        make_blueprint().with_sizes(**change)


def changed(*path: str, to: object) -> dict[str, Any]:
    """A good blueprint's JSON with one place changed, or taken out (to=...)."""
    data: dict[str, Any] = make_blueprint().to_json()
    place = data
    for key in path[:-1]:
        place = place[key]
    if to is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = to
    return data


MALFORMED = {
    "no JSON": "{",
    "nothing": "",
    "a list": [],
    "a number": 5,
    "null": "null",
    "none": None,
    "brackets": "[" * 100_000,
    "a long number": "1" * 5000,
    "no format": changed("format", to=...),
    "another format": changed("format", to=2),
    "a strange format": changed("format", to={}),
    "no sizes": changed("sizes", to=...),
    "sizes no object": changed("sizes", to=[1]),
    "choices no object": changed("choices", to="eager"),
    "an unknown axis": changed("choices", "atention", to={"name": "eager", "options": {}}),
    "an unknown variant": changed("choices", "attention", to={"name": "eagre"}),
    "a choice without a name": changed("choices", "attention", to={"options": {}}),
    "a choice that is a text": changed("choices", "attention", to="eager"),
    "a name that is a number": changed("choices", "attention", "name", to=5),
    "options no object": changed("choices", "attention", "options", to=[True]),
    "an unknown option": changed("choices", "attention", "options", to={"bais": True}),
    "an option of another type": changed("choices", "attention", "options", to={"bias": "true"}),
    "an option out of range": changed("choices", "encoding", "options", to={"base": 0.5}),
    "an option that is no number": changed("choices", "encoding", "options", to={"base": float("nan")}),
    "a file that is gone": changed("choices", "attention", "name", to="gone.py:Attention"),
    "a file name that is too long": changed("choices", "attention", "name", to="n" * 5000 + ".py:A"),
    "an unknown size": changed("sizes", "d_modle", to=8),
    "a size called self": changed("sizes", "self", to=8),
    "a size that is a text": changed("sizes", "d_model", to="8"),
    "a size that is none": changed("sizes", "d_model", to=None),
    "a size that is a list": changed("sizes", "d_model", to=[8]),
    "a size below its least": changed("sizes", "d_model", to=0),
    "dropout that is no number": changed("sizes", "dropout", to=float("nan")),
}


@pytest.mark.parametrize("kind", MALFORMED)
def test_what_is_no_blueprint_raises_a_sentence(kind: str) -> None:
    with pytest.raises(ZooError) as caught:
        Blueprint.from_json(MALFORMED[kind])
    assert str(caught.value).endswith((".", "?"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
PLACES = [
    ("format",), ("choices",), ("sizes",), ("choices", "attention"), ("choices", "attention", "name"),
    ("choices", "encoding", "options"), ("choices", "encoding", "options", "base"), ("sizes", "d_model"),
    ("sizes", "dropout"),
]  # fmt: skip


@given(place=st.sampled_from(PLACES), value=json_values)
def test_any_json_gives_a_blueprint_or_a_sentence(place: tuple[str, ...], value: object) -> None:
    data = changed(*place, to=value)
    for one in (data, json.dumps(data)):
        with suppress(ZooError):  # and no other
            assert isinstance(Blueprint.from_json(one), Blueprint)


def test_json_that_leaves_out_an_axis_takes_its_default() -> None:
    assert Blueprint.from_json(changed("choices", "norm", to=...)) == make_blueprint()


def test_a_name_with_options_in_json_means_what_it_says() -> None:
    blueprint = Blueprint.from_json(changed("choices", "attention", to={"name": "fused:bias=false"}))
    assert blueprint["attention"] == Choice("fused", {"bias": False, "dropout": None})


def test_a_file_stays_a_file_in_json(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("class Mine: pass")
    blueprint = make_blueprint(attention=f"{file}:Mine")
    assert blueprint["attention"] == Choice(f"{file}:Mine", {})
    assert Blueprint.from_json(json.dumps(blueprint.to_json())) == blueprint


def test_every_size_has_a_help_text() -> None:
    assert all(one.metadata["help"] for one in fields(Sizes))


def test_an_unknown_preset_is_a_sentence() -> None:
    with pytest.raises(UnknownNameError, match="There is no preset 'no-such-preset'"):
        get_preset("no-such-preset")


@given(blueprint=blueprints)
def test_it_is_a_value(blueprint: Blueprint) -> None:
    for same in (pickle.loads(pickle.dumps(blueprint)), copy.deepcopy(blueprint), copy.copy(blueprint)):
        assert same == blueprint
        assert hash(same) == hash(blueprint)
    assert asdict(blueprint)["sizes"] == blueprint.to_json()["sizes"]


@pytest.mark.parametrize("name", [3, None, True, ["eager"]])
def test_a_variant_is_named_in_a_text(name: object) -> None:
    with pytest.raises(ZooError, match=r"attention=.*: expected the name of a variant"):
        make_blueprint(attention=name)
    with pytest.raises(ZooError, match=r"attention=.*: expected the name of a variant"):
        make_blueprint().with_choices(attention=name)  # type: ignore[arg-type]


def test_numbers_of_numpy_are_numbers() -> None:
    sizes = make_blueprint(d_model=np.int64(64), dropout=np.float32(0.5), max_len=np.uint8(9)).sizes
    assert (sizes.d_model, sizes.dropout, sizes.max_len) == (64, 0.5, 9)
    assert json.loads(json.dumps(make_blueprint(d_model=np.int64(64)).to_json()))["sizes"]["d_model"] == 64
