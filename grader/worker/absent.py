"""What a worker does not have, though a submission may ask for it: a compiler, threads, packages beside torch.

None of it changes what a component computes, so that a file that was written elsewhere runs as it is.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator, Sequence
from importlib.abc import Loader
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import torch

# What notebooks and scripts import for pictures, logs and data. Where one cannot be had, a stand-in takes its place.
PACKAGES = frozenset({
    "GPUtil", "IPython", "altair", "bokeh", "datasets", "evaluate", "graphviz", "ipywidgets", "lightning",
    "matplotlib", "networkx", "nltk", "pandas", "plotly", "pytorch_lightning", "requests", "rich", "sacrebleu",
    "seaborn", "sentencepiece", "sklearn", "spacy", "tensorboard", "tensorboardX", "tokenizers", "torchaudio",
    "torchinfo", "torchmetrics", "torchsummary", "torchtext", "torchvision", "torchviz", "tqdm", "transformers",
    "wandb",
})  # fmt: skip
PLAIN = (str, dict, int, float)
WITHIN_TORCH = "torch.utils.tensorboard"


@contextlib.contextmanager
def without_compiling() -> Iterator[None]:
    """While it is entered, `torch.compile` gives back what it is given.

    What it computes is the same, and a worker has neither a compiler nor the minutes that it takes.
    """
    compiles = torch.compile
    torch.compile = _as_it_is
    try:
        yield
    finally:
        torch.compile = compiles


@contextlib.contextmanager
def without_scripting() -> Iterator[None]:
    """While it is entered, `torch.jit.script` gives back what it is given.

    For changed copies of a file: what TorchScript makes of nonsense may end the process.
    """
    scripts = torch.jit.script
    torch.jit.script = _as_it_is  # type: ignore[assignment]
    try:
        yield
    finally:
        torch.jit.script = scripts


@contextlib.contextmanager
def without_threads() -> Iterator[None]:
    """While it is entered, torch only reports the number of threads that was set.

    To start one would end a confined process.
    """
    names = ("get_num_threads", "set_num_threads", "set_num_interop_threads")
    kept = {name: getattr(torch, name) for name in names}
    count = [torch.get_num_threads()]

    def set_count(nthreads: int) -> None:
        count[0] = nthreads

    torch.get_num_threads, torch.set_num_threads = (lambda: count[0]), set_count
    torch.set_num_interop_threads = lambda nthreads: None  # noqa: ARG005
    try:
        yield
    finally:
        for name, function in kept.items():
            setattr(torch, name, function)


def _as_it_is(model: Any = None, **_options: Any) -> Any:
    """`torch.compile` or `torch.jit.script`, as a function or as a decorator with options."""
    return model if model is not None else lambda decorated: decorated


class StandIns(Loader):
    """A finder for `sys.meta_path` that gives a stand-in for each of the packages that cannot be had."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: object = None
    ) -> ModuleSpec | None:
        if name == WITHIN_TORCH:  # reads the package of that name
            missing = not _can_be_read(PathFinder.find_spec(name.rpartition(".")[2]))
        else:
            missing = name.partition(".")[0] in PACKAGES and not _can_be_read(
                PathFinder.find_spec(name, path)
            )
        if not missing:
            return None
        return ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to run."""


def _can_be_read(found: ModuleSpec | None) -> bool:
    """Whether a module is there, and not only its name: a confined process sees names of files that are not for it."""
    if found is None or found.origin is None:
        return False
    try:
        with Path(found.origin).open("rb"):
            return True
    except OSError:
        return False


class _StandIn(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return NotInTheSandbox(f"{self.__name__}.{name}")


class NotInTheSandbox:
    """Anything of such a package: it may be called and asked for more, and does nothing."""

    def __init__(self, name: object, *_args: object, **_options: object) -> None:
        self._name = name
        self._counts: tuple[int, ...] = (2,)

    def __getattr__(self, name: str) -> NotInTheSandbox:
        if name.startswith("__"):
            raise AttributeError(name)
        return NotInTheSandbox(f"{self._name}.{name}")

    def __call__(self, *args: Any, **options: Any) -> Any:
        """A progress bar gives back what it is put around, or counts, a decorator what it decorates."""
        name = str(self._name).rpartition(".")[2]
        if name in ("trange", "tnrange"):
            return range(*args)
        if name == "subplots":
            return self, self._of_items(
                *args[:2], *(options.get(one, 1) for one in ("nrows", "ncols")[len(args) :])
            )
        if name == "plot":  # a list of one line
            return self._of_items(1, 1)
        is_class = name[:1].isupper()  # `DataFrame(rows)`
        return args[0] if len(args) == 1 and not is_class and not isinstance(args[0], PLAIN) else self

    def _of_items(self, rows: int, columns: int) -> NotInTheSandbox:
        """One that consists of others, in rows if there are several: the axes of several pictures."""
        found = NotInTheSandbox(self._name)
        found._counts = tuple(n for n in (rows, columns) if n > 1) or (1,)
        return found

    def __iter__(self) -> Iterator[NotInTheSandbox]:
        """Two of it, if its number is not known: `figure, axes = ...`."""
        for _ in range(self._counts[0]):
            one = NotInTheSandbox(self._name)
            one._counts = self._counts[1:] or (2,)
            yield one

    def __len__(self) -> int:
        return self._counts[0]

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, key: object) -> NotInTheSandbox:
        return self

    def __setitem__(self, key: object, value: object) -> None:
        """What is written to it is gone."""

    def __enter__(self) -> NotInTheSandbox:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def __mro_entries__(self, _bases: tuple[object, ...]) -> tuple[type, ...]:
        """For a class that inherits from it: such as LightningModule are modules of torch."""
        return (torch.nn.Module,) if str(self._name).endswith("Module") else ()

    def __repr__(self) -> str:
        return f"{self._name} (not in the sandbox)"
