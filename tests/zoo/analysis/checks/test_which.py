"""From what is typed to the part that is meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from zoo.analysis.checks.part import HANDED
from zoo.analysis.checks.which import SIGNS, find
from zoo.core.axes import AXES
from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.plugins import get_registry, load_plugins, make_registry
from zoo.core.registry import Variant

PLAIN = {
    "attention": "def __init__(self, d_model, num_heads, dropout=0.0): ...\n"
    "    def forward(self, query, key, value, mask=None): ...",
    "encoding": "def __init__(self, d_model, max_len): ...\n    def forward(self, x): ...",
    "norm": "def __init__(self, make_norm, num_sublayers, dropout): ...\n    def forward(self, x, *sublayers): ...",
    "norm-type": "def __init__(self, d_model): ...\n    def forward(self, x): ...",
    "feedforward": "def __init__(self, d_model, d_ff, dropout=0.0): ...\n    def forward(self, x): ...",
    "embedding": "def __init__(self, src_vocab, tgt_vocab, d_model): ...\n"
    "    def src(self, tokens): ...\n    def tgt(self, tokens): ...",
    "head": "def __init__(self, d_model, tgt_vocab): ...\n    def forward(self, x): ...",
    "masking": "def __init__(self, pad): ...\n    def src(self, tokens): ...\n"
    "    def tgt(self, tokens, num_queries): ...",
    "mask": "def encode(self, keep, dtype): ...\n    def decode(self, mask, num_keys): ...",
    "init": "def matrix(self, name, value): ...",
    "assembly": "def __init__(self, parts): ...\n    def forward(self, tokens): ...",
    "loss": "def __init__(self, pad): ...\n    def forward(self, output, labels): ...",
    "schedule": "def __init__(self, steps, warmup): ...\n    def __call__(self, step): ...",
    "optimizer": "def __init__(self, params, lr): ...\n    def step(self): ...",
    "decoding": "def __call__(self, stepper, start, max_len, eos, pad): ...",
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "mine.py"


def test_every_axis_is_known() -> None:
    axes = {axis.name for axis in AXES}
    assert axes == set(HANDED) == set(SIGNS) == set(PLAIN)


def test_a_name_and_options() -> None:
    part = find(get_registry(), "fused:bias=false")
    assert (part.axis, part.variant.name, dict(part.options)) == ("attention", "fused", {"bias": False})
    assert part.name == "attention/fused:bias=false"
    assert find(get_registry(), "attention/fused:bias=false") == part
    assert find(get_registry(), "fused:bias=false", "attention") == part


def test_a_name_on_several_axes_is_refused_with_all_of_them() -> None:
    registry = make_registry(load_plugins(group="zoo-none"))
    registry.add(Variant("norm", "fused", "zoo.parts.norm.pre:PreNorm", "mine"))
    with pytest.raises(ZooError, match=r"'fused' is on 2 axes: attention/fused, norm/fused\. Name one\."):
        find(registry, "fused")
    assert find(registry, "norm/fused").axis == "norm"
    assert find(registry, "fused", "attention").axis == "attention"


@pytest.mark.parametrize(
    ("text", "axis", "message"),
    [
        ("fussed", None, r"There is no variant 'fussed'. Did you mean fused"),
        ("norm/fused", None, r"There is no norm 'fused'\."),
        ("nrm/pre", None, r"There is no axis 'nrm'. Did you mean norm"),
        ("pre", "nrm", r"There is no axis 'nrm'. Did you mean norm"),
        ("norm/pre", "attention", r"'norm/pre' is on the axis 'norm', but --axis=attention was given\."),
        ("fused:biased=true", None, r"There is no option for attention=fused called 'biased'"),
        ("fused:bias=5", None, r"Option bias=5: expected true or false\."),
        ("gone.py:Class", None, r"there is no file 'gone.py'"),
        ("gone.py", None, r"'gone.py' cannot be read: No such file or directory\."),
    ],
)
def test_what_is_not_there_is_a_sentence(text: str, axis: str | None, message: str) -> None:
    with pytest.raises(ZooError, match=message):
        find(get_registry(), text, axis)


@pytest.mark.parametrize("axis", PLAIN)
def test_the_axis_of_a_plain_class_is_told_from_what_it_takes(axis: str, file: Path) -> None:
    file.write_text(f"class Mine:\n    {PLAIN[axis]}\n")
    assert find(get_registry(), f"{file}:Mine").axis == axis


@pytest.mark.parametrize("variant", get_registry().variants(), ids=lambda v: f"{v.axis}/{v.name}")
def test_the_axis_of_a_class_that_derives_from_the_zoos_own_is_that_of_its_base(
    variant: Variant, file: Path
) -> None:
    module, _, name = variant.path.partition(":")
    file.write_text(f"from {module} import {name}\nclass Mine({name}): pass\n")
    assert find(get_registry(), f"{file}:Mine").axis == variant.axis


def test_a_class_that_could_be_anything_must_be_given_an_axis(file: Path) -> None:
    file.write_text("class Mine:\n    def __init__(self, size): ...\n    def forward(self, x): ...\n")
    with pytest.raises(ZooError) as caught:
        find(get_registry(), f"{file}:Mine")
    assert "its axis cannot be inferred from Mine(size). Use --axis with one of" in str(caught.value)
    assert find(get_registry(), f"{file}:Mine", "norm-type").axis == "norm-type"


def test_the_only_class_of_a_file_need_not_be_named(file: Path) -> None:
    file.write_text(f"import torch\nclass _Helper: pass\nclass Mine:\n    {PLAIN['head']}\n")
    assert find(get_registry(), str(file)).variant.path == f"{file}:Mine"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", "name the class, as in {file}:ClassName; it has none."),
        ("class One: pass\nclass Two: pass", "name the class, as in {file}:One; it has One, Two."),
        ("class (", "'{file}' is not valid Python"),
    ],
)
def test_otherwise_it_must_be(code: str, message: str, file: Path) -> None:
    file.write_text(code)
    with pytest.raises(ZooError) as caught:
        find(get_registry(), str(file))
    assert message.format(file=file) in str(caught.value)


def test_a_name_that_is_no_class_is_a_sentence(file: Path) -> None:
    file.write_text("Mine = 5")
    with pytest.raises(ZooError, match=r"mine.py:Mine is not a class"):
        find(get_registry(), f"{file}:Mine", "head")
    with pytest.raises(UnknownNameError, match="There is no class 'Other' in"):
        find(get_registry(), f"{file}:Other", "head")
