"""Mistakes in what a stack of decoder layers does with memory, and with the arguments of its layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from grader.exercises.decoder.mistakes.collection import LOOP, PAPER, STACK, mistake
from grader.exercises.encoder_and_decoder.reference import Steps

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
    "Only the first layer gets memory; later layers get the previous layer's output instead. All layers "
    "must get the same memory.",
    formula=LOOP,
    hint="Which variables does the loop change, and which should it change?",
    source=PAPER,
    parts=STACK,
)
def memory_replaced(steps: Steps) -> Steps:
    return calling(steps, lambda i, x, memory, src, tgt: (x, x if i else memory, src, tgt))


@mistake(
    "memory-is-x",
    "The layers get x as memory, so they get no information about the source.",
    formula=LOOP,
    hint="What is the second argument of a decoder layer?",
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
    "The layers get memory as x, and x as memory.",
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
    "memory is normalized by the stack's final norm; the layers must get it unchanged.",
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
    "No gradient flows back to memory, so the decoder learns, and the encoder does not.",
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
    "memory is modified in place. The next layer needs it unchanged.",
    formula=LOOP,
    hint="Operators like += and methods that end in _ modify the tensor itself.",
    parts=STACK,
)
def stack_memory_changed(steps: Steps) -> Steps:
    def changed(_i: int, x: Tensor, memory: Tensor, src: Any, tgt: Any) -> Sequence[Any]:
        memory += memory
        return x, memory, src, tgt

    return calling(steps, changed)
