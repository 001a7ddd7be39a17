"""Which of a learner's parameters is which."""

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from grader.core.submission import ParameterInfo
from grader.engine.layout import Layout
from grader.engine.readings import Wanted, own_parameters, readings


def infos(module: nn.Module) -> dict[str, ParameterInfo]:
    return {name: ParameterInfo(p.detach(), p.requires_grad) for name, p in module.named_parameters()}


def of(**shapes: tuple[int, ...]) -> dict[str, ParameterInfo]:
    return {name: ParameterInfo(torch.randn(shape), True) for name, shape in shapes.items()}


def numbers(own: Mapping[str, ParameterInfo]) -> dict[str, Tensor]:
    return {name: one.value for name, one in own.items()}


def written(layout: Layout, values: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The learner's parameters that hold these values, and zeros elsewhere."""
    return layout.write(values, {name: torch.zeros(shape) for name, shape in layout.shapes.items()})


def homes(layout: Layout) -> dict[str, list[str]]:
    return {name: layout.homes(name) for name in layout.index}


def are_equal(some: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> bool:
    return some.keys() == others.keys() and all(torch.equal(some[name], others[name]) for name in some)


SHARD = {"up.weight": (4, 4), "up.bias": (4,), "down.weight": (4, 4)}
FEED = [
    Wanted("up.weight", (20, 8), "up|w1|fc1"),
    Wanted("up.bias", (20,), "up|b1|fc1"),
    Wanted("down.weight", (8, 20), "down|w2|fc2"),
    Wanted("down.bias", (8,), "down|b2|fc2"),
]


def test_names_and_shapes_tell() -> None:
    own = of(b2=(8,), b1=(20,), w2=(8, 20), w1=(20, 8))
    right = {"up.weight": "w1", "up.bias": "b1", "down.weight": "w2", "down.bias": "b2"}
    first = readings(own, FEED)[0]
    assert homes(first) == {name: [home] for name, home in right.items()}
    as_they_are = {name: own[home].value for name, home in right.items()}
    assert are_equal(first.read(numbers(own)), as_they_are), "none is turned"


def test_matrices_the_other_way_round_are_one_of_the_readings() -> None:
    own = of(w1=(8, 20), b1=(20,), w2=(20, 8), b2=(8,))
    first = readings(own, FEED)[0]
    assert first.homes("up.weight") == ["w1"]
    assert torch.equal(first.read(numbers(own))["up.weight"], own["w1"].value.T)
    value = torch.randn(20, 8)
    turned = written(first, {"up.weight": value})
    assert torch.equal(turned["w1"], value.T)
    assert torch.equal(first.read(turned)["up.weight"], value)


HEAD = [Wanted("head.weight", (7, 4), "head"), Wanted("head.bias", (7,), "bias", optional=True)]


@pytest.mark.parametrize(
    ("shapes", "bias", "join"),
    [
        ({"heads.0": (4, 3), "heads.1": (4, 4)}, False, lambda parts: torch.cat(parts, 1).T),
        (
            {"heads.0.weight": (3, 4), "heads.0.bias": (3,), "heads.1.weight": (4, 4), "heads.1.bias": (4,)},
            True,
            torch.cat,
        ),
        (
            {"heads.0.weight": (7, 1), "heads.1.weight": (7, 3), "bias": (7,)},
            True,
            lambda parts: torch.cat(parts, 1),
        ),
        ({**{f"rows.{i}": (4,) for i in range(7)}, "bias": (7,)}, True, torch.stack),
    ],
    ids=["parameters, transposed", "layers, by rows", "layers, by columns", "a vector for each row"],
)
def test_one_may_be_cut_into_several(
    shapes: dict[str, tuple[int, ...]], bias: bool, join: Callable[[Sequence[Tensor]], Tensor]
) -> None:
    reading = readings(of(**shapes), HEAD)[0]
    assert set(reading.index) == ({"head.weight", "head.bias"} if bias else {"head.weight"})
    values = {one.name: torch.randn(one.shape) for one in HEAD if one.name in reading.index}
    own = written(reading, values)
    assert {name: tuple(value.shape) for name, value in own.items()} == shapes
    assert torch.equal(join([own[name] for name in own if not name.endswith("bias")]), values["head.weight"])
    if bias:
        whole = torch.cat([own[name] for name in own if name.endswith("bias")])
        assert torch.equal(whole, values["head.bias"])
    assert are_equal(reading.read(own), values)
    nothing = {name: torch.zeros_like(value) for name, value in values.items()}
    assert are_equal(reading.read(dict.fromkeys(own)), nothing)
    first, *_ = own
    some = reading.read({name: value for name, value in own.items() if name != first})["head.weight"]
    assert int((some == 0).sum()) == own[first].numel()
    assert torch.equal(some[some != 0], values["head.weight"][some != 0])


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
    own = of(**shapes)
    read = [one.read(numbers(own)) for one in readings(own, wanted)]
    ups, downs = ([own[f"shards.{i}.{end}.weight"].value for i in range(3)] for end in ("up", "down"))
    for up, down in product((torch.cat(ups), torch.cat(ups, 1).T), (torch.cat(downs).T, torch.cat(downs, 1))):
        assert any(
            torch.equal(one["up.weight"], up) and torch.equal(one["down.weight"], down) for one in read
        )


def test_first_values_tell_gain_from_shift_whatever_they_are_called() -> None:
    class Odd(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Parameter(torch.zeros(6)), nn.Parameter(torch.ones(6))

    wanted = [Wanted("gain", (6,), starts=1.0), Wanted("shift", (6,), starts=0.0)]
    reading = readings(infos(Odd()), wanted)[0]
    assert homes(reading) == {"gain": ["second"], "shift": ["first"]}


def test_norms_of_one_size_are_read_both_ways_and_never_torn_apart_first() -> None:
    layer = nn.ModuleDict({"a": nn.LayerNorm(6), "b": nn.LayerNorm(6)})
    wanted = [
        Wanted(f"norm{i}.{part}", (6,), starts=start)
        for i in (1, 2)
        for part, start in (("gain", 1.0), ("shift", 0.0))
    ]
    found = readings(infos(layer), wanted)
    assert [reading.homes("norm1.gain") for reading in found[:2]] == [["a.weight"], ["b.weight"]]
    for reading in found[:2]:
        for number in (1, 2):
            (gain,), (shift,) = (reading.homes(f"norm{number}.{part}") for part in ("gain", "shift"))
            assert gain.split(".")[0] == shift.split(".")[0]


def test_weights_of_the_judges_parts_are_not_the_learners() -> None:
    found = own_parameters(of(**{"weight": (3,), "attention.judge_q": (3, 3)}))
    assert list(found) == ["weight"]


def test_what_is_missing_is_left_out() -> None:
    reading = readings(of(w1=(20, 8)), FEED)[0]
    assert homes(reading) == {"up.weight": ["w1"]}
    assert [one.index for one in readings({}, FEED)] == [{}]


def test_leading_ones_do_not_matter() -> None:
    reading = readings(of(table=(1, 7, 4)), [Wanted("table", (7, 4))])[0]
    value = torch.randn(7, 4)
    assert torch.equal(written(reading, {"table": value})["table"], value.unsqueeze(0))


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
    rows = torch.arange(24).view(4, 6)
    places = [[reading.index[one.name].tolist() for one in NORMS] for reading in found]
    together = rows[[1, 0, 3, 2]].tolist()
    assert places[0] == together, "gains start at 1, and what belongs together comes together"
    assert rows[[3, 2, 1, 0]].tolist() in places
    values = {one.name: torch.full((6,), float(i)) for i, one in enumerate(NORMS)}
    whole = written(found[0], values)
    assert whole["all"].shape == shape
    assert whole["all"].flatten()[::6].tolist() == [1, 0, 3, 2]
    assert are_equal(found[0].read(whole), values)


@pytest.mark.parametrize("shape", [(6, 4), (1, 6, 4), (24,)])
def test_pieces_may_stand_side_by_side(shape: tuple[int, ...]) -> None:
    start = torch.tensor([0.0, 1.0, 0.0, 1.0]).expand(6, 4).reshape(shape)
    found = readings({"all": ParameterInfo(start, True)}, NORMS)
    columns = torch.arange(24).view(6, 4).T
    (first, *_) = [one for one in found if one.index["norm1.gain"].tolist() in columns.tolist()]
    assert [first.index[one.name].tolist() for one in NORMS] == columns[[1, 0, 3, 2]].tolist()
    values = {one.name: torch.full((6,), float(i)) for i, one in enumerate(NORMS)}
    whole = written(first, values)
    assert whole["all"].shape == shape
    assert whole["all"].reshape(6, 4)[0].tolist() == [1, 0, 3, 2]
    assert are_equal(first.read(whole), values)


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
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    assert [int(first.index[name].min()) for name in names] == starts
    assert are_equal(first.read({"all": flat}), values)


def test_both_biases_may_be_one_vector_beside_matrices() -> None:
    own = of(matrices=(2, 5, 3), biases=(8,))
    read = [one.read(numbers(own)) for one in readings(own, LAYERS)]
    assert all(one.keys() == {wanted.name for wanted in LAYERS} for one in read)
    assert any(
        torch.equal(one["first.bias"], own["biases"].value[:5])
        and torch.equal(one["second.weight"], own["matrices"].value[1].T)
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
    (right, *_) = [one for one in found if are_equal(written(one, values), own)]
    assert are_equal(right.read(own), values)


def test_a_square_is_read_both_ways() -> None:
    wanted = [Wanted(name, (2,)) for name in ("gain", "shift")]
    found = readings(of(both=(2, 2)), wanted)
    rows_and_columns = {(0, 1), (2, 3), (0, 2), (1, 3)}
    assert {tuple(reading.index["gain"].tolist()) for reading in found} == rows_and_columns


def test_a_parameter_smaller_than_what_is_wanted_is_no_stack() -> None:
    assert readings(of(slope=(1,), w=(20, 8)), FEED)[0].index.keys() == {"up.weight"}
    assert [one.index for one in readings(of(slope=()), FEED)] == [{}]


def test_matrices_side_by_side() -> None:
    wanted = [Wanted("up", (5, 3)), Wanted("gate", (5, 3))]
    reading = readings(of(both=(3, 10)), wanted)[0]
    up, gate = torch.randn(5, 3), torch.randn(5, 3)
    assert torch.equal(written(reading, {"up": up, "gate": gate})["both"], torch.cat((up, gate)).T)


@pytest.mark.parametrize("shape", [(3, 6), (5, 6), (2, 12)])
def test_a_parameter_that_holds_more_or_less_is_no_stack(shape: tuple[int, ...]) -> None:
    assert [one.index for one in readings(of(all=shape), NORMS)] == [{}]


def test_stacks_are_looked_for_only_where_something_is_missing() -> None:
    found = readings(of(w1=(20, 8), b1=(20,), w2=(8, 20), b2=(8,), more=(2, 20, 8)), FEED)
    assert not any("more" in reading.homes(one.name) for reading in found for one in FEED)
    own = of(w=(2, 20, 8), b1=(20,), b2=(8,))
    stacked = readings(own, FEED)[0].read(numbers(own))
    assert torch.equal(stacked["up.weight"], own["w"].value[0])
    assert torch.equal(stacked["down.weight"], own["w"].value[1].T)


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
    right = {name: [f"p{i}"] for i, name in enumerate(order)}
    assert right in [homes(reading) for reading in readings(own, wanted)]


def test_parameters_without_numbers_are_left_out() -> None:
    """`nn.Linear(8, d_model % num_heads)` has such ones: they are nothing that could be found."""
    empty, weight = (ParameterInfo(torch.zeros(size, 8), requires_grad=True) for size in (0, 8))
    assert list(own_parameters({"q.weight": empty, "out.weight": weight})) == ["out.weight"]
