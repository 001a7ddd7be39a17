"""`zoo evaluate`: measures with signatures, and what cannot be scored."""

from __future__ import annotations

from pathlib import Path

from tests.zoo.cli.conftest import Zoo
from tests.zoo.training.translation.support import make_run, train


def make(folder: Path) -> str:
    """A run without a test text, and a test text beside it."""
    run = make_run(folder / "run")
    train(run)
    (folder / "test.tsv").write_text("eins\tone\nzwei drei\ttwo three\n", encoding="utf-8")
    return str(run.folder)


def test_measures_are_printed_with_their_signatures(zoo: Zoo, tmp_path: Path) -> None:
    run = make(tmp_path)
    given = [f"--test-tsv={tmp_path / 'test.tsv'}", "--device=cpu"]
    done = zoo("evaluate", run, *given)
    assert done.code == 0
    for words in ("2 pairs read", "BLEU", "tok:13a", "case:mixed", "chrF2", "not comparable", "case:lc"):
        assert words in done.out
    assert max(map(len, done.out.splitlines())) <= 80
    found = zoo("evaluate", run, *given, "--decoding=beam:size=2", "--tokenize=zh", "--json").json
    assert found["decoding"].startswith("beam:size=2")
    assert "tok:zh" in found["measures"][0]["signature"]
    assert len(found["translations"]) == 2


def test_what_cannot_be_scored_is_told(zoo: Zoo, tmp_path: Path) -> None:
    run = make(tmp_path)
    tsv = f"--test-tsv={tmp_path / 'test.tsv'}"
    for given, words in (
        ([tsv, "--tokenize=klingon"], "no way of splitting"),
        ([tsv, "--test-src=a"], "has both sides"),
        (["--test-src=a"], "--test-tgt"),
        (["--test-tsv=none"], "cannot be read"),
        ([tsv, "--decoding=beem"], "Did you mean beam"),
    ):
        done = zoo("evaluate", run, *given, "--device=cpu")
        assert done.code == 2
        assert words in " ".join(done.err.split())
    assert zoo("evaluate", str(tmp_path), tsv).code == 2
