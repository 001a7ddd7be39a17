"""Mistakes that no single right answer shows: inputs changed, memory kept, parameters out of reach."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.attention.mistakes.collection import CLASS, mistake
from grader.exercises.attention.reference import Call, Steps


@mistake(
    "input-changed-in-place",
    "An input tensor is modified in place (`/=`, `*=`, `mul_`, ...). That changes the caller's tensor, and "
    "everything that uses it later, such as the residual connection.",
    hint="Use q = q / n, not q /= n; functions that end in an underscore work in place.",
)
def input_changed_in_place(steps: Steps) -> list[Steps]:
    def scaled(call: Call) -> Call:
        call.query.div_(call.query.size(-1) ** 0.5)
        return call

    def key_scaled(call: Call) -> Call:
        call.key.div_(call.key.size(-1) ** 0.5)
        return call

    def after_a_copy(index: int) -> Steps:
        """The result is that of the untouched inputs."""

        def copied(call: Call) -> Call:
            wanted = steps.prepare(call.taking([x.clone() for x in call.inputs]))
            call.inputs[index].add_(1.0)
            return wanted

        return replace(steps, prepare=copied)

    unscaled = replace(steps, scale=lambda _call, s, _q, _k: s)
    return [
        *(after_a_copy(index) for index in range(3)),
        replace(unscaled, prepare=scaled),
        replace(unscaled, prepare=key_scaled),
    ]


@mistake(
    "mask-changed-in-place",
    "The mask argument is modified in place, so the next layer gets a different mask.",
    hint="Create a new tensor; functions that end in an underscore work in place.",
)
def mask_changed_in_place(steps: Steps) -> list[Steps]:
    def inverted(call: Call) -> Call:
        if call.mask is None or call.mask.dtype != torch.bool:
            return call
        wanted = replace(call, mask=call.mask.clone())
        call.mask.logical_not_()
        return wanted

    def clamped(call: Call) -> Call:
        if call.mask is not None and call.mask.dtype != torch.bool:
            call.mask.clamp_(min=-1e9)
        return call

    return [replace(steps, prepare=inverted), replace(steps, prepare=clamped)]


@mistake(
    "remembers-first-mask",
    "The mask of an earlier call is stored and used again. A call must depend on its own arguments only.",
    hint="Look for attributes of self, and for globals, that are set during forward.",
    parts=CLASS,
)
def remembers_first_mask(steps: Steps) -> list[Steps]:
    def keep_first(call: Call) -> Call:
        first = call.memory.setdefault("mask", call.mask)
        return replace(call, mask=first)

    def keep_first_given(call: Call) -> Call:
        if call.mask is not None:
            call.memory.setdefault("mask", call.mask)
        return replace(call, mask=call.memory.get("mask"))

    return [replace(steps, prepare=keep_first), replace(steps, prepare=keep_first_given)]


@mistake(
    "remembers-keys",
    "Keys and values of an earlier call are stored and used again. A call must depend on its own arguments "
    "only.",
    hint="Look for attributes of self, and for globals, that are set during forward.",
    parts=CLASS,
)
def remembers_keys(steps: Steps) -> list[Steps]:
    def keep_first(call: Call) -> Call:
        key, value = call.memory.setdefault("kv", (call.key, call.value))
        return replace(call, key=key, value=value)

    def growing(call: Call) -> Call:
        key, value = call.memory.get("kv", (call.key[:, :0], call.value[:, :0]))
        call.memory["kv"] = torch.cat([key, call.key], 1).detach(), torch.cat([value, call.value], 1).detach()
        return replace(call, key=torch.cat([key, call.key], 1), value=torch.cat([value, call.value], 1))

    return [replace(steps, prepare=keep_first), replace(steps, prepare=growing)]


@mistake(
    "parameters-not-registered",
    "Not all parameters are registered with the module. Layers in a plain Python list or dict are not "
    "found by the optimizer, by `.to(device)` and by `state_dict()`.",
    hint="Use nn.ModuleList, nn.ParameterList, or plain attributes of the module.",
    source="acids-ircam/ddsp_pytorch#37",
    parts=CLASS,
)
def parameters_not_registered(steps: Steps) -> Steps:
    return replace(steps, registered=False)


@mistake(
    "random-result",
    "The same input and the same weights give a different result every time, although nothing should be "
    "random: noise is added, or layers are created in forward.",
    hint="Create layers in __init__; look for rand and randn in forward.",
    parts=CLASS,
)
def random_result(steps: Steps) -> list[Steps]:
    def noisy(call: Call, x: Tensor) -> Tensor:
        return steps.finish(call, x) + 0.1 * torch.randn_like(x)

    return [replace(steps, finish=noisy)]


@mistake.fixed_device()
def device_hard_coded(steps: Steps) -> Steps:
    def scale(call: Call, scores: Tensor, q: Tensor, k: Tensor) -> Tensor:
        return steps.scale(call, scores, q, k) + torch.zeros(scores.shape[-2:], dtype=scores.dtype)

    return replace(steps, scale=scale)
