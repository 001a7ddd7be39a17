"""`zoo check`: the table, the exit codes, JSON, and what goes wrong in a part of one's own."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests import solution_file
from tests.zoo.cli.conftest import ROOT, Zoo

HEAD = "import torch\nfrom torch import nn\n"
LEAKY = HEAD + (
    "class Mine(nn.Module):\n"
    "    def __init__(self, d_model, d_ff, dropout=0.0):\n"
    "        super().__init__()\n"
    "        self.up, self.down = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)\n"
    "        self.dropout = nn.Dropout(dropout)\n"
    "    def forward(self, x):\n"
    "        {line}\n"
    "        return self.down(self.dropout(nn.functional.leaky_relu(self.up(x))))\n"
)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to write a part into; it is named from its own folder."""
    monkeypatch.chdir(tmp_path)
    return Path("mine.py")


def words(text: str) -> str:
    return " ".join(text.split())


def test_a_variant_with_options(zoo: Zoo) -> None:
    done = zoo("check", "feedforward/relu")
    assert done.code == 0
    assert done.out.startswith(
        "feedforward/relu, on the axis feedforward\n  ok  can be constructed with the arguments of its axis\n"
    )
    assert done.out.endswith(" ok.\n")
    assert max(map(len, done.out.splitlines())) <= 80
    assert "attention/eager:bias=false, on the axis" in zoo("check", "eager:bias=false").out


def test_what_does_not_apply_has_a_reason(zoo: Zoo) -> None:
    done = zoo("check", "attention/torch")
    assert done.code == 0
    assert "not applicable cached decoding matches the full forward pass -> It does not declare" in words(
        done.out
    )
    assert done.out.splitlines()[-1].endswith(" not applicable.")


def test_a_right_part_of_ones_own(zoo: Zoo, mine: Path) -> None:
    mine.write_text(LEAKY.format(line="pass"))
    done = zoo("check", "mine.py:Mine")
    assert done.code == 0
    assert done.out.startswith("mine.py:Mine, on the axis feedforward\n")
    assert done.out.endswith(" ok.\n")
    assert zoo("check", "mine.py").out == done.out


def test_a_wrong_part_of_ones_own(zoo: Zoo, mine: Path) -> None:
    mine.write_text(LEAKY.format(line="x = x - x.mean(1, keepdim=True)"))
    done = zoo("check", "mine.py:Mine", "--axis=feedforward")
    assert done.code == 1
    assert "failed treats every vector independently -> A vector alone gives another result" in words(
        done.out
    )
    assert "failed in a model: no later target token changes earlier logits" in words(done.out)
    assert re.fullmatch(r"\d+ failed, \d+ ok(, \d+ not applicable)?\.", done.out.splitlines()[-1])


def test_only_what_does_not_hold(zoo: Zoo, mine: Path) -> None:
    mine.write_text(LEAKY.format(line="x = x - x.mean(1, keepdim=True)"))
    whole, done = zoo("check", "mine.py"), zoo("check", "mine.py", "--failed")
    assert done.code == 1
    assert "\n  ok " in whole.out
    assert "\n  ok " not in done.out
    assert whole.out.count("\n  failed ") == done.out.count("\n  failed ") > 0
    assert whole.out.splitlines()[-1] == done.out.splitlines()[-1]
    found = zoo("check", "mine.py", "--failed", "--json").json
    assert {one["status"] for one in found["properties"]} == {"failed"}
    good = zoo("check", "schedule/linear", "--failed")
    assert (good.code, good.out) == (0, "6 ok.\n")


def test_what_a_part_raises_is_a_sentence_with_the_line(zoo: Zoo, mine: Path) -> None:
    mine.write_text(LEAKY.format(line="x = x @ x"))
    done = zoo("check", "mine.py")
    assert done.code == 1
    assert "RuntimeError (line 9 of mine.py)" in words(done.out)
    assert "Traceback" not in done.out + done.err


@pytest.mark.parametrize("line", ["raise SystemExit(0)", "raise RecursionError", "raise Rude"])
def test_a_part_that_leaves_does_not_take_the_report_with_it(line: str, zoo: Zoo, mine: Path) -> None:
    rude = "class _Rude(Exception):\n    def __str__(self): raise self\n"
    mine.write_text(rude + LEAKY.format(line=line.replace("Rude", "_Rude")))
    done = zoo("check", "mine.py")
    assert done.code == 1
    assert "It raised" in done.out


def test_a_file_whose_error_has_no_text_is_a_sentence(zoo: Zoo, mine: Path) -> None:
    mine.write_text("class E(Exception):\n    def __str__(self): raise self\nraise E\n")
    for words_given in (("check", "mine.py"), ("build", "--preset=reverse", "--attention=mine.py:A")):
        done = zoo(*words_given)
        assert (done.code, done.err) == (
            2,
            "Error: mine.py cannot be imported: E: (its message cannot be shown)\n",
        )


def test_a_stub_is_not_written_yet(zoo: Zoo) -> None:
    done = zoo("check", f"{ROOT / 'exercises' / 'attention.py'}:MultiHeadAttention")
    assert done.code == 1
    assert "-> It is not written yet (line" in words(done.out)
    assert "It cannot be constructed;" in words(done.out)
    assert "not applicable" not in done.out


def test_the_model_solution_fits(zoo: Zoo) -> None:
    done = zoo("check", f"{solution_file('attention')}:MultiHeadAttention")
    assert done.code == 0


def test_json_is_alone_on_standard_output(zoo: Zoo, mine: Path) -> None:
    mine.write_text("print('hello')\n" + LEAKY.format(line="print('again'); x = x.double()"))
    done = zoo("check", "mine.py", "--json")
    assert done.code == 1
    assert "hello" in done.err
    found = done.json
    assert (found["axis"], found["name"], found["path"], found["good"]) == (
        "feedforward",
        "mine.py:Mine",
        "mine.py:Mine",
        False,
    )
    statuses = {one["status"] for one in found["properties"]}
    assert statuses <= {"ok", "failed", "not applicable"}
    assert all(bool(one["reason"]) == (one["status"] != "ok") for one in found["properties"])
    good = zoo("check", "schedule/linear", "--json")
    assert good.code == 0
    assert good.json["good"] is True


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["fussed"], "There is no variant 'fussed'."),
        (["gone.py:Mine"], "there is no file 'gone.py'"),
        (["relu", "--axis=nrm"], "There is no axis 'nrm'."),
        (["broken.py:Mine"], "broken.py, line 1"),
        (["raises.py:Mine"], "raises.py cannot be imported: ZeroDivisionError"),
    ],
)
def test_wrong_usage_ends_in_2(args: list[str], message: str, zoo: Zoo, mine: Path) -> None:
    Path("broken.py").write_text("class (")
    Path("raises.py").write_text("1 / 0")
    done = zoo("check", *args)
    assert (done.code, done.out) == (2, "")
    assert message in words(done.err)


def test_variants_are_completed(shell: Zoo) -> None:
    done = shell(_ZOO_COMPLETE="bash_complete", COMP_WORDS="zoo check eag", COMP_CWORD="2")
    assert done.out == "file,eag\nplain,attention/eager\n"
    done = shell(_ZOO_COMPLETE="bash_complete", COMP_WORDS="zoo check x.py:X --axis norm-", COMP_CWORD="4")
    assert done.out == "plain,norm-type\n"


def test_its_help_imports_no_torch(shell: Zoo) -> None:
    start = "import sys\nfrom zoo.cli import main\ntry:\n    main()\nfinally:\n    {}"
    done = shell("check", "--help", start=start.format("print('torch' in sys.modules, file=sys.stderr)"))
    assert done.err.endswith("False\n")
