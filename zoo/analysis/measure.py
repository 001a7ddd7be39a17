"""The cost of a model: FLOPs, time, peak memory; and how far its logits are from those of another."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.benchmark import Timer
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

from zoo.models.transformer import Model

Step = Callable[[], object]
LEAST_SECONDS = 0.05
"""A round repeats what is measured until it takes about as long as this."""


def _fused_on_cpu(query: Sequence[int], key: Sequence[int], value: Sequence[int], *_: Any, **__: Any) -> int:
    return int(sdpa_flop_count(query, key, value))


UNCOUNTED = {torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: _fused_on_cpu}
"""torch counts its fused attention kernels on CUDA, but not the one on the CPU."""


def count_flops(model: nn.Module, *inputs: Tensor) -> int:
    """Floating-point operations of one forward pass: matrix products, also those in fused attention kernels.

    Counted in train mode with gradients, as kernels for inference count for nothing.
    """
    model.train()
    with torch.enable_grad(), FlopCounterMode(display=False, custom_mapping=UNCOUNTED) as counter:
        model(*inputs)
    return int(counter.get_total_flops())


def time_interleaved(functions: Sequence[Step], rounds: int, on_time: Callable[[], object]) -> list[float]:
    """Median seconds of each function, one thread on the CPU.

    All functions are measured once in every round, so that a machine that gets slower hits all alike.
    `on_time` is called whenever one has been.
    """
    timers = [Timer("f()", globals={"f": function}, num_threads=1) for function in functions]
    numbers = [max(1, round(LEAST_SECONDS / max(timer.timeit(1).mean, 1e-6))) for timer in timers]
    times: list[list[float]] = [[] for _ in timers]
    for _ in range(rounds):
        for timer, number, taken in zip(timers, numbers, times, strict=True):
            taken.append(timer.timeit(number).mean)  # waits for the device
            on_time()
    return [statistics.median(taken) for taken in times]


def peak_memory(step: Step, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> int:
    """Most bytes in use during a training step: parameters, optimizer state, gradients, activations.

    On CUDA what torch's allocator held at most, on the CPU the same, added up from its log of every
    allocation. The step is taken once before, so that the optimizer's state is there.
    """
    step()
    optimizer.zero_grad(set_to_none=True)
    standing = sum(tensor.numel() * tensor.element_size() for tensor in _standing(model, optimizer))
    if device.type != "cuda":
        return standing + _peak_of_log(step)
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    step()
    torch.cuda.synchronize(device)
    return standing + torch.cuda.max_memory_allocated(device) - before


def _standing(model: nn.Module, optimizer: torch.optim.Optimizer) -> Iterator[Tensor]:
    states = (value for state in optimizer.state.values() for value in state.values())
    return chain(
        model.parameters(), model.buffers(), (value for value in states if isinstance(value, Tensor))
    )


def _peak_of_log(step: Step) -> int:
    os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # the profiler talks on standard error otherwise
    with torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True
    ) as profile:
        step()
    events = profile.profiler.kineto_results.events()
    log = sorted((event.start_ns(), event.nbytes()) for event in events if event.name() == "[memory]")
    now = most = 0
    for _, change in log:
        now += change
        most = max(most, now)
    return most


def largest_difference(model: Model, other: Model, *inputs: Tensor) -> float:
    """Largest absolute difference of what both give, in eval mode, once `other` has the weights of `model`.

    The output at padding of the last input, the one that is answered position by position, is meaningless and left
    out.
    """
    other.load_state_dict(model.state_dict())
    model.eval()
    other.eval()
    with torch.no_grad():
        difference = (model(*inputs) - other(*inputs)).abs()
    real = model.masking.real(inputs[-1]) if model.reads == "tokens" else None
    return float(difference.max() if real is None else difference[real].max())
