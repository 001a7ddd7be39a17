"""What a worker does not have: files that ask for it run, or are told why they do not."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import nn

from grader import grade_file
from grader.catalog import get_exercise
from grader.worker import absent

SOLUTION = Path(importlib.import_module(get_exercise("masks").package).__file__ or "").parent / "solution.py"
IMPORTED = """
import matplotlib.pyplot as plt
import pandas as pd
from IPython.display import display
from tqdm.auto import tqdm
import torch
torch.set_num_threads(4)
torch.set_num_interop_threads(4)
plt.style.use("seaborn")
from torch.utils.tensorboard import SummaryWriter
from tqdm import trange
SummaryWriter("runs").add_scalar("loss", 1.0, 0)
plt.rcParams["figure.figsize"] = (4, 3)
figure, axes = plt.subplots(figsize=(4, 3))
line, = axes.plot([1, 2])
axes.spines["top"].set_visible(False)
figure, (left, middle, right) = plt.subplots(1, 3)
figure, ((a, b), (c, d), (e, f)) = plt.subplots(nrows=3, ncols=2)
assert [i for i in trange(2)] == [0, 1]
rows = pd.DataFrame([1])
rows["b"] = 3
print(len(rows), rows.head())
figure.add_subplot(111).imshow([[1, 2]])
for i in tqdm(range(3)):
    with plt.rc_context({}):
        display(pd.DataFrame([i]))
"""


def graded(tmp_path: Path, head: str) -> tuple[bool, str]:
    file = tmp_path / "masks.py"
    text = SOLUTION.read_text()
    future = "from __future__ import annotations\n"
    file.write_text(text.replace(future, future + head, 1) if future in text else head + text)
    grade = grade_file(file, skip=["training"])
    return grade.passed, " ".join(result.message for result in grade.results)


def test_a_file_may_ask_for_threads_and_import_what_draws(tmp_path: Path) -> None:
    passed, said = graded(tmp_path, IMPORTED)
    assert passed, said


@pytest.mark.parametrize(
    ("head", "words"),
    [
        ("from norm import LayerNorm\n", absent_words := "a file is graded by itself"),
        ("import scipy_not_there\n", absent_words),
        ("import threading\nthreading.Thread(target=print).start()\n", "code has one thread"),
    ],
)
@pytest.mark.sampled(3)
def test_what_cannot_be_had_is_told_with_the_reason(tmp_path: Path, head: str, words: str) -> None:
    passed, said = graded(tmp_path, head)
    assert not passed
    assert words in said


@pytest.fixture
def stand_ins() -> Iterator[None]:
    finder = absent.StandIns()
    sys.meta_path.insert(0, finder)
    kept = dict(sys.modules)
    yield
    sys.meta_path.remove(finder)
    for name in set(sys.modules) - set(kept):
        del sys.modules[name]


def test_what_can_be_read_has_no_stand_in() -> None:
    assert isinstance(absent.StandIns().find_spec("matplotlib"), type(None))
    assert absent.StandIns().find_spec("torchtext") is not None
    assert absent.StandIns().find_spec("torch") is None


@pytest.mark.usefixtures("stand_ins")
def test_a_stand_in_gives_back_what_it_is_put_around() -> None:
    module = importlib.import_module("torchtext.data.utils")
    assert module.progress([1, 2]) == [1, 2]
    assert repr(module.get_tokenizer("basic")) == "torchtext.data.utils.get_tokenizer (not in the sandbox)"
    with module.context() as inner:
        assert inner.anything.more is not None
    with pytest.raises(TypeError, match="NotInTheSandbox"):
        torch.softmax(module.logits("a", "b"), -1)
    with pytest.raises(AttributeError):
        _ = module.__path_of_nothing__


@pytest.mark.usefixtures("stand_ins")
def test_classes_that_inherit_from_a_stand_in() -> None:
    lightning = importlib.import_module("pytorch_lightning")
    scope: dict[str, type] = {}
    exec(
        "class Model(lightning.LightningModule): ...\nclass Data(lightning.Data): ...",
        {"lightning": lightning},
        scope,
    )
    assert issubclass(scope["Model"], nn.Module)
    assert scope["Data"].__mro__[1:] == (object,)


def test_threads_are_as_they_were() -> None:
    before, setter, getter = torch.get_num_threads(), torch.set_num_threads, torch.get_num_threads
    with absent.without_threads():
        torch.set_num_threads(before + 3)
        torch.set_num_interop_threads(before + 3)
        assert (torch.get_num_threads(), getter()) == (before + 3, before)
    assert (torch.set_num_threads, torch.get_num_threads()) == (setter, before)
