"""Mistakes in what a stack of decoder layers does with memory, and with the arguments of its layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from grader.exercises.decoder.mistakes.collection import LOOP, PAPER, STACK, mistake
from grader.exercises.layers.reference import Steps

Norm = Callable[[Tensor], Tensor] | None
Arguments = Callable[[int, Tensor, Tensor, Any, Any], Sequence[Any]]


def calling(steps: Steps, arguments: Arguments) -> Steps:
    """With other arguments for each layer: made from its number, x, memory and both masks."""

    def through(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
        for i, layer in enumerate(layers):
            x = layer(*arguments(i, x, *rest))
        return x

    return replace(steps, through=through)


@mistake(
    "memory-replaced",
    "Only the first layer gets memory; the later ones get a layer's output in its place. All layers must get "
    "the same memory.",
    formula=LOOP,
    hint="Which variables does the loop change, and which should it change?",
    source=PAPER,
    parts=STACK,
)
def memory_replaced(steps: Steps) -> Steps:
    return calling(steps, lambda i, x, memory, src, tgt: (x, x if i else memory, src, tgt))


@mistake(
    "memory-is-x",
    "The layers get x as memory: they get no information about the source.",
    formula=LOOP,
    hint="What is the second argument of a decoder's layer?",
    source=PAPER,
    parts=STACK,
)
def memory_is_x(steps: Steps) -> list[Steps]:
    def first(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
        return steps.through(layers, x, (x, *rest[1:]))

    return [
        calling(steps, lambda _i, x, _memory, src, tgt: (x, x, src, tgt)),
        replace(steps, through=first),
    ]


@mistake(
    "x-and-memory-exchanged",
    "The layers get memory in the place of x, and x in the place of memory.",
    formula=LOOP,
    hint="Compare the order of the arguments with the layer's forward.",
    parts=STACK,
)
def x_and_memory_exchanged(steps: Steps) -> list[Steps]:
    def once(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
        memory, *masks = rest
        return steps.through(layers, memory, (x, *masks))

    return [
        calling(steps, lambda _i, x, memory, src, tgt: (memory, x, src, tgt)),
        replace(steps, through=once),
    ]


@mistake(
    "stack-memory-normed",
    "The stack's last norm is applied to memory too; layers get memory as it comes.",
    formula=LOOP,
    hint="What does forward do to memory before the loop?",
    parts=STACK,
)
def stack_memory_normed(steps: Steps) -> Steps:
    def normed(norm: Norm, rest: Sequence[Any]) -> Sequence[Any]:
        return rest if norm is None else (norm(rest[0]), *rest[1:])

    return replace(steps, beside=normed)


@mistake(
    "stack-memory-detached",
    "The gradient to memory is cut: the decoder learns, and the encoder behind memory does not.",
    formula=LOOP,
    hint="Look for detach(), .data and torch.no_grad() around memory.",
    parts=STACK,
)
def stack_memory_detached(steps: Steps) -> list[Steps]:
    return [
        calling(steps, lambda _i, x, memory, src, tgt: (x, memory.detach(), src, tgt)),
        calling(steps, lambda i, x, memory, src, tgt: (x, memory.detach() if i else memory, src, tgt)),
    ]


@mistake(
    "stack-memory-changed",
    "memory is changed in place. It belongs to the caller, and the next layer needs it as it was.",
    formula=LOOP,
    hint="Operators like += and methods that end in _ change the tensor itself.",
    parts=STACK,
)
def stack_memory_changed(steps: Steps) -> Steps:
    def changed(_i: int, x: Tensor, memory: Tensor, src: Any, tgt: Any) -> Sequence[Any]:
        memory += memory
        return x, memory, src, tgt

    return calling(steps, changed)
