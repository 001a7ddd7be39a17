"""A submission as it would run on another processor: all that it computes goes through `noise`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.core.submission import FirstCall, Gradients, Outcome, ParameterInfo
from grader.engine.local import LocalFunction, LocalInstance, LocalSubmission
from tests.grader.noise import Noise


class Noisy:
    """A submission that runs on another processor: its constructors, calls and backward passes run under the noise.

    Args:
        submission: the submission.
        noise: of the other processor.
    """

    def __init__(self, submission: LocalSubmission, noise: Noise) -> None:
        self._submission, self._noise = submission, noise

    @classmethod
    def from_source(cls, text: str, noise: Noise, *, filename: str = "attention.py") -> Noisy:
        """Load a file's text under the noise. For trusted text only. Raises SubmissionError."""
        with noise:
            return cls(LocalSubmission.from_source(text, filename=filename), noise)

    @property
    def first_calls(self) -> Mapping[str, FirstCall]:
        return self._submission.first_calls

    @first_calls.setter
    def first_calls(self, calls: Mapping[str, FirstCall]) -> None:
        self._submission.first_calls = calls

    def has(self, name: str) -> bool:
        return self._submission.has(name)

    def function(self, name: str) -> NoisyFunction:
        with self._noise:
            return NoisyFunction(self._submission.function(name), self._noise)

    def construct(
        self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any] | None = None
    ) -> NoisyInstance:
        with self._noise:
            return NoisyInstance(self._submission.construct(name, *_plain(args, kwargs)), self._noise)

    def part(
        self,
        kind: str,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        training: bool = True,
    ) -> NoisyInstance:
        made = self._submission.part(kind, *_plain(args, kwargs), training=training)
        return NoisyInstance(made, self._noise)

    def trace(self, on: bool) -> list[str]:
        return self._submission.trace(on)

    def seed(self, seed: int) -> None:
        self._submission.seed(seed)

    def close(self) -> None:
        self._submission.close()


class NoisyFunction:
    """A function that runs under the noise."""

    def __init__(self, inner: LocalFunction, noise: Noise) -> None:
        self._inner, self._noise = inner, noise

    def call(
        self,
        args: Sequence[Any],
        kwargs: Mapping[str, Any] | None = None,
        *,
        grad: Sequence[int | str] = (),
        method: str = "",
        record: bool = True,
        refilled: bool = False,
    ) -> Outcome:
        with self._noise:
            return self._inner.call(
                *_plain(args, kwargs), grad=grad, method=method, record=record, refilled=refilled
            )

    def backward(self, outcome: Outcome, cotangents: Sequence[Tensor | None]) -> Gradients:
        with self._noise:
            return self._inner.backward(outcome, cotangents)

    def release(self, outcome: Outcome) -> None:
        self._inner.release(outcome)


class NoisyInstance(NoisyFunction):
    """An `nn.Module` that runs under the noise."""

    def __init__(self, inner: LocalInstance, noise: Noise) -> None:
        super().__init__(inner, noise)
        self.inner = inner

    def parameters(self) -> dict[str, ParameterInfo]:
        return self.inner.parameters()

    def buffers(self) -> dict[str, ParameterInfo]:
        return self.inner.buffers()

    def load(self, values: Mapping[str, Tensor]) -> None:
        self.inner.load(values)

    def train(self, *modes: bool) -> None:
        self.inner.train(*modes)

    def to(self, dtype: torch.dtype) -> None:
        with self._noise:
            self.inner.to(dtype)

    def close(self) -> None:
        self.inner.close()


def _plain(args: Sequence[Any], kwargs: Mapping[str, Any] | None) -> tuple[list[Any], dict[str, Any]]:
    """Return arguments with noisy instances replaced by the instances they wrap."""

    def bare(value: Any) -> Any:
        if isinstance(value, NoisyInstance):
            return value.inner
        if isinstance(value, Mapping):
            return {key: bare(item) for key, item in value.items()}
        return type(value)(bare(item) for item in value) if isinstance(value, (tuple, list)) else value

    return [bare(value) for value in args], {name: bare(value) for name, value in (kwargs or {}).items()}
