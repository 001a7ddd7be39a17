"""Tasks that ask for something at each position: what their batches hold, how they are scored, what is refused."""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core.blueprint import Blueprint, get_preset
from zoo.core.errors import CombinationError, ZooError
from zoo.core.recipe import Recipe
from zoo.core.tasks import Inputs
from zoo.models.builder import build, build_optimizer
from zoo.training.scoring import TokenScore, prepare, score
from zoo.training.tasks.base import EOS, PAD, SOS, AlignedData
from zoo.training.tasks.classify import Classify, letters
from zoo.training.tasks.language import Language
from zoo.training.tasks.masking import Mask
from zoo.training.trainer import load_data, load_task, train

TEXT = "the cat sat on the mat. " * 40
PRESETS = {"language": "gpt-tiny", "mask": "modernbert-tiny", "classify": "bert-tiny"}
SMALL = {
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 32,
    "num_decoder_layers": 1,
    "num_encoder_layers": 1,
    "max_len": 16,
}


def blueprint(task: str, **choices: str) -> Blueprint:
    return get_preset(PRESETS[task]).blueprint(choices=choices, sizes={**SMALL, "dropout": 0.0})


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return str(path)


def bound(task: str, *files: str, subwords: int | None = None) -> tuple[Blueprint, Any]:
    return prepare(blueprint(task), load_data(task, Inputs(files, subwords)))


class Perfect(nn.Module):
    """Gives the next token of a text in which every token follows from the one before."""

    def __init__(self, after: dict[int, int], vocab: int) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.zeros(vocab, vocab))
        with torch.no_grad():
            for one, other in after.items():
                self.table[one, other] = math.log(3 * (vocab - 1))  # probability 3/4

    def forward(self, tokens: Tensor) -> Tensor:
        return self.table[tokens]


def test_windows_of_a_language_are_shifted_by_one(file: str) -> None:
    chosen, data = bound("language", file)
    assert chosen.sizes.tgt_vocab == data.vocabulary.vocab_size == 3 + len(set(TEXT))
    src, tgt = next(data.batches(torch.Generator().manual_seed(0), 5))
    assert src.shape == tgt.shape == (5, 16)
    assert torch.equal(src[:, 1:], tgt[:, :-1])
    for row in src.tolist():
        assert data.vocabulary.decode(row) in TEXT[: -len(TEXT) // 10]


def test_every_held_out_token_but_the_first_is_asked_for_once(file: str) -> None:
    _, data = bound("language", file)
    asked = [
        token for batch in data.held_out_batches(2) for token in batch.tgt.flatten().tolist() if token != PAD
    ]
    assert data.vocabulary.decode(asked) == TEXT[-(len(TEXT) // 10) + 1 :]


@pytest.mark.parametrize("subwords", [None, 300])
def test_bits_per_byte_and_perplexity_are_those_of_the_probabilities(
    tmp_path: Path, subwords: int | None
) -> None:
    path, draws = tmp_path / "a.txt", random.Random(0)
    path.write_text("".join(draws.choice("aé \U0001f600") for _ in range(3000)) if subwords else "aé" * 400)
    chosen, data = bound("language", str(path), subwords=subwords)
    ids = data.held_out
    after = {} if subwords else dict(itertools.pairwise(ids))
    model: Any = Perfect(after, data.tgt_vocab)
    found = score(model, data, chosen)
    assert isinstance(found, TokenScore)
    assert found.total == len(ids) - 1
    assert subwords or found.share == 1
    each = data.tgt_vocab if subwords else 4 / 3
    assert found.perplexity == pytest.approx(each, rel=1e-5)
    size = len(data.vocabulary.decode(ids[1:]).encode())
    assert found.bits_per_byte == pytest.approx((len(ids) - 1) * math.log2(each) / size, rel=1e-5)


def test_texts_of_several_files_have_an_end_between_them(file: str, tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mats " * 20)
    _, data = bound("language", file, str(other))
    assert data.training.count(EOS) == data.held_out.count(EOS) == 1


def test_15_percent_are_hidden_as_in_bert(file: str) -> None:
    _, data = bound("mask", file)
    chosen = hidden = replaced = same = total = 0
    draws = torch.Generator().manual_seed(0)
    batches = data.batches(draws, 64)
    for _ in range(60):
        src, tgt = next(batches)
        picked = tgt != PAD
        assert bool(picked.any(dim=1).all())
        assert bool((src[~picked] != data.mask).all())
        total, chosen = total + src.numel(), chosen + int(picked.sum())
        hidden += int((src[picked] == data.mask).sum())
        same += int((src[picked] == tgt[picked]).sum())
        replaced += int(((src[picked] != tgt[picked]) & (src[picked] != data.mask)).sum())
        others = src[picked & (src != data.mask)]
        assert bool(((others >= 3) & (others < data.mask)).all())
    assert chosen / total == pytest.approx(0.15, abs=0.02)  # at least one of 16
    assert hidden / chosen == pytest.approx(0.8, abs=0.02)
    letters = len(set(TEXT))
    assert replaced / chosen == pytest.approx(0.1 * (letters - 1) / letters, abs=0.02)
    assert same / chosen == pytest.approx(0.1 * (1 + 1 / letters), abs=0.02)


def test_what_is_hidden_of_the_held_out_text_is_the_same_in_every_run(file: str) -> None:
    first, again = (list(bound("mask", file)[1].held_out_batches(4)) for _ in range(2))
    assert all(
        torch.equal(a, b)
        for one, two in zip(first, again, strict=True)
        for a, b in zip(one, two, strict=True)
    )


def test_letters_have_the_right_labels_and_no_class_is_rare() -> None:
    pairs = letters()
    for label, text in pairs:
        assert all(text.count(label) > text.count(other) for other in "abcd" if other != label)
    data = Classify()
    assert not {text for _, text in data.training} & {text for _, text in data.held_out}
    assert len(data.held_out) >= 1000
    for part in (data.training, data.held_out):
        for number in range(4):
            assert 0.2 < sum(label == number for label, _ in part) / len(part) < 0.3


def test_a_class_is_asked_for_at_the_first_position(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"{'even' if n % 2 == 0 else 'odd'}\t{n}\n" for n in range(300)))
    _, data = prepare(blueprint("classify"), load_data("classify", Inputs((str(path),))))
    assert isinstance(data, Classify)
    assert data.classes == ("even", "odd")
    src, tgt = data.rows([(0, "12"), (1, "7")])
    assert src.tolist() == [[SOS, *data.vocabulary.encode("12")], [SOS, *data.vocabulary.encode("7"), PAD]]
    assert tgt.tolist() == [[3, PAD, PAD], [4, PAD, PAD]]
    assert len(data.training) + len(data.held_out) == 300


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a\tx\nb y\n", "line 2: expected a label, a tab and a text"),
        ("a\tx\na\ty\n", "All texts have the same label, 'a'"),
        ("a\tx\nb\ty\n", "texts are too few|has the same"),
    ],
)
def test_files_without_labels_are_refused(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(content)
    with pytest.raises(ZooError, match=message):
        Classify(Inputs((str(path),)))


@pytest.mark.parametrize("task", PRESETS)
def test_a_model_learns_it_and_the_same_seed_gives_the_same_run(task: str, file: str, tmp_path: Path) -> None:
    labelled = tmp_path / "a.tsv"
    labelled.write_text("".join(f"{'many' if n > 5 else 'few'}\t{'ab' * n}\n" for n in range(1, 12)) * 20)
    files = (file,) if task != "classify" else ()
    losses = []
    for _ in range(2):
        chosen, data = bound(task, *files)
        model, recipe = build(chosen, seed=0), Recipe(steps=30, batch_size=16, lr=5e-3, warmup=5)
        losses.append(train(model, data, recipe, optimizer=build_optimizer(chosen, model, recipe)))
        before = build(chosen, seed=0)
    assert losses[0] == losses[1]
    after, first = (score(one, data, chosen, amount=32) for one in (model, before))
    assert isinstance(after, TokenScore)
    assert isinstance(first, TokenScore)
    assert after.perplexity < first.perplexity
    assert model.training


@pytest.mark.parametrize("task", PRESETS)
@pytest.mark.parametrize("assembly", ["encoder-decoder", "decoder", "encoder"])
def test_every_other_assembly_is_refused_with_what_would_work(task: str, assembly: str) -> None:
    data = load_data(task)
    assert isinstance(data, AlignedData)
    if assembly == data.assembly:
        prepare(blueprint(task, assembly=assembly), data)
        return
    choices = {"assembly": assembly}
    with pytest.raises(CombinationError, match=rf"use assembly={data.assembly}.*has assembly={assembly}\."):
        prepare(blueprint(task, **choices), data)


def test_a_text_shorter_than_the_context_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abc " * 4)
    with pytest.raises(
        CombinationError, match=r"has 15 tokens, .* takes 17\. Use a longer text, or --max-len 8\."
    ):
        bound("language", str(path))
    path.write_text("abcdefghij" * 2)
    small = blueprint("language").with_sizes(max_len=4)
    prepare(small, load_data("language", Inputs((str(path),))))
    path.write_text("abcdefghij")
    with pytest.raises(CombinationError, match="one token in 10 is held out, which is 1"):
        prepare(small, load_data("language", Inputs((str(path),))))


def test_a_vocabulary_that_was_asked_for_is_kept_if_it_is_large_enough(file: str) -> None:
    sized = blueprint("language").with_sizes(tgt_vocab=50, src_vocab=50)
    data = load_data("language", Inputs((file,)))
    assert prepare(sized, data, ["tgt_vocab", "src_vocab"])[0].sizes.tgt_vocab == 50
    with pytest.raises(CombinationError, match="tgt_vocab=5 is too small"):
        prepare(sized.with_sizes(tgt_vocab=5, src_vocab=5), data, ["tgt_vocab", "src_vocab"])


def test_a_task_is_restored_from_what_a_checkpoint_keeps(file: str) -> None:
    for name in PRESETS:
        data = load_data(name) if name == "classify" else load_data(name, Inputs((file,)))
        assert isinstance(data, AlignedData)
        again = load_data(name, saved=data.saved())
        assert isinstance(again, AlignedData)
        assert again.saved() == data.saved()
        assert (again.src_vocab, again.tgt_vocab) == (data.src_vocab, data.tgt_vocab)
        prepare(blueprint(name), again)
        with pytest.raises(ZooError, match="is damaged"):
            load_data(name, saved={"characters": 3})


def test_answers_of_a_masked_model_keep_what_is_written(file: str) -> None:
    chosen, data = bound("mask", file)
    model = build(chosen, seed=0).eval()
    assert isinstance(data, Mask)
    (filled,) = data.answers(model, ["the [MASK]at [MASK]"])
    assert len(filled) == len("the .at .")
    assert (filled[:4], filled[5:8]) == ("the ", "at ")
    for text, message in (
        ("the cat", "'the cat' has no"),
        ("a" * 3000, r"'a{12}\.\.\.a{13}' has no"),
        ("the [MASK] é", "is not in the text"),
        ("[MASK]" * 17, "Shorten"),
    ):
        with pytest.raises(ZooError, match=message):
            data.answers(model, [text])


def test_a_task_without_answers_or_files_says_so(file: str) -> None:
    with pytest.raises(ZooError, match="a text has no answer"):
        load_task("language")
    with pytest.raises(ZooError, match="'reverse' takes no files"):
        load_data("reverse", Inputs((file,)))
    with pytest.raises(ZooError, match="zoo generate"):
        Language(Inputs((file,))).answers(None, ["a"])
