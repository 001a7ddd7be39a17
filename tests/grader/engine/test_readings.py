"""Which of a learner's parameters is which."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from grader.core.submission import ParameterInfo
from grader.engine.readings import Wanted, own_parameters, readings, written


def infos(module: nn.Module) -> dict[str, ParameterInfo]:
    return {name: ParameterInfo(p.detach(), p.requires_grad) for name, p in module.named_parameters()}


def of(**shapes: tuple[int, ...]) -> dict[str, ParameterInfo]:
    return {name: ParameterInfo(torch.randn(shape), True) for name, shape in shapes.items()}


SHARD = {"up.weight": (4, 4), "up.bias": (4,), "down.weight": (4, 4)}
FEED = [
    Wanted("up.weight", (20, 8), "up|w1|fc1"),
    Wanted("up.bias", (20,), "up|b1|fc1"),
    Wanted("down.weight", (8, 20), "down|w2|fc2"),
    Wanted("down.bias", (8,), "down|b2|fc2"),
]


def test_names_and_shapes_tell() -> None:
    first = readings(of(b2=(8,), b1=(20,), w2=(8, 20), w1=(20, 8)), FEED)[0]
    assert {name: slot.own for name, slot in first.items()} == {
        "up.weight": "w1",
        "up.bias": "b1",
        "down.weight": "w2",
        "down.bias": "b2",
    }
    assert not any(slot.turned for slot in first.values())


def test_matrices_the_other_way_round_are_one_of_the_readings() -> None:
    found = readings(of(w1=(8, 20), b1=(20,), w2=(20, 8), b2=(8,)), FEED)
    assert found[0]["up.weight"].own == "w1"
    assert found[0]["up.weight"].turned
    value = torch.randn(20, 8)
    slot = found[0]["up.weight"]
    (turned,) = written({"up.weight": slot}, {"up.weight": value}).values()
    assert torch.equal(turned, value.T)
    assert torch.equal(slot.read(turned, (20, 8)), value)


HEAD = [Wanted("head.weight", (7, 4), "head"), Wanted("head.bias", (7,), "bias", optional=True)]


@pytest.mark.parametrize(
    ("shapes", "bias"),
    [
        ({"heads.0": (4, 3), "heads.1": (4, 4)}, False),
        (
            {"heads.0.weight": (3, 4), "heads.0.bias": (3,), "heads.1.weight": (4, 4), "heads.1.bias": (4,)},
            True,
        ),
        ({"heads.0.weight": (7, 1), "heads.1.weight": (7, 3), "bias": (7,)}, True),
        ({**{f"rows.{i}": (4,) for i in range(7)}, "bias": (7,)}, True),
    ],
    ids=["parameters, transposed", "layers, by rows", "layers, by columns", "a vector for each row"],
)
def test_one_may_be_cut_into_several(shapes: dict[str, tuple[int, ...]], bias: bool) -> None:
    reading = readings(of(**shapes), HEAD)[0]
    assert set(reading) == ({"head.weight", "head.bias"} if bias else {"head.weight"})
    values = {one.name: torch.randn(one.shape) for one in HEAD if one.name in reading}
    own = written(reading, values)
    assert {name: tuple(value.shape) for name, value in own.items()} == shapes
    for name, slot in reading.items():
        whole = slot.find(dict(own))
        assert whole is not None
        assert torch.equal(slot.read(whole, values[name].shape), values[name])
        assert slot.find(dict.fromkeys(own)) is None
    some = {name: value for number, (name, value) in enumerate(own.items()) if number}
    assert (whole := reading["head.weight"].find(some)) is not None
    assert bool((whole == 0).any())


def test_shards_of_equal_sizes_may_be_rows_or_columns() -> None:
    shapes = {
        **{f"shards.{i}.{end}": shape for i in range(3) for end, shape in SHARD.items()},
        "bias": (4,),
    }
    wanted = [
        Wanted("up.weight", (12, 4)),
        Wanted("up.bias", (12,)),
        Wanted("down.weight", (4, 12)),
        Wanted("down.bias", (4,)),
    ]
    found = readings(of(**shapes), wanted)
    cuts = {(one["up.weight"].cut, one["down.weight"].cut) for one in found}
    assert {(0, 1), (1, 0), (0, 0), (1, 1)} <= cuts


def test_first_values_tell_gain_from_shift_whatever_they_are_called() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Parameter(torch.zeros(6)), nn.Parameter(torch.ones(6))

    wanted = [Wanted("gain", (6,), starts=1.0), Wanted("shift", (6,), starts=0.0)]
    reading = readings(infos(Odd()), wanted)[0]
    assert (reading["gain"].own, reading["shift"].own) == ("second", "first")


def test_norms_of_one_size_are_read_both_ways_and_never_torn_apart_first() -> None:
    layer = nn.ModuleDict({"a": nn.LayerNorm(6), "b": nn.LayerNorm(6)})
    wanted = [
        Wanted(f"norm{i}.{part}", (6,), starts=start)
        for i in (1, 2)
        for part, start in (("gain", 1.0), ("shift", 0.0))
    ]
    found = readings(infos(layer), wanted)
    assert [reading["norm1.gain"].own for reading in found[:2]] == ["a.weight", "b.weight"]
    for reading in found[:2]:
        for number in (1, 2):
            homes = {reading[f"norm{number}.{part}"].own.split(".")[0] for part in ("gain", "shift")}
            assert len(homes) == 1


def test_weights_of_the_judges_parts_are_not_the_learners() -> None:
    found = own_parameters(of(**{"weight": (3,), "attention.judge_q": (3, 3)}))
    assert list(found) == ["weight"]


def test_what_is_missing_is_left_out() -> None:
    reading = readings(of(w1=(20, 8)), FEED)[0]
    assert {name: slot.own for name, slot in reading.items()} == {"up.weight": "w1"}
    assert readings({}, FEED) == [{}]


def test_leading_ones_do_not_matter() -> None:
    reading = readings(of(table=(1, 7, 4)), [Wanted("table", (7, 4))])[0]
    assert written(reading, {"table": torch.zeros(7, 4)})["table"].shape == (1, 7, 4)


NORMS = [
    Wanted(f"norm{i}.{part}", (6,), starts=start)
    for i in (1, 2)
    for part, start in (("gain", 1.0), ("shift", 0.0))
]


@pytest.mark.parametrize("shape", [(2, 2, 6), (4, 6), (24,), (1, 4, 6)])
def test_what_is_stacked_in_one_parameter_is_told_apart_piece_by_piece(shape: tuple[int, ...]) -> None:
    start = torch.tensor([0.0, 1.0, 0.0, 1.0]).repeat_interleave(6).reshape(shape)
    own = {"all": ParameterInfo(start, True)}
    found = readings(own, NORMS)
    pieces = [[reading[one.name].piece for one in NORMS] for reading in found]
    assert pieces[0] == [1, 0, 3, 2], "gains start at 1, and what belongs together comes together"
    assert [3, 2, 1, 0] in pieces
    values = {one.name: torch.full((6,), float(i)) for i, one in enumerate(NORMS)}
    whole = written(found[0], values)["all"]
    assert whole.shape == shape
    assert whole.flatten()[::6].tolist() == [1, 0, 3, 2]
    assert all(torch.equal(slot.read(whole, (6,)), values[name]) for name, slot in found[0].items())


@pytest.mark.parametrize("shape", [(6, 4), (1, 6, 4), (24,)])
def test_pieces_may_stand_side_by_side(shape: tuple[int, ...]) -> None:
    start = torch.tensor([0.0, 1.0, 0.0, 1.0]).expand(6, 4).reshape(shape)
    found = readings({"all": ParameterInfo(start, True)}, NORMS)
    (first, *_) = [one for one in found if one["norm1.gain"].along == len(shape) - (shape != (24,))]
    assert [first[one.name].piece for one in NORMS] == [1, 0, 3, 2]
    values = {one.name: torch.full((6,), float(i)) for i, one in enumerate(NORMS)}
    whole = written(first, values)["all"]
    assert whole.shape == shape
    assert whole.reshape(6, 4)[0].tolist() == [1, 0, 3, 2]
    assert all(torch.equal(slot.read(whole, (6,)), values[name]) for name, slot in first.items())


LAYERS = [Wanted("first.weight", (5, 3)), Wanted("first.bias", (5,)), Wanted("second.weight", (3, 5))]
LAYERS.append(Wanted("second.bias", (3,)))


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [3, 2, 1, 0]])
def test_all_may_lie_one_after_the_other_in_a_vector(order: list[int]) -> None:
    names, sizes = [LAYERS[i].name for i in order], [math.prod(LAYERS[i].shape) for i in order]
    values = {one.name: torch.randn(one.shape) for one in LAYERS}
    flat = torch.cat([values[name].flatten() for name in names])
    found = readings({"all": ParameterInfo(flat.clone(), True)}, LAYERS)
    wholes = [written(one, values)["all"] for one in found]
    (first, *_) = [one for one, whole in zip(found, wholes, strict=True) if torch.equal(whole, flat)]
    assert [first[name].start for name in names] == [sum(sizes[:i]) for i in range(len(sizes))]
    assert all(torch.equal(first[one.name].read(flat, one.shape), values[one.name]) for one in LAYERS)


def test_both_biases_may_be_one_vector_beside_matrices() -> None:
    own = {"matrices": torch.randn(2, 5, 3), "biases": torch.randn(8)}
    found = readings({name: ParameterInfo(value, True) for name, value in own.items()}, LAYERS)
    read = [
        {one.name: reading[one.name].read(own[reading[one.name].own], one.shape) for one in LAYERS}
        for reading in found
    ]
    assert any(
        torch.equal(one["first.bias"], own["biases"][:5])
        and torch.equal(one["second.weight"], own["matrices"][1].T)
        for one in read
    )


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_bias_may_be_a_row_or_a_column_of_its_matrix(first: bool, turned: bool) -> None:
    values = {one.name: torch.randn(one.shape) for one in LAYERS}
    own = {}
    for name in ("first", "second"):
        weight, bias = values[f"{name}.weight"].T, values[f"{name}.bias"].unsqueeze(0)
        whole = torch.cat([bias, weight] if first else [weight, bias])
        own[name] = whole.T if turned else whole
    found = readings({name: ParameterInfo(value, True) for name, value in own.items()}, LAYERS)
    wholes = [written(one, values) for one in found]
    (right, *_) = [
        one
        for one, whole in zip(found, wholes, strict=True)
        if all(torch.equal(whole[name], value) for name, value in own.items())
    ]
    for one in LAYERS:
        assert torch.equal(right[one.name].read(own[right[one.name].own], one.shape), values[one.name])


def test_a_square_is_read_both_ways() -> None:
    wanted = [Wanted(name, (2,)) for name in ("gain", "shift")]
    found = readings(of(both=(2, 2)), wanted)
    assert {(reading["gain"].along, reading["gain"].piece) for reading in found} == {
        (0, 0),
        (0, 1),
        (1, 0),
        (1, 1),
    }


def test_a_parameter_smaller_than_what_is_wanted_is_no_stack() -> None:
    assert readings(of(slope=(1,), w=(20, 8)), FEED)[0].keys() == {"up.weight"}
    assert readings(of(slope=()), FEED) == [{}]


def test_matrices_side_by_side() -> None:
    wanted = [Wanted("up", (5, 3)), Wanted("gate", (5, 3))]
    reading = readings(of(both=(3, 10)), wanted)[0]
    up, gate = torch.randn(5, 3), torch.randn(5, 3)
    assert torch.equal(written(reading, {"up": up, "gate": gate})["both"], torch.cat((up, gate)).T)


@pytest.mark.parametrize("shape", [(3, 6), (5, 6), (2, 12)])
def test_a_parameter_that_holds_more_or_less_is_no_stack(shape: tuple[int, ...]) -> None:
    assert readings(of(all=shape), NORMS) == [{}]


def test_stacks_are_looked_for_only_where_something_is_missing() -> None:
    found = readings(of(w1=(20, 8), b1=(20,), w2=(8, 20), b2=(8,), more=(2, 20, 8)), FEED)
    assert all(slot.pieces == 1 for reading in found for slot in reading.values())
    stacked = readings(of(w=(2, 20, 8), b1=(20,), b2=(8,)), FEED)[0]
    assert (stacked["up.weight"].piece, stacked["down.weight"].piece) == (0, 1)
    assert stacked["down.weight"].turned
    assert not stacked["up.weight"].turned


@settings(deadline=None, max_examples=50)
@given(
    st.permutations(["up.weight", "up.bias", "down.weight", "down.bias"]),
    st.integers(2, 9),
    st.integers(10, 20),
)
def test_any_order_and_any_names_are_among_the_readings(order: list[str], d_model: int, d_ff: int) -> None:
    shapes = {
        "up.weight": (d_ff, d_model),
        "up.bias": (d_ff,),
        "down.weight": (d_model, d_ff),
        "down.bias": (d_model,),
    }
    wanted = [Wanted(name, shape) for name, shape in shapes.items()]
    own = {f"p{i}": ParameterInfo(torch.randn(shapes[name]), True) for i, name in enumerate(order)}
    right = {name: f"p{i}" for i, name in enumerate(order)}
    assert right in [{name: slot.own for name, slot in reading.items()} for reading in readings(own, wanted)]


def test_parameters_without_numbers_are_left_out() -> None:
    """`nn.Linear(8, d_model % num_heads)` has such ones: they are nothing that could be found."""
    empty, weight = (ParameterInfo(torch.zeros(size, 8), requires_grad=True) for size in (0, 8))
    assert list(own_parameters({"q.weight": empty, "out.weight": weight})) == ["out.weight"]
