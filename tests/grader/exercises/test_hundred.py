"""The script that grades right code on many seeds (`hundred.py`), in small."""

from __future__ import annotations

import pytest

from grader.catalog import get_exercises
from tests.grader import hundred
from tests.grader.hundred import Grader, Mode
from tests.grader.right import right_files

WHERE = [Mode(local=True), pytest.param(Mode(), marks=pytest.mark.slow)]


@pytest.mark.parametrize("name", get_exercises())
def test_every_exercise_has_a_solution_and_unusual_files(name: str) -> None:
    titles = list(right_files(name))
    assert titles[0] == "solution"
    assert titles[1:] == sorted(titles[1:])
    assert len(titles) > 4


def test_each_file_has_its_line_and_the_last_one_sums_up(capfd: pytest.CaptureFixture[str]) -> None:
    options = ["--local", "--times", "2", "--first", "1000", "--jobs", "1", "--files", "solution"]
    assert hundred.main(["masks", "loss", *options]) == 0
    *lines, last = capfd.readouterr().out.splitlines()
    titles = ["solution", "solution"]
    assert [line.split()[-1] for line in lines] == titles
    assert all("2 of 2" in line for line in lines)
    assert last.startswith(f"{len(titles)} files, {2 * len(titles)} grades, 0 failed;")


@pytest.mark.parametrize("mode", WHERE, ids=str)
def test_wrong_code_is_found(mode: Mode) -> None:
    source = right_files("masks")["solution"].replace("tril", "triu")
    with Grader(mode) as grader:
        assert hundred.problems(grader.grade("masks", source, 0))


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("mode", WHERE, ids=str)
def test_onednn_is_off_where_the_file_runs(mode: Mode, onednn: bool) -> None:
    found = (
        f"if torch.backends.mkldnn.enabled is not {onednn}:\n        raise NotImplementedError\n    return"
    )
    source = right_files("masks")["solution"].replace("return", found)
    for asked in (True, False):
        with Grader(Mode(mode.local, asked)) as grader:  # what is not written is not searched for mistakes
            assert bool(hundred.problems(grader.grade("masks", source, 0))) is (asked is not onednn)


@pytest.mark.parametrize(("ulps", "passes"), [(0.0, True), (1.0, True), (1e6, False)])
def test_noise_is_as_large_as_asked(ulps: float, passes: bool) -> None:
    source = right_files("loss")["solution"]
    with Grader(Mode(local=True, noise=ulps)) as grader:
        results = grader.grade("loss", source, 0)
    assert (hundred.problems(results) == ()) is passes


def test_what_cannot_be_done_is_refused() -> None:
    assert hundred.main(["masks", "--files", "nothing"]) == 2
    with pytest.raises(SystemExit):
        hundred.main(["masks", "--noise", "1"])


@pytest.mark.slow
def test_solutions_pass_in_workers_on_other_kernels() -> None:
    """All right files are graded on other kernels, in one process, by `python -m tests.elsewhere`."""
    options = ["--times", "1", "--first", "7", "--jobs", "1", "--onednn", "off", "--files", "solution"]
    assert hundred.main(options) == 0
