"""Settings of all of torch: what a submission changes is restored, and said."""

from __future__ import annotations

import pytest
import torch

from grader.core.submission import SubmissionError
from grader.engine.local import LocalSubmission
from grader.worker.global_state import SETTINGS

CHANGES = {
    "torch.set_grad_enabled(False)": "torch.is_grad_enabled() is False; before, it was True",
    "torch.no_grad().__enter__()": "torch.is_grad_enabled() is False; before, it was True",
    "torch.set_default_dtype(torch.float64)": "the default dtype is torch.float64; before, it was torch.float32",
    "torch.set_default_device('meta')": "the default device is meta; before, it was cpu",
    "torch.manual_seed(7)": "the seed of torch's random numbers is 7; before, it was ",
    "torch.set_autocast_enabled('cpu', True)": 'torch.is_autocast_enabled("cpu") is True; before, it was False',
    "torch.set_autocast_enabled('cuda', True)": 'torch.is_autocast_enabled("cuda") is True; before, it was False',
    "torch.set_num_threads(torch.get_num_threads() + 1)": "the number of threads is ",
    "torch.use_deterministic_algorithms(True)": "torch.get_deterministic_debug_mode() is 2; before, it was 0",
    "torch.autograd.set_detect_anomaly(True)": "torch.is_anomaly_enabled() is True; before, it was False",
    "torch.set_float32_matmul_precision('medium')": "torch.get_float32_matmul_precision() is 'medium'; before, it was ",
}
ON_IMPORT = [code for code in CHANGES if any(word in code for word in ("_grad", "dtype", "autocast"))]


def settings() -> list[object]:
    return [one.read() for one in SETTINGS]


@pytest.mark.parametrize("code", CHANGES)
def test_a_call_that_changes_a_setting_fails_and_the_setting_is_restored(code: str) -> None:
    before = settings()
    text = f"import torch\n\ndef f(x):\n    y = 2 * x\n    {code}\n    return y\n"
    with pytest.raises(SubmissionError) as raised:
        LocalSubmission.from_source(text).function("f").call([torch.ones(2)])
    assert CHANGES[code] in raised.value.message
    assert (raised.value.kind, raised.value.line, raised.value.source_line) == ("global_state", 5, code)
    assert settings() == before


@pytest.mark.parametrize("code", CHANGES)
def test_constructors_are_watched(code: str) -> None:
    begun = "class A(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    text = f"import torch\n\n{begun}        {code}\n"
    with pytest.raises(SubmissionError, match="This is a setting of all of torch"):
        LocalSubmission.from_source(text).construct("A", [])


def test_backward_passes_are_watched() -> None:
    hook = "y.register_hook(lambda _: torch.manual_seed(3) and None)"
    text = f"import torch\n\ndef f(x):\n    y = 2 * x\n    {hook}\n    return y\n"
    function = LocalSubmission.from_source(text).function("f")
    outcome = function.call([torch.ones(2)], grad=(0,))
    with pytest.raises(SubmissionError, match="the seed of torch's random numbers is 3"):
        function.backward(outcome, [torch.ones(2)])


@pytest.mark.parametrize("code", CHANGES)
def test_a_file_may_set_on_import_what_harms_nobody(code: str) -> None:
    before = settings()
    try:
        if code in ON_IMPORT:
            with pytest.raises(SubmissionError, match="This is a setting of all of torch"):
                LocalSubmission.from_source(f"import torch\n{code}\n")
        else:
            LocalSubmission.from_source(f"import torch\n{code}\n")
    finally:
        for one, value in zip(SETTINGS, before, strict=True):
            one.write(value)


RESTORING = (
    "with torch.no_grad():\n        y = 2 * x",
    "with torch.inference_mode():\n        y = 2 * x",
    "with torch.random.fork_rng():\n        torch.manual_seed(3)\n        y = torch.rand(2) * x",
    "with torch.autocast('cpu'), torch.autograd.detect_anomaly(False):\n        y = 2 * x",
    "torch.set_grad_enabled(False)\n    y = 2 * x\n    torch.set_grad_enabled(True)",
    "torch.set_default_dtype(torch.float32)\n    y = torch.rand(2, generator=torch.Generator().manual_seed(1)) * x",
)


@pytest.mark.parametrize("lines", RESTORING)
def test_what_is_restored_is_right(lines: str) -> None:
    text = f"import torch\n\ndef f(x):\n    {lines}\n    return y\n"
    LocalSubmission.from_source(text).function("f").call([torch.ones(2)])


def test_an_error_is_told_before_a_setting() -> None:
    before = settings()
    text = "import torch\n\ndef f():\n    torch.manual_seed(5)\n    raise ValueError('mine')\n"
    with pytest.raises(SubmissionError, match="mine"):
        LocalSubmission.from_source(text).function("f").call([])
    assert settings() == before
