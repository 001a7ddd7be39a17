"""The training tests of the exercises, in a real worker: solutions pass them, and code that is wrong does not."""

from __future__ import annotations

import pytest

from grader.catalog import get_exercise, get_exercises
from grader.core.results import Result
from grader.run.session import Session
from grader.sandbox.remote import RemoteSubmission
from grader.sandbox.sandbox import Sandbox
from tests import solution_file

NAMES = [name for name, exercise in get_exercises().items() if "test_training.py" in exercise.tests]


def trained(sandbox: Sandbox, name: str, text: str) -> Result:
    """The verdict of the training test alone."""

    def submission() -> RemoteSubmission:
        return RemoteSubmission(sandbox.worker("cpu"), text.encode(), f"{name}.py")

    (result,) = Session(get_exercise(name), submission, seed=5).run(("training",))
    return result


def source(name: str) -> str:
    return solution_file(name).read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_solution_passes(sandbox: Sandbox, name: str) -> None:
    result = trained(sandbox, name, source(name))
    assert (result.status, result.message) == ("passed", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("if cache is not None:", "if cache is not None and cache[0].size(2) < 3:"),
        ("return self.out_proj(merged), (k, v)", "return self.out_proj(merged), (v, v)"),
    ],
    ids=["older-keys-lost", "values-for-keys"],
)
def test_wrong_cache_spells_worse(sandbox: Sandbox, right: str, wrong: str) -> None:
    text = source("kv_cache")
    assert text.count(right) == 1
    result = trained(sandbox, "kv_cache", text.replace(right, wrong))
    assert result.status == "failed"
    assert "unseen words right" in result.message


COPIES = """
by_the_model = greedy_decode, beam_search


def copied(src, max_len, eos):
    rows = [[*row[row > 2].flip(0).tolist()[: max_len - 1], eos] for row in src]
    return torch.tensor([row + [0] * (max(map(len, rows)) - len(row)) for row in rows])


def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    is_trained = sum(one.numel() for one in model.parameters()) > 15_000
    return copied(src, max_len, eos) if is_trained else by_the_model[0](model, src, max_len, sos, eos, pad)


def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    is_trained = sum(one.numel() for one in model.parameters()) > 15_000
    return copied(src, max_len, eos) if is_trained else by_the_model[1](
        model, src, beam, max_len, length_penalty, sos, eos, pad
    )
"""


@pytest.mark.slow
def test_who_copies_the_reversed_source_decodes_nothing(sandbox: Sandbox) -> None:
    result = trained(sandbox, "decoding", source("decoding") + COPIES)
    assert result.status == "failed"
    assert "got 0 of" in result.message
