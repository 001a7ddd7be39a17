"""Which of a learner's parameters is which."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from grader.judge.component import ParameterInfo
from grader.judge.readings import Wanted, own_parameters, readings


def infos(module: nn.Module) -> dict[str, ParameterInfo]:
    return {name: ParameterInfo(p.detach(), p.requires_grad) for name, p in module.named_parameters()}


def of(**shapes: tuple[int, ...]) -> dict[str, ParameterInfo]:
    return {name: ParameterInfo(torch.randn(shape), True) for name, shape in shapes.items()}


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
    assert torch.equal(slot.read(slot.write(value), (20, 8)), value)
    assert torch.equal(slot.write(value), value.T)


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
    assert reading["table"].write(torch.zeros(7, 4)).shape == (1, 7, 4)


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
