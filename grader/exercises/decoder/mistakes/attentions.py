"""Mistakes in what the two attentions are given as keys and values, and in which of them is which."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torch import Tensor

from grader.exercises.decoder.mistakes.collection import CROSS, LAYER, ORDER, PAPER, SELF, mistake
from grader.exercises.encoder_and_decoder.reference import Call, Steps


def _memory(call: Call) -> Tensor:
    assert call.memory is not None
    return call.memory


def _asking(steps: Steps, cross: Callable[[Call, Tensor, Tensor], Tensor]) -> Steps:
    """With another cross-attention, of the call, the decoder's states and memory."""
    return replace(steps, cross=lambda call, h: cross(call, h, _memory(call)))


@mistake(
    "keys-and-values-from-decoder",
    "Cross-attention takes keys and values from the decoder's own states: it is a second self-attention, "
    "and the decoder gets no information about the source. Both must come from memory.",
    formula=CROSS,
    hint="Where do the keys and values of cross-attention come from?",
    source=PAPER,
    parts=LAYER,
)
def keys_and_values_from_decoder(steps: Steps) -> list[Steps]:
    def pre(s: Steps, call: Call, i: int, name: str, x: Tensor, given: Tensor) -> Tensor:
        if name != "cross":
            return steps.pre(s, call, i, name, x, given)
        return x + s.drop(call, name, call.parts[name](s.norm(call, i, x), x, x, call.cross_mask))

    own = [
        _asking(steps, lambda call, h, _m: call.parts["cross"](h, h, h, call.cross_mask)),
        _asking(steps, lambda call, h, _m: call.parts["cross"](h, h, h, call.self_mask)),
        _asking(steps, lambda call, h, _m: call.parts["cross"](h, h, h)),
    ]
    return [*own, replace(own[0], pre=pre)]


@mistake(
    "keys-from-decoder",
    "Cross-attention takes its keys from the decoder's own states, and only its values from memory; both "
    "must come from memory.",
    formula=CROSS,
    hint="Which three arguments does cross_attention get, one by one?",
    source=PAPER,
    parts=LAYER,
)
def keys_from_decoder(steps: Steps) -> Steps:
    return _asking(steps, lambda call, h, m: call.parts["cross"](h, h, m, call.cross_mask))


@mistake(
    "values-from-decoder",
    "Cross-attention takes its values from the decoder's own states, and only its keys from memory; both "
    "must come from memory.",
    formula=CROSS,
    hint="Which three arguments does cross_attention get, one by one?",
    source=PAPER,
    parts=LAYER,
)
def values_from_decoder(steps: Steps) -> Steps:
    return _asking(steps, lambda call, h, m: call.parts["cross"](h, m, h, call.cross_mask))


@mistake(
    "query-from-memory",
    "The query of cross-attention is memory; it must come from the decoder. The output has one row per "
    "query, so it would have the length of the source, not of the target.",
    formula=CROSS,
    hint="How many rows does the output of cross-attention have, and how many does x have? Which argument comes "
    "first?",
    source=PAPER,
    parts=LAYER,
)
def query_from_memory(steps: Steps) -> list[Steps]:
    return [
        _asking(steps, lambda call, h, m: call.parts["cross"](m, h, h, call.cross_mask)),
        _asking(steps, lambda call, h, m: call.parts["cross"](m, m, h, call.cross_mask)),
        _asking(steps, lambda call, h, m: call.parts["cross"](m, h, m, call.cross_mask)),
        _asking(steps, lambda call, _h, m: call.parts["cross"](m, m, m, call.cross_mask)),
    ]


@mistake(
    "memory-normed",
    "memory is normalized before cross-attention. It must be used unchanged: the encoder has normalized "
    "it, and in pre-norm only the query is normalized.",
    formula=f"pre: x = x + drop({CROSS.replace('query', 'norm(x)')})",
    hint="Which of the three arguments of cross_attention go through a norm?",
    parts=LAYER,
)
def memory_normed(steps: Steps) -> list[Steps]:
    own = len(steps.order)  # a norm more than the layer has sublayers

    def normed(norm: int, *, keys: bool = True, post: bool = False) -> Steps:
        def cross(call: Call, h: Tensor) -> Tensor:
            if call.placement != "pre" and not post:
                return steps.cross(call, h)
            m = steps.norm(call, norm, _memory(call))
            return call.parts["cross"](h, m if keys else call.memory, m, call.cross_mask)

        changed = replace(steps, cross=cross)
        return replace(changed, count=lambda n, place: n + (place == "pre")) if norm == own else changed

    return [normed(1), normed(1, post=True), normed(0), normed(own), normed(1, keys=False)]


@mistake(
    "memory-detached",
    "No gradient flows back to memory, so the decoder learns, and the encoder does not.",
    formula=CROSS,
    hint="Look for detach(), .data and torch.no_grad() around memory.",
    parts=LAYER,
)
def memory_detached(steps: Steps) -> list[Steps]:
    def cut(keys: bool, values: bool) -> Steps:
        def cross(call: Call, h: Tensor, m: Tensor) -> Tensor:
            key, value = (m.detach() if one else m for one in (keys, values))
            return call.parts["cross"](h, key, value, call.cross_mask)

        return _asking(steps, cross)

    return [cut(True, True), cut(True, False), cut(False, True)]


@mistake(
    "memory-changed",
    "memory is modified in place. The next layer needs it unchanged.",
    formula=CROSS,
    hint="Operators like += and methods that end in _ modify the tensor itself.",
    parts=LAYER,
)
def memory_changed(steps: Steps) -> list[Steps]:
    def added(call: Call, h: Tensor, m: Tensor) -> Tensor:
        out = call.parts["cross"](h, m, m, call.cross_mask)
        m += m
        return out

    def centred(call: Call, h: Tensor, m: Tensor) -> Tensor:
        m -= m.mean(-1, keepdim=True)
        return call.parts["cross"](h, m, m, call.cross_mask)

    return [_asking(steps, added), _asking(steps, centred)]


@mistake(
    "self-attention-over-memory",
    "Self-attention takes keys and values from memory, as cross-attention does, so the positions of the "
    "target never attend to each other.",
    formula=SELF,
    hint="Where do query, key and value of self-attention come from?",
    source=PAPER,
    parts=LAYER,
)
def self_attention_over_memory(steps: Steps) -> list[Steps]:
    def over(mask: Callable[[Call], Tensor | None]) -> Steps:
        return replace(
            steps,
            attend=lambda call, h: call.parts["self"](h, _memory(call), _memory(call), mask(call)),
        )

    return [over(lambda call: call.cross_mask), over(lambda call: call.self_mask), over(lambda _call: None)]


@mistake(
    "attentions-exchanged",
    "The part passed as self_attention is used for cross-attention, and vice versa.",
    formula=ORDER,
    hint="Follow both arguments from __init__ to forward.",
    parts=LAYER,
)
def attentions_exchanged(steps: Steps) -> Steps:
    def exchanged(call: Call) -> Call:
        given = steps.call(call)
        parts = {**given.parts, "self": given.parts["cross"], "cross": given.parts["self"]}
        return replace(given, parts=parts)

    return replace(steps, call=exchanged)


@mistake(
    "one-attention-for-both",
    "One of the two attentions is called twice, and the other one never. They have different weights.",
    formula=ORDER,
    hint="Which module is called in the second sublayer?",
    parts=LAYER,
)
def one_attention_for_both(steps: Steps) -> list[Steps]:
    def using(name: str) -> Steps:
        def called(call: Call) -> Call:
            given = steps.call(call)
            return replace(
                given, parts={**given.parts, "self": given.parts[name], "cross": given.parts[name]}
            )

        return replace(steps, call=called)

    return [using("self"), using("cross")]
