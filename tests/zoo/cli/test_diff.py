"""`zoo diff`: two columns, a unified diff where there is no room, what differs, and sentences for errors."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.zoo.cli.conftest import Zoo
from zoo.analysis.diff import side
from zoo.cli.diff import _small, _sources
from zoo.core.blueprint import choose
from zoo.core.plugins import get_registry
from zoo.core.source import find_source
from zoo.models.builder import build

DEEP = {"num_encoder_layers": 3, "num_decoder_layers": 3}
MINE = """
from torch import nn


class Mine(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.0):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)

    def forward(self, x):
        return x


class Stub(nn.Module):
    def __init__(self, *args):
        raise NotImplementedError("later")
"""


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MINE)
    return f"{tmp_path / 'mine.py'}:Mine"


def test_two_columns_then_what_differs_then_the_parameters(zoo: Zoo) -> None:
    done = zoo("diff", "attention", "eager", "gqa:num_kv_heads=2")
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["eager", "gqa:num_kv_heads=2"]
    assert lines[1].startswith("zoo.parts.attention.")
    source = lines[lines.index("-" * 79) + 1 : lines.index("What they declare differently") - 1]
    assert {line[39:40] for line in source} <= {"", " ", "|", "<", ">"}
    words = [" ".join(line.split()) for line in lines]
    assert "exact yes no" in words
    assert "num kv heads - 2" in words
    assert "k_proj.weight [64, 64] [32, 64]" in words
    assert "trainable parameters 16,640 12,480" in words
    assert "q_proj.weight" in done.out[done.out.index("the same in both") :]


@pytest.mark.parametrize("axis", get_registry().axes, ids=lambda axis: axis.name)
def test_the_whole_source_of_both_is_there(axis: object, zoo: Zoo) -> None:
    name = axis.name  # type: ignore[attr-defined]
    variants = get_registry().variants(name)
    done = zoo("diff", name, variants[0].name, variants[-1].name)
    if len(variants) == 1:
        assert "are the same" in done.out
        return
    lines = done.out.splitlines()
    shown = lines[lines.index("-" * 79) + 1 : lines.index("What they declare differently")]
    assert max(map(len, done.out.splitlines())) <= 80
    for variant, cells in ((variants[0], slice(0, 38)), (variants[-1], slice(41, None))):
        text = "".join("".join(line[cells] for line in shown).split())
        assert text == "".join(find_source(variant).text.split())


def test_a_narrow_terminal_or_the_flag_gives_a_unified_diff(
    zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = zoo("diff", "norm", "pre", "post", "--unified").out
    assert "\n-            x = x + self.dropout(sublayer(norm(x)))\n+            x = norm(x + " in asked
    monkeypatch.setenv("COLUMNS", "79")
    narrow = zoo("diff", "norm", "pre", "post").out
    assert narrow.startswith(asked[: asked.index("What they declare")])
    monkeypatch.setenv("COLUMNS", "200")
    wide = zoo("diff", "norm", "pre", "post").out
    assert "x = x + self.dropout(sublayer(norm(x)))" in wide
    assert "norm(x + self.dropout(sublayer(x)))" in wide
    assert not wide.startswith("---")


def test_colour_only_on_a_terminal_that_wants_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    registry = get_registry()
    sides = [side("norm", choose(registry, "norm", name), registry) for name in ("pre", "post")]

    def shown(as_unified: bool) -> str:
        return "\n".join(_sources(sides[0], sides[1], ("pre", "post"), as_unified))

    plain = [shown(False), shown(True)]
    assert not any("\x1b" in text for text in plain)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    columns, as_unified = shown(False), shown(True)
    assert {"\x1b[1m", "\x1b[31m", "\x1b[32m"} <= set(re.findall(r"\x1b\[\d+m", columns))
    assert "\x1b[" in as_unified
    for text, without in zip((columns, as_unified), plain, strict=True):
        stripped = re.sub(r"\x1b\[[\d;]*m", "", text)
        assert [line.rstrip() for line in stripped.splitlines()] == [
            line.rstrip() for line in without.splitlines()
        ]
    monkeypatch.setenv("NO_COLOR", "1")
    assert [shown(False), shown(True)] == plain


def test_the_same_twice_is_said(zoo: Zoo) -> None:
    done = zoo("diff", "norm", "pre", "pre")
    assert done.code == 0
    assert done.out.startswith("norm=pre and norm=pre are the same: ")
    assert zoo("diff", "attention", "eager", "eager:bias=true").out.count("are the same") == 1


def test_the_same_class_with_other_options(zoo: Zoo) -> None:
    out = zoo("diff", "attention", "eager", "eager:bias=false").out
    assert out.startswith("Source: the same, ")
    words = [" ".join(line.split()) for line in out.splitlines()]
    assert "bias yes no" in words
    assert "q_proj.bias [64] -" in words


def test_sizes_decide_the_shapes(zoo: Zoo) -> None:
    out = zoo("diff", "head", "logits", "logits:bias=false", "--d-model=8", "--tgt-vocab=5").out
    words = [" ".join(line.split()) for line in out.splitlines()]
    assert "bias [5] -" in words
    assert "trainable parameters 45 40" in words


def test_models_that_differ_elsewhere_are_not_counted_as_a_whole(zoo: Zoo) -> None:
    out = zoo("diff", "head", "logits", "log-softmax", "--no-source").out
    assert "trainable parameters" in out
    assert "in the whole model" not in out
    assert "in the whole model" in zoo("diff", "norm", "pre", "post", "--no-source").out


def test_parts_that_are_no_part_of_a_model_have_no_parameters_to_show(zoo: Zoo) -> None:
    out = zoo("diff", "loss", "cross-entropy", "kl", "--no-source").out
    assert "takes" in out
    assert "Parameters" not in out


def test_json(zoo: Zoo) -> None:
    found = zoo("diff", "attention", "eager", "gqa", "--json").json
    assert (found["axis"], found["a"]["name"], found["b"]["name"]) == ("attention", "eager", "gqa")
    assert found["a"]["source"].startswith("class EagerAttention(")
    assert found["a"]["parameters"]["shapes"]["k_proj.weight"] == [64, 64]
    assert found["same_source"] is False
    assert {"kind": "capability", "name": "exact", "left": True, "right": False} in found["differences"]
    assert found["unified"][0].startswith("--- zoo.parts.attention.eager:EagerAttention")
    assert found["a"]["file"].endswith("zoo/parts/attention/eager.py")
    same = zoo("diff", "loss", "kl", "kl", "--json").json
    assert (same["same_source"], same["differences"], same["unified"]) == (True, [], [])
    assert same["a"]["parameters"] is None


def test_a_class_of_a_file(mine: str, zoo: Zoo) -> None:
    out = zoo("diff", "feedforward", "relu", mine).out
    assert "class Mine(nn.Module):" in out
    assert "mine.py:5" in "".join(out.split())
    assert "up.weight" in out
    assert "inner." not in out
    stub = zoo("diff", "feedforward", "relu", mine.replace("Mine", "Stub"))
    assert stub.code == 0
    words = " ".join(stub.out.split())
    assert "The parameters of mine.py:Stub are not known: " in words
    assert "later" in words


def test_a_rule_that_nothing_mends_is_told_in_place_of_the_parameters(zoo: Zoo) -> None:
    done = zoo("diff", "attention", "eager", "gqa:num_kv_heads=3")
    assert done.code == 0
    assert "The parameters of gqa:num_kv_heads=3 are not known: num_heads=4" in " ".join(done.out.split())
    assert "(rule kv-heads)" in done.out


def test_variants_that_meet_in_a_layer_are_compared(zoo: Zoo) -> None:
    pattern, plain = "sliding:window=8*2+eager", "gqa:num_kv_heads=2"
    out = zoo("diff", "attention", pattern, plain).out
    words = [" ".join(line.split()) for line in out.splitlines()]
    assert "layers 1-2 sliding:window=8 gqa:num_kv_heads=2" in words
    assert "layer 3 eager gqa:num_kv_heads=2" in words
    for name in ("sliding:window=8", "eager"):
        assert zoo("diff", "attention", name, plain).out in out
    counts = [
        sum(p.numel() for p in build(_small().with_sizes(**DEEP).with_choices(attention=one)).parameters())
        for one in (pattern, plain)
    ]
    assert words[-1] == f"in the whole model {counts[0]:,} {counts[1]:,}"
    found = zoo("diff", "attention", pattern, plain, "--json").json
    assert [one["layers"] for one in found["kinds"]] == [[1, 2], [3]]
    assert zoo("diff", "attention", pattern, pattern).out.endswith("the same.\n")
    odd = zoo("diff", "attention", "eager*2+gqa:num_kv_heads=3", "eager", "--no-source")
    assert odd.code == 0
    assert "are not known: In layer 3: num_heads=4 is not divisible" in " ".join(odd.out.split())


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("atention", "eager", "gqa"), "There is no axis 'atention'. Did you mean attention"),
        (("attention", "eager", "gqaa"), "There is no attention 'gqaa'. Did you mean gqa"),
        (("attention", "eagr", "gqa"), "There is no attention 'eagr'. Did you mean eager"),
        (("attention", "eager", "gqa:kv=2"), "There is no option for attention=gqa called 'kv'."),
        (("attention", "eager", "gone.py:Mine"), "there is no file 'gone.py'"),
        (("norm", "pre", "post", "--d-model=0"), "d_model=0: expected at least 1."),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(args: tuple[str, ...], said: str, zoo: Zoo) -> None:
    done = zoo("diff", *args)
    assert (done.code, done.out) == (2, "")
    assert said in " ".join(done.err.split())
