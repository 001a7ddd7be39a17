"""`zoo draw`: files, sentences, exit codes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.zoo.cli.conftest import Zoo
from zoo.core.blueprint import get_preset
from zoo.models.builder import build
from zoo.models.checkpoint import save_checkpoint

PNG = b"\x89PNG"


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an untrained model for the task `reverse`, in the current folder."""
    monkeypatch.chdir(tmp_path)
    blueprint = get_preset("reverse").blueprint()
    save_checkpoint("model", build(blueprint, seed=0), blueprint, task="reverse")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (["attention", "model", "hello"], "attention-hello.png"),
        (["mask", "--lengths=3,2", "--target-lengths=2,4"], "mask-full.png"),
        (["positions", "alibi", "--length=8"], "positions-alibi.png"),
        (["schedule", "noam", "cosine:floor=0.1"], "schedule-noam-cosine-floor=0.1.png"),
        (["model", "--preset", "modern"], "model-modern.png"),
        (["diff", "norm", "pre", "post"], "diff-norm-pre-post.png"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
@pytest.mark.sampled(3)
def test_a_picture_is_written_under_a_free_name(
    zoo: Zoo, saved: Path, arguments: list[str], name: str
) -> None:
    done = zoo("draw", *arguments)
    assert (done.code, done.err) == (0, "")
    assert done.out == f"Wrote {name}.\n"
    assert (saved / name).read_bytes().startswith(PNG)


def test_a_file_that_is_named_is_replaced(zoo: Zoo, saved: Path) -> None:
    (saved / "a.html").write_text("old")
    done = zoo(
        "draw", "attention", "model", "hello", "--stack=cross", "--layer=1", "--head=2", "-o", "a.html"
    )
    assert (done.code, done.out) == (0, "Wrote a.html.\n")
    assert (saved / "a.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["attention", "nowhere", "hello"], "'nowhere' is not a trained model: there is no such folder"),
        (["attention", ".", "hello"], "it has no zoo.json or run.json"),
        (["attention", "model", "hello", "--layer=2"], "There is no layer 2: the model has"),
        (["attention", "model", "hello", "--head=9"], "There is no head 9: the model has 4"),
        (["attention", "model", "hello", "--stack=x"], "--stack=x: expected encoder, decoder, cross"),
        (["attention", "model", "Hello"], "Write it in small letters"),
        (["attention", "model", "helloooooooo"], "has 12 letters: expected 3 to 10"),
        (["attention", "model", "hello", "--decoding=bream"], "Did you mean beam"),
        (["attention", "model", "hello", "--decoding=beam", "--target=abc"], "omit --decoding"),
        (["mask", "--masking=ful"], "Did you mean full"),
        (["mask", "--lengths=3,x"], "expected whole numbers separated by commas"),
        (["positions", "rotry"], "Did you mean rotary"),
        (["schedule", "naom"], "Did you mean noam"),
        (["schedule", "noam", "--lr=nan"], "lr=nan: expected a number above 0"),
        (["schedule", "noam", "-o", "a.gif"], "the name must end in .png, .svg or .html"),
        (["schedule", "noam", "-o", "."], "this is a folder. Name a file in it"),
        (["schedule", "noam", "-o", "no/a.png"], "there is no folder 'no'"),
        (
            ["attention", "model", "hello", "--target=h3"],
            "'h3' is not an answer of the task reverse: no token for '3'",
        ),
        (["positions", "alibi", "--length=1"], "length=1 cannot be drawn: expected 2 to 512"),
        (["positions", "alibi", "--d-model=10"], "d_model=10 is not divisible by num_heads=4"),
        (["mask", "--lengths=99"], "A length of 99 cannot be drawn"),
        (["diff", "norm", "pre", "post", "--head=9"], "There is no head 9"),
        (["model", "--attention=gqa", "--d-model=30"], "d_model"),
        (["model", "--preset=moden"], "Did you mean modern"),
        (["training", "model"], "'model' is not the folder of a training: there is no log.csv in it"),
        (["training", "nowhere"], "there is no such folder"),
        (["diff", "norm", "pre", "pst"], "Did you mean post"),
        (["diff", "decoding", "greedy", "beam"], "nothing to draw for the axis decoding"),
        (["diff", "init", "xavier", "gpt2"], "`zoo compare --init=xavier,gpt2 --train` trains with each"),
        (["diff", "optimizer", "adam", "sgd"], "models with equal parameters compute the same with either"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_is_wrong_is_a_sentence(zoo: Zoo, saved: Path, arguments: list[str], reason: str) -> None:
    done = zoo("draw", *arguments)
    assert (done.code, done.out) == (2, "")
    assert reason in " ".join(done.err.split())
    assert [path.name for path in saved.iterdir()] == ["model"]


ONE_STACK = {"num_encoder_layers": 2, "num_decoder_layers": 2, "d_model": 16, "num_heads": 2, "d_ff": 16}


@pytest.fixture
def writer(saved: Path) -> None:
    """Two untrained models of one stack beside it: `writer`, of texts, and `seer`, of images."""
    data = {"characters": "ZIabcdefhilmnorstwz "}
    vocabulary = {"src_vocab": 23, "tgt_vocab": 23, "max_len": 12}
    blueprint = get_preset("gpt-tiny").blueprint(sizes={**ONE_STACK, **vocabulary})
    save_checkpoint("writer", build(blueprint, seed=0), blueprint, task="language", data=data)
    blueprint = get_preset("vit-tiny").blueprint(sizes=ONE_STACK)
    save_checkpoint("seer", build(blueprint, seed=0), blueprint, task="shapes", data={})


@pytest.fixture
def unshown(saved: Path) -> None:
    """Two untrained models more: `own`, with an attention from a file, and `broken`, whose weights are gone."""
    file = saved.parent / "own.py"
    file.write_text(
        "from torch import nn\nclass Values(nn.Module):\n"
        "    def __init__(self, d_model, num_heads, dropout):\n        super().__init__()\n"
        "        self.map = nn.Linear(d_model, d_model)\n"
        "    def forward(self, query, key, value, mask=None):\n        return self.map(query)\n"
    )
    blueprint = get_preset("reverse").blueprint().with_choices(attention=f"{file}:Values")
    save_checkpoint("own", build(blueprint, seed=0), blueprint, task="reverse")
    shutil.copytree("model", "broken")
    for weights in Path("broken").glob("weights-*"):
        weights.unlink()


@pytest.mark.usefixtures("writer")
def test_models_of_one_stack(zoo: Zoo) -> None:
    done = zoo("draw", "attention", "writer", "I am a lion")
    assert (done.code, done.out) == (0, "Wrote attention-I-am-a-lion.png.\n")
    for arguments, reason in {
        ("writer", "I", "--stack=cross"): "This model has no cross-attention. It has: decoder.",
        ("writer", "I", "--target=a"): "writes no target: omit --target",
        ("writer", "I", "--decoding=beam"): "writes no answer: omit --decoding",
        ("writer", "I?"): "The character '?' is not in the text",
        ("writer", "I am a rather wise lion"): "The text has 23 tokens, and the model takes at most 12",
        ("writer", ""): "The text is empty",
        ("seer", "I"): "This model has assembly=vision and reads images, not text",
    }.items():
        done = zoo("draw", "attention", *arguments)
        assert (done.code, done.out) == (2, "")
        assert reason in " ".join(done.err.split())


START = (
    "import sys\nfrom zoo.cli import main\ntry:\n    main()\n"
    "finally:\n    print({'torch', 'matplotlib'} & set(sys.modules), file=sys.stderr)"
)


@pytest.mark.parametrize(
    "arguments",
    [
        ["attention", "model", "helloooooooo"],
        ["attention", "model", "hello", "--layer=2"],
        ["attention", "model", "hello", "--target=h3"],
        ["attention", "writer", "Zebras are far too long for this model"],
        ["attention", "writer", "hello", "--stack=cross"],
        ["attention", "seer", "hello"],
        ["positions", "alibi", "--head=5"],
        ["mask", "--lengths=99"],
        ["schedule", "noam", "-o", "no/a.png"],
        ["model", "--attention=gqa", "--d-model=30"],
        ["diff", "norm", "pre", "post", "--head=9"],
        ["training", "nowhere"],
        ["diff", "norm", "pre", "pst"],
        ["schedule", "noam", "--lr=0"],
        ["attention", "own", "hello", "--allow-code"],
        ["attention", "broken", "hello"],
    ],
    ids=" ".join,
)
@pytest.mark.usefixtures("writer", "unshown")
@pytest.mark.sampled(4)
def test_it_is_wrong_before_torch_and_matplotlib_are_imported(
    shell: Zoo, saved: Path, arguments: list[str]
) -> None:
    done = shell("draw", *arguments, start=START)
    assert done.code == 2
    assert done.err.startswith("Error:")
    assert done.err.endswith("set()\n")


def test_without_matplotlib_it_says_what_to_install(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("zoo.draw.needs.find_spec", lambda _name: None)
    done = zoo("draw", "schedule", "noam")
    assert done.code == 2
    assert "pip install 'transformer-zoo[draw]'" in " ".join(done.err.split())


def test_a_matplotlib_that_fails_is_a_sentence_with_the_reason(shell: Zoo, tmp_path: Path) -> None:
    (tmp_path / "matplotlib").mkdir()
    (tmp_path / "matplotlib" / "__init__.py").write_text("raise ImportError('numpy is too old')")
    done = shell("draw", "schedule", "noam")
    said = " ".join(done.err.split())
    assert (done.code, done.out) == (2, "")
    assert "cannot be imported (ImportError: numpy is too old). Install it with" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "command", ["attention", "mask", "positions", "schedule", "model", "training", "diff"]
)
def test_every_picture_has_help_with_an_example(zoo: Zoo, command: str) -> None:
    done = zoo("draw", command, "--help")
    assert done.code == 0
    assert f"zoo draw {command}" in done.out.split("\nOptions:")[0].partition("Examples:")[2]
