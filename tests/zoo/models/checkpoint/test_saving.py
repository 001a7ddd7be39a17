"""Checkpoints: what comes back, and that a killed process leaves one that is whole."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import safetensors.torch
import torch

from tests.zoo.models.checkpoint.support import TINY, edit, refused, tiny
from zoo.core.blueprint import make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.models.checkpoint import check_directory, load_checkpoint, save_checkpoint
from zoo.models.trial import Tokens


def test_what_was_saved_comes_back(saved: Path, device: torch.device) -> None:
    model, blueprint = tiny()
    loaded = load_checkpoint(saved, device=device)
    assert loaded.blueprint == blueprint
    assert loaded.extra == {"task": "reverse"}
    assert not loaded.model.training
    assert {parameter.device.type for parameter in loaded.model.parameters()} == {device.type}
    for name, value in model.state_dict().items():
        assert torch.equal(loaded.model.state_dict()[name].cpu(), value)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_other_dtypes_come_back_too(tmp_path: Path, dtype: torch.dtype) -> None:
    model, blueprint = tiny()
    save_checkpoint(tmp_path, model.to(dtype), blueprint)
    loaded = load_checkpoint(tmp_path).model
    assert {parameter.dtype for parameter in loaded.parameters()} == {dtype}
    assert torch.equal(loaded.head.weight, model.head.weight)


def test_weights_move_between_attentions_that_store_them_differently(tmp_path: Path) -> None:
    model, blueprint = tiny(attention="fused")
    save_checkpoint(tmp_path, model, blueprint.with_choices(attention="eager"))
    src, tgt = torch.tensor([[3, 4, 5]]), torch.tensor([[1, 5]])
    torch.testing.assert_close(load_checkpoint(tmp_path).model(src, tgt), model.eval()(src, tgt))


TIED = [v.name for v in get_registry().variants("embedding") if v.capabilities["tied"]]
SRC, TGT = torch.tensor([[3, 4, 5], [6, 7, 0]]), torch.tensor([[1, 5, 6], [1, 8, 0]])


@pytest.mark.parametrize("embedding", TIED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_what_was_tied_is_tied_again(tmp_path: Path, embedding: str, dtype: torch.dtype) -> None:
    model, blueprint = tiny(embedding=embedding)
    model.to(dtype).eval()
    save_checkpoint(tmp_path, model, blueprint)
    loaded = load_checkpoint(tmp_path).model
    assert torch.equal(loaded(SRC, TGT), model(SRC, TGT))
    assert loaded.head.weight is loaded.embeddings.tgt_table.weight
    assert loaded.head.weight.dtype == dtype
    assert sum(p.numel() for p in loaded.parameters()) == sum(p.numel() for p in model.parameters())
    with torch.no_grad():
        loaded.head.weight += 1.0  # what training does to one, it does to the other
    before = model(SRC, TGT)
    save_checkpoint(tmp_path, loaded, blueprint)
    assert torch.equal(load_checkpoint(tmp_path).model(SRC, TGT), loaded(SRC, TGT))
    assert not torch.equal(loaded(SRC, TGT), before)


def test_choices_and_options_on_every_axis_come_back(tmp_path: Path) -> None:
    """None of them at its default, as far as they can be had together."""
    registry, choices = get_registry(), {}
    for axis in registry.axes:
        for variant in registry.variants(axis.name):
            given = {**choices, axis.name: variant.name}
            if variant.name != axis.default and not problems(
                make_plan(make_blueprint(**given, **TINY), registry)
            ):
                choices = given
    choices["norm-type"] = "rmsnorm:eps=0.125"
    assert len(choices) >= len(registry.axes) - 2  # head and loss come as a pair
    choices |= {"head": "log-softmax", "loss": "kl:smoothing=0.25"}
    model, blueprint = tiny(**choices)
    save_checkpoint(tmp_path, model.eval(), blueprint)
    loaded = load_checkpoint(tmp_path)
    assert loaded.blueprint == blueprint
    assert loaded.blueprint["norm-type"].options["eps"] == 0.125
    assert str(loaded.blueprint["loss"]).startswith("kl:smoothing=0.25")
    tokens = Tokens(SRC, TGT, TGT).read_by(model)
    assert torch.equal(loaded.model(*tokens), model(*tokens))


OLD_CHOICES = {
    "attention": {"name": "fused", "options": {"bias": True}},
    "norm": {"name": "post", "options": {}},
    "encoding": {"name": "sinusoidal", "options": {"base": 10000.0}},
    "mask": {"name": "additive", "options": {}},
    "feedforward": {"name": "gelu", "options": {}},
    "embedding": {"name": "unscaled", "options": {"std": 0.1}},
}
"""A blueprint of format 1 as it was saved when there were six axes."""
OLD_NAMES = {
    *(f"embeddings.{side}_table.weight" for side in ("src", "tgt")),
    *(f"head.{kind}" for kind in ("weight", "bias")),
    *(
        f"{side}.layers.0.{attention}.{letter}_proj.{kind}"
        for side, attention in (
            ("encoder", "self_attention"),
            ("decoder", "self_attention"),
            ("decoder", "cross_attention"),
        )
        for letter in ("q", "k", "v", "out")
        for kind in ("weight", "bias")
    ),
    *(
        f"{side}.layers.0.feed_forward.{way}_proj.{kind}"
        for side in ("encoder", "decoder")
        for way in ("up", "down")
        for kind in ("weight", "bias")
    ),
    *(
        f"{side}.layers.0.norm.norms.{number}.{kind}"
        for side, numbers in (("encoder", 2), ("decoder", 3))
        for number in range(numbers)
        for kind in ("weight", "bias")
    ),
}
"""The names of its weights."""


def test_a_checkpoint_from_when_there_were_six_axes_loads(tmp_path: Path) -> None:
    choices = {axis: one["name"] for axis, one in OLD_CHOICES.items()}
    model, blueprint = tiny(**choices)
    save_checkpoint(tmp_path, model.eval(), blueprint)
    edit(tmp_path, lambda index: index["blueprint"].update(choices=OLD_CHOICES))
    edit(tmp_path, lambda index: index["origins"].pop("masking"))
    (weights,) = tmp_path.glob("*.safetensors")
    assert safetensors.torch.load_file(weights).keys() == OLD_NAMES
    loaded = load_checkpoint(tmp_path)
    assert torch.equal(loaded.model(SRC, TGT), model(SRC, TGT))
    meant = {axis: str(loaded.blueprint[axis]) for axis in ("norm-type", "head", "masking", "init", "loss")}
    assert meant == {  # what the zoo did before one could choose
        "norm-type": "torch-layernorm:eps=1e-05",
        "head": "logits:bias=true",
        "masking": "full",
        "init": "xavier:tables=false",
        "loss": "cross-entropy",
    }


def test_nothing_but_safetensors_and_json_is_on_the_disk(saved: Path) -> None:
    index = json.loads((saved / "zoo.json").read_text())
    assert {path.name for path in saved.iterdir()} == {"zoo.json", index["weights"]}
    assert safetensors.torch.load_file(saved / index["weights"]).keys() == tiny()[0].state_dict().keys()


def test_a_new_checkpoint_takes_the_place_of_the_old_and_leaves_other_files_alone(saved: Path) -> None:
    (saved / "notes.txt").write_text("mine")
    model, blueprint = tiny(seed=1)
    save_checkpoint(saved, model, blueprint, step=7)
    loaded = load_checkpoint(saved)
    assert loaded.extra == {"step": 7}
    assert torch.equal(loaded.model.head.weight, model.head.weight)
    assert len(list(saved.iterdir())) == 3
    assert (saved / "notes.txt").read_text() == "mine"


def test_saving_the_same_twice_is_no_trouble(saved: Path) -> None:
    save_checkpoint(saved, *tiny())
    assert load_checkpoint(saved).extra == {}


def test_directories_are_made(tmp_path: Path) -> None:
    save_checkpoint(tmp_path / "a" / "b", *tiny())
    load_checkpoint(tmp_path / "a" / "b")


def test_a_directory_that_is_not_ours_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(ZooError, match=r"is not a checkpoint \(it contains thesis.txt"):
        check_directory(tmp_path)
    with pytest.raises(ZooError, match="is not a checkpoint"):
        save_checkpoint(tmp_path, *tiny())
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_file_in_its_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ZooError, match=r"is a file\. Name a directory"):
        save_checkpoint(tmp_path / "file", *tiny())
    with pytest.raises(ZooError, match="a part of the path is a file"):
        save_checkpoint(tmp_path / "file" / "below", *tiny())


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (errno.ENOSPC, "the disk is full. What was there before is still there"),
        (errno.EACCES, "no permission"),
        (errno.EROFS, "Read-only file system"),
    ],
)
@pytest.mark.parametrize("nth", [1, 2])  # at the weights, at zoo.json
def test_a_disk_that_cannot_take_it_keeps_the_old_checkpoint(
    saved: Path, monkeypatch: pytest.MonkeyPatch, number: int, reason: str, nth: int
) -> None:
    before = load_checkpoint(saved).model.head.weight
    calls = iter(range(1, 100))
    fsync = os.fsync

    def full(descriptor: int) -> None:
        if next(calls) == (1 if nth == 1 else 3):
            raise OSError(number, os.strerror(number))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ZooError, match=r"cannot be saved in .*saved") as caught:
        save_checkpoint(saved, *tiny(seed=1))
    assert reason in str(caught.value)
    assert torch.equal(load_checkpoint(saved).model.head.weight, before)
    assert not list(saved.glob("*.partial"))


KILLED = """
import os, pathlib, signal, sys
import torch
from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build
from zoo.models.checkpoint import load_checkpoint, save_checkpoint

blueprint = make_blueprint(**{sizes})
old, new = (build(blueprint, seed=seed) for seed in (0, 1))

def killing(function, counter, nth):
    def called(*args, **kwargs):
        counter[0] += 1
        if counter[0] == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)
    return called

for nth in range(1, 100):
    folder = pathlib.Path(sys.argv[1]) / str(nth)
    save_checkpoint(folder, old, blueprint, step=0)
    child = os.fork()
    if not child:
        counter = [0]
        for owner, name in ((os, "fsync"), (pathlib.Path, "replace"), (pathlib.Path, "open"), (pathlib.Path, "unlink")):
            setattr(owner, name, killing(getattr(owner, name), counter, nth))
        save_checkpoint(folder, new, blueprint, step=1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    loaded = load_checkpoint(folder)
    same = torch.equal(loaded.model.head.weight, (old, new)[loaded.extra["step"]].head.weight)
    print(nth, loaded.extra["step"], same)
    save_checkpoint(folder, new, blueprint, step=2)
    assert load_checkpoint(folder).extra == {{"step": 2}} and len(list(folder.iterdir())) == 2
    if status == 0:
        break
"""


@pytest.mark.slow
def test_a_process_killed_at_any_point_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED.format(sizes=TINY), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert all(same == "True" for _, _, same in rows)
    steps = [step for _, step, _ in rows]
    assert len(rows) >= 8
    assert steps == sorted(steps)
    assert {"0", "1"} == set(steps)


def test_a_first_save_that_was_killed_can_be_done_again(tmp_path: Path) -> None:
    (tmp_path / f"weights-{'0' * 64}.safetensors.partial").write_bytes(b"half")
    (tmp_path / f"weights-{'1' * 64}.safetensors").write_bytes(b"whole")
    refused(tmp_path, "there is no zoo.json in it")
    save_checkpoint(tmp_path, *tiny())
    assert len(list(tmp_path.iterdir())) == 2
