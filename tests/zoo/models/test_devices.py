"""Devices by name, and "out of memory" as a sentence."""

from __future__ import annotations

import pytest
import torch

from zoo.core.errors import ZooError
from zoo.models.devices import MemoryLimitError, memory_limit, resolve_device


@pytest.mark.parametrize(("there", "auto"), [(False, "cpu"), (True, "cuda")])
def test_auto_takes_cuda_where_there_is_one(there: bool, auto: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: there)
    assert resolve_device("auto").type == auto
    assert resolve_device("cpu").type == "cpu"


def test_cuda_that_is_absent_and_names_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ZooError, match=r"There is no CUDA device .* Use --device=cpu, or auto\."):
        resolve_device("cuda")
    with pytest.raises(ZooError, match=r"There is no device 'tpu'\. Expected auto, cpu or cuda"):
        resolve_device("tpu")


@pytest.mark.parametrize("size", [10**15, 10**19, 10**30])
def test_what_torch_says_of_too_large_a_tensor_becomes_a_sentence(size: int) -> None:
    with (
        pytest.raises(MemoryLimitError, match=r"does not fit into memory\. Buy more\."),
        memory_limit("Buy more."),
    ):
        torch.empty(size, size)


@pytest.mark.parametrize("error", [MemoryError(), torch.OutOfMemoryError("CUDA out of memory.")])
def test_errors_with_a_class_of_their_own(error: Exception) -> None:
    with pytest.raises(MemoryLimitError), memory_limit("Buy more."):
        raise error


def test_other_errors_pass() -> None:
    with pytest.raises(RuntimeError, match="shapes differ"), memory_limit("Buy more."):
        raise RuntimeError("shapes differ")
