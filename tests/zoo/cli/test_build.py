"""`zoo build`: the assembly, real numbers, and sentences for what cannot be built."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.zoo.cli.conftest import Done, Zoo
from tests.zoo.support import REFUSED, accepted, fitting
from zoo.cli.options import blueprint_from
from zoo.core.axes import AXES
from zoo.core.blueprint import Blueprint, Preset, get_preset, make_blueprint
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.core.rules import RULES
from zoo.models.builder import build
from zoo.models.checkpoint import load_checkpoint

SMALL = (
    "--d-model=8", "--num-heads=2", "--d-ff=8", "--num-encoder-layers=1", "--num-decoder-layers=2",
    "--src-vocab=11", "--tgt-vocab=13", "--max-len=8", "--device=cpu",
)  # fmt: skip


def small(*args: str) -> tuple[str, ...]:
    return ("build", *SMALL, *args)


def test_prints_the_assembly_the_parameters_and_the_pass(zoo: Zoo) -> None:
    done = zoo(*small("--attention=fused:bias=false", "--norm=post"))
    assert (done.code, done.err) == (0, "")
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assembly = done.out.partition("\nParameters\n")[0]
    for axis in get_registry().axes:
        assert sum(line.startswith(f"  {axis.name} ") for line in assembly.splitlines()) == 1
    summary = get_registry().get("attention", "fused").summary
    assert f"attention fused:bias=false {summary}" in " ".join(lines)
    blueprint = make_blueprint(
        attention="fused:bias=false", norm="post", d_model=8, num_heads=2, d_ff=8,
        num_encoder_layers=1, num_decoder_layers=2, src_vocab=11, tgt_vocab=13, max_len=8,
    )  # fmt: skip
    count = sum(p.numel() for p in build(blueprint).parameters())
    tensors = len(list(build(blueprint).parameters()))
    assert f"total {count:,}" in lines
    assert "decoder layer 2 " in done.out
    assert "output [4, 8, 13]" in lines
    assert f"gradient finite, reached all {tensors} parameter tensors" in lines
    assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize(("axis", "name"), REFUSED)
def test_what_can_stand_nowhere_is_refused_with_a_reason(axis: str, name: str, zoo: Zoo) -> None:
    for loss in get_registry().variants("loss"):
        refused = zoo("build", f"--{axis}={name}", f"--loss={loss.name}")
        assert (refused.code, "(rule " in " ".join(refused.err.split())) == (2, True)


@pytest.mark.parametrize("variant", accepted(), ids=lambda v: f"{v.axis}/{v.name}")
def test_every_variant_can_be_built(variant: Variant, zoo: Zoo) -> None:
    choices = fitting({variant.axis: variant.name}, d_model=8, num_heads=2).choices
    given = [f"--{axis}={choice}" for axis, choice in choices.items()]
    found = zoo(*small(*given, "--tgt-vocab=11", "--json")).json
    assert found["blueprint"]["choices"][variant.axis]["name"] == variant.name
    assert found["trial"]["good"]
    assert found["trial"]["unreached"] == []
    assert found["total"] == sum(found["parameters"].values())


def test_json_holds_a_blueprint_that_can_be_read_back(zoo: Zoo) -> None:
    found = zoo(*small("--norm=res-post", "--seed=3", "--json")).json
    blueprint = Blueprint.from_json(found["blueprint"])
    assert blueprint["norm"].name == "res-post"
    assert blueprint.sizes.num_decoder_layers == 2
    assert (found["seed"], found["device"], found["saved"]) == (3, "cpu", None)


def test_the_seed_decides_the_loss(zoo: Zoo) -> None:
    losses = [zoo(*small(f"--seed={seed}", "--json")).json["trial"]["loss"] for seed in (1, 1, 2)]
    assert losses[0] == losses[1] != losses[2]


def test_save_writes_a_checkpoint_and_says_where(tmp_path: Path, zoo: Zoo) -> None:
    done = zoo(*small("--save", str(tmp_path / "model")))
    assert done.out.endswith(f"\nSaved in {tmp_path / 'model'}.\n")
    model, blueprint, _ = load_checkpoint(tmp_path / "model")
    expected = build(blueprint, seed=0).state_dict()
    assert all(torch.equal(value, expected[name]) for name, value in model.state_dict().items())


def test_a_directory_of_somebody_else_is_refused(tmp_path: Path, zoo: Zoo) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    done = zoo(*small("--save", str(tmp_path)))
    assert (done.code, done.out) == (2, "")
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--d-model=100", "--num-heads=8"), "d_model=100 is not divisible by num_heads=8. Use num_heads"),
        (("--attention=fuse",), "There is no attention 'fuse'. Did you mean fused"),
        (("--attention=eager:bia=true",), "Did you mean bias?"),
        (("--attention=eager:bias=maybe",), "Option bias=maybe: expected true or false."),
        (("--attention=gone.py:Mine",), "there is no file 'gone.py'"),
        (("--preset=revers",), "There is no preset 'revers'. Did you mean reverse?"),
        (("--embedding=shared",), "src_vocab=11 and tgt_vocab=13. Make them equal"),
        (("--src-vocab=1",), "expected src_vocab and tgt_vocab >= 2"),
        (("--dropout=1.5",), "expected a probability below 1"),
        (("--num-heads=0",), "expected at least 1"),
        (("--d-model=1000000", "--num-heads=10"), "and gradients take" ),
        (("--d-model=100000000000000000000",), "does not fit into memory. Use a smaller d_model"),
        (("--num-encoder-layers=1000000000000",), "free on cpu. Use a smaller d_model"),
        (("--seed=-1",), "expected a whole number from 0 to 2^63 - 1"),
        ((f"--seed={2**63}",), "expected a whole number from 0 to 2^63 - 1"),
    ],
)  # fmt: skip
def test_what_cannot_be_built_is_a_sentence(args: tuple[str, ...], said: str, zoo: Zoo) -> None:
    done = zoo(*small(*args))
    assert (done.code, done.out) == (2, "")
    assert said.replace("and gradients", "and their gradients") in " ".join(done.err.split())


def test_cuda_asked_for_and_absent(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    done = zoo(*small("--device=cuda"))
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Error: There is no CUDA device")


@pytest.mark.gpu
def test_on_cuda(zoo: Zoo) -> None:
    found = zoo(*small("--device=cuda", "--json")).json
    assert (found["device"], found["trial"]["good"]) == ("cuda", True)


def test_a_refusal_comes_before_torch_and_names_the_rule_and_the_way_to_more(shell: Zoo) -> None:
    start = "import sys; sys.modules['torch'] = None\nfrom zoo.cli import main; main()"
    done = shell(*small("--head=log-softmax"), start=start)
    assert (done.code, done.out) == (2, "")
    words = " ".join(done.err.split())
    assert "Use head=logits or loss=kl. (rule loss-and-head)" in words
    assert words.count("--explain") == 1


class TestExplain:
    def test_what_is_possible(self, zoo: Zoo) -> None:
        done = zoo(*small("--attention=loop", "--explain"))
        assert (done.code, done.err) == (0, "")
        assert done.out.startswith("No rule rejects this combination.")
        lines = done.out.splitlines()
        assert [
            line.split()[0] for line in lines if line[:3] in {f"  {a.name[0]}" for a in AXES} and "=" in line
        ][: len(AXES)] == [
            f"{axis.name}={'loop' if axis.name == 'attention' else axis.default}" for axis in AXES
        ]
        assert max(map(len, lines)) <= 80
        for variant in get_registry().variants():
            assert variant.name in done.out
        for rule in RULES:
            assert f"  satisfied  {rule.__name__.replace('_', '-')}" in done.out

    def test_what_is_refused(self, zoo: Zoo) -> None:
        done = zoo(*small("--head=log-softmax", "--tgt-vocab=12", "--explain"))
        assert done.code == 1
        assert done.out.startswith("Rejected\nloss=cross-entropy takes logits, but")
        assert "head=log-softmax does not fit: rule loss-and-head\n    would fit: logits\n" in done.out
        assert "norm=pre fits\n    still rejected with: post" in done.out
        shared = done.out[done.out.index("      shared") :]
        assert " ".join(shared.split()).startswith("shared embedding=shared keeps one table for both sides")
        assert "violated   loss-and-head" in done.out

    def test_one_of_two_broken_rules_that_is_mended(self, zoo: Zoo) -> None:
        done = zoo(*small("--head=log-softmax", "--d-model=9", "--explain"))
        assert "would fix only rule loss-and-head: logits" in done.out

    def test_json(self, zoo: Zoo) -> None:
        found = zoo(*small("--head=log-softmax", "--explain", "--json")).json
        assert found["possible"] is False
        assert list(found["broken"]) == ["loss-and-head"]
        axes = {one["axis"]: one for one in found["axes"]}
        assert axes["head"]["to_blame"] == ["loss-and-head"]
        assert {"name": "logits", "possible": True, "broken": {}} in axes["head"]["alternatives"]
        assert [rule["name"] for rule in found["rules"] if not rule["kept"]] == ["loss-and-head"]
        assert Blueprint.from_json(found["blueprint"])["head"].name == "log-softmax"

    def test_it_builds_and_imports_nothing(self, tmp_path: Path, shell: Zoo, zoo: Zoo) -> None:
        (tmp_path / "mine.py").write_text("class Mine: pass\n1 / 0\n")
        start = "import sys; sys.modules['torch'] = None\nfrom zoo.cli import main; main()"
        done = shell(*small(f"--attention={tmp_path / 'mine.py'}:Mine", "--explain"), start=start)
        assert (done.code, done.err) == (0, "")
        done = zoo(*small("--explain", "--save", str(tmp_path / "out")))
        assert done.code == 2
        assert "--explain builds nothing" in done.err


class TestFiles:
    HEAD = "import torch\nfrom zoo.parts.attention.eager import EagerAttention\nclass Mine(EagerAttention):\n"

    def run(self, body: str, tmp_path: Path, zoo: Zoo, *args: str) -> Done:
        path = tmp_path / "mine.py"
        path.write_text(self.HEAD + body)
        return zoo(*small(f"--attention={path}:Mine", *args))

    def test_a_class_of_a_file_is_built_like_any_variant(self, tmp_path: Path, zoo: Zoo) -> None:
        done = self.run("    pass\n", tmp_path, zoo)
        assert done.code == 0
        assert "Mine of " in " ".join(done.out.split())

    def test_a_gradient_that_does_not_arrive_is_named(self, tmp_path: Path, zoo: Zoo) -> None:
        body = "    def forward(self, query, key, value, mask=None):\n        return query.detach()\n"
        done = self.run(body, tmp_path, zoo, "--json")
        assert done.code == 0
        unreached = done.json["trial"]["unreached"]
        assert "encoder.layers.0.self_attention.inner.q_proj.weight" in unreached
        assert "head.weight" not in unreached
        shown = self.run(body, tmp_path, zoo)
        assert "finite, reached " in shown.out
        words = " ".join(shown.out.split())
        assert (
            f" of {len(unreached) + done.json['trial']['reached']} parameter tensors; none at {unreached[0]},"
            in words
        )
        assert f"{unreached[3]} and {len(unreached) - 4} more" in words

    def test_what_is_not_finite_is_named_and_exits_with_1(self, tmp_path: Path, zoo: Zoo) -> None:
        body = "    def forward(self, query, key, value, mask=None):\n        return query * float('nan')\n"
        done = self.run(body, tmp_path, zoo)
        assert done.code == 1
        assert "gradient  NOT finite in" in done.out

    def test_a_method_that_is_not_written_is_a_sentence(self, tmp_path: Path, zoo: Zoo) -> None:
        body = "    def forward(self, *args):\n        raise NotImplementedError('attention: later')\n"
        done = self.run(body, tmp_path, zoo)
        assert done.code == 2
        assert "not written yet (line 5): attention: later" in " ".join(done.err.split())


class TestBlueprintFrom:
    def test_options_change_the_preset_and_leave_other_arguments(self) -> None:
        given = {"preset": "reverse", "norm": "post", "d_model": 32, "attention": None, "seed": 3}
        blueprint = blueprint_from(given)
        expected = get_preset("reverse").blueprint().with_choices(norm="post").with_sizes(d_model=32)
        assert blueprint == expected
        assert given == {"seed": 3}

    def test_the_default_preset_counts_where_none_is_named(self) -> None:
        default = Preset("mine", "", {"attention": "loop", "norm_type": "rmsnorm"}, {"d_model": 16})
        expected = make_blueprint(attention="loop", norm_type="rmsnorm", d_model=16)
        assert blueprint_from({}, default) == expected
        assert blueprint_from({"norm_type": "none"}, default) == expected.with_choices(
            **{"norm-type": "none"}
        )
        assert blueprint_from({"preset": "reverse"}, default) == get_preset("reverse").blueprint()
        assert blueprint_from({}) == make_blueprint()


@pytest.mark.parametrize(
    ("assembly", "unused"),
    [
        ("decoder", "--num-encoder-layers, --src-vocab"),
        ("encoder", "--num-decoder-layers"),
        ("encoder-decoder", ""),
    ],
)
def test_sizes_that_are_not_used_are_reported(zoo: Zoo, assembly: str, unused: str) -> None:
    done = zoo("build", *SMALL, f"--assembly={assembly}")
    assert done.code == 0
    assert done.err == (f"Not used by assembly={assembly}: {unused}.\n" if unused else "")


@pytest.mark.parametrize(
    ("assembly", "unused"),
    [
        ("vision", {"embedding", "masking", "mask", "decoding"}),
        ("encoder", {"decoding"}),
        ("decoder", set()),
    ],
)
def test_axes_that_are_not_used_are_not_listed(zoo: Zoo, assembly: str, unused: set[str]) -> None:
    done = zoo("build", *SMALL, f"--assembly={assembly}", "--mask=bool", "--decoding=greedy")
    rows = done.out.partition("\nParameters\n")[0].splitlines()
    listed = {line.split()[0] for line in rows if line.startswith("  ") and line[2] != " "}
    assert {axis.name for axis in get_registry().axes} - listed == unused
    for name in ("mask", "decoding"):  # given by name
        assert (f"--{name}" in done.err) == (name in unused)
