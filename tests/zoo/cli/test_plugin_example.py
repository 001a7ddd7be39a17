"""The example of a plugin, tests/plugin_example, installed with pip as anybody's would be."""

from __future__ import annotations

import importlib.metadata
import math

import pytest
import torch
from torch import Tensor

from tests.zoo.cli.conftest import Zoo
from tests.zoo.models import test_properties_model
from tests.zoo.parts.attention import support
from zoo.core.blueprint import get_preset
from zoo.core.plugins import get_registry

NAME = "transformer-zoo-example"
SIZES = ("--d-model=8", "--num-heads=2", "--d-ff=8", "--num-encoder-layers=1", "--device=cpu")


def words(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture(autouse=True, scope="module")
def _installed() -> None:
    try:
        importlib.metadata.distribution(NAME)
    except importlib.metadata.PackageNotFoundError:
        pytest.fail(
            f"{NAME} is not installed: `make install`, or `pip install --no-deps -e tests/plugin_example`."
        )


def test_pip_has_installed_it() -> None:
    found = importlib.metadata.distribution(NAME)
    assert (found.read_text("INSTALLER") or "").strip() == "pip"
    assert [(one.group, one.name, one.value) for one in found.entry_points] == [
        ("zoo", "example", "zoo_example")
    ]


def test_it_is_among_the_plugins_with_its_version(zoo: Zoo) -> None:
    (found,) = [one for one in zoo("plugins", "--json").json if one["name"] == "example"]
    assert found == {
        "name": "example",
        "version": importlib.metadata.version(NAME),
        "source": f"{NAME} (zoo_example)",
        "variants": ["attention/sigmoid"],
        "presets": ["small-sigmoid"],
        "tasks": [],
        "commands": ["reading"],
        "other_hooks": [],
        "problem": "",
    }


def test_it_is_listed(zoo: Zoo) -> None:
    assert "sigmoid a sigmoid in place of the softmax: keys do not compete [plugin example]" in words(
        zoo("list", "attention").out
    )
    assert "small-sigmoid the preset `reverse` with sigmoid attention" in words(zoo("list", "presets").out)


def test_it_is_shown_with_its_source(zoo: Zoo) -> None:
    done = zoo("show", "attention", "sigmoid")
    assert done.out.startswith("attention sigmoid (from example)\n")
    assert "Ramapuram et al. 2024, arXiv:2409.04431" in done.out
    assert "zoo_example/sigmoid.py:" in words(done.out)
    assert "class SigmoidAttention(WeightedAttention):" in done.out


def test_it_is_built(zoo: Zoo) -> None:
    for text in ("sigmoid", "sigmoid:bias=false"):
        built = zoo("build", f"--attention={text}", *SIZES, "--json").json
        assert built["blueprint"]["choices"]["attention"]["name"] == "sigmoid"
        assert built["trial"]["good"]
        assert built["trial"]["unreached"] == []
    built = zoo("build", "--preset=small-sigmoid", "--device=cpu", "--json").json
    assert built["blueprint"] == get_preset("small-sigmoid").blueprint().to_json()
    assert built["trial"]["good"]


def test_its_preset_is_reverse_but_for_the_attention() -> None:
    ours, theirs = get_preset("small-sigmoid").blueprint(), get_preset("reverse").blueprint()
    assert ours == theirs.with_choices(attention="sigmoid")


@pytest.mark.usefixtures("timed_once")
def test_it_is_compared(zoo: Zoo) -> None:
    rows = zoo("compare", "--attention=eager,sigmoid", "--length=4", *SIZES, "--json").json
    text = words(zoo("compare", "--attention=eager,sigmoid", "--length=4", *SIZES).out)
    assert len(rows) == 2
    assert "sigmoid" in text
    assert "attention=sigmoid does not declare that it equals eager." in text


def test_it_is_checked(zoo: Zoo) -> None:
    done = zoo("check", "sigmoid")
    assert done.code == 0
    assert "attention/sigmoid, on the axis attention" in done.out


def test_its_command_runs(zoo: Zoo, shell: Zoo) -> None:
    out = zoo("reading", "attention").out
    assert "Ramapuram et al. 2024, arXiv:2409.04431" in out
    assert out.index("Vaswani et al. 2017") < out.index("Ramapuram et al. 2024")
    assert "norm/pre" in zoo("reading").out
    assert "reading" in zoo("--help").out
    assert zoo("reading", "attentoin").code == 2
    start = "import sys\nfrom zoo.cli import main\ntry:\n    main()\nfinally:\n    {}"
    done = shell("reading", start=start.format("print('torch' in sys.modules, file=sys.stderr)"))
    assert (done.code, done.err) == (0, "False\n")


def test_it_is_left_out_where_other_plugins_are_named(shell: Zoo) -> None:
    names = {one["name"] for one in shell("plugins", "--json", ZOO_PLUGINS="grader").json}
    assert "grader" in names
    assert "example" not in names
    assert shell("show", "attention", "sigmoid", ZOO_PLUGINS="grader").code == 2


def test_the_live_property_tests_run_over_it() -> None:
    assert "sigmoid" in {variant.name for variant in support.ATTENTIONS}
    assert any("attention=sigmoid" in case for case in test_properties_model.CASES)


def expected(q: Tensor, k: Tensor, v: Tensor, keep: Tensor) -> Tensor:
    """One head, one query at a time: q [Tq, d], k and v [Tk, d], keep [Tq, Tk] -> [Tq, d]."""
    heads = torch.zeros_like(q)
    for i in range(q.size(0)):
        open_ = [j for j in range(k.size(0)) if keep[i, j]]
        for j in open_:
            score = float(q[i] @ k[j]) / math.sqrt(q.size(1)) - math.log(len(open_))
            heads[i] += v[j] / (1 + math.exp(-score))
    return heads


@pytest.mark.parametrize("form", ["bool", "additive"])
@pytest.mark.parametrize("kind", support.MASKS)
@torch.no_grad()
def test_its_attention_is_its_formula(kind: str, form: str) -> None:
    variant = get_registry().get("attention", "sigmoid")
    attention, inputs = support.make(variant), support.make_inputs(4, 5)
    keep = support.keep_mask(kind, 4, 5)
    out, weights = attention.forward_with_weights(
        inputs.query, inputs.key, inputs.value, support.in_form(keep, form)
    )
    q, k, v = attention.project(inputs.query, inputs.key, inputs.value)  # [B, H, T, d]
    full = torch.ones(q.size(0), q.size(1), 4, 5, dtype=torch.bool)
    full = full if keep is None else keep.expand_as(full)
    heads = torch.stack(
        [
            torch.stack([expected(q[b, h], k[b, h], v[b, h], full[b, h]) for h in range(q.size(1))])
            for b in range(q.size(0))
        ]
    )  # [B, H, Tq, d]
    support.assert_same(out, attention.out_proj(attention.merge(heads)))
    support.assert_same(attention.out_proj(attention.merge(weights @ v)), out)
