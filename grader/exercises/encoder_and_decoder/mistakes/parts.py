"""Mistakes in what is done with the parts that are handed in, with self-attention's mask, and in the order of all."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace

from torch import Tensor, nn

from grader.exercises.encoder_and_decoder.mistakes.collection import BOTH, EVERYWHERE, LAYERS, PAPER, mistake
from grader.exercises.encoder_and_decoder.reference import Call, Place, Steps


@mistake(
    "part-copied",
    "Copies of the modules that are passed in are used. Use the modules themselves: the caller may share, "
    "load or train them.",
    hint="Is there a deepcopy in __init__?",
    source="harvardnlp/annotated-transformer#9; pytorch/pytorch#86274",
    parts=LAYERS,
)
def part_copied(steps: Steps) -> list[Steps]:
    def copied(*names: str) -> Steps:
        def keep(module: nn.Module, name: str, part: nn.Module) -> None:
            chosen = not names or name.removesuffix("_part") in names
            steps.keep(module, name, copy.deepcopy(part) if chosen else part)

        return replace(steps, keep=keep)

    return [copied(), *(copied(name) for name in steps.order)]


@mistake(
    "part-not-registered",
    "Modules are stored in a plain list, tuple or dict, where PyTorch does not register them: their "
    "parameters are not among the layer's, so no optimizer trains them.",
    hint="Does list(layer.parameters()) contain those of the sublayers?",
    source="acids-ircam/ddsp_pytorch#37",
    parts=LAYERS,
)
def part_not_registered(steps: Steps) -> list[Steps]:
    def hidden(*names: str) -> Steps:
        def keep(module: nn.Module, name: str, part: nn.Module) -> None:
            if not names or name.removesuffix("_part") in names:
                object.__setattr__(module, name, part)
            else:
                steps.keep(module, name, part)

        return replace(steps, keep=keep)

    return [hidden(), *(hidden(name) for name in steps.order)]


@mistake(
    "parts-reset",
    "The weights of modules that are passed in, or of layers that make_layer returned, are initialized "
    "again; they must be kept.",
    hint="Whose parameters does a loop over self.parameters() in __init__ contain?",
    parts=EVERYWHERE,
)
def parts_reset(steps: Steps) -> list[Steps]:
    def all_matrices(module: nn.Module) -> None:
        for p in module.parameters():
            if p.dim() > 1:
                nn.init.ones_(p)

    def linear_layers(module: nn.Module) -> None:
        for one in module.modules():
            if isinstance(one, nn.Linear):
                nn.init.ones_(one.weight)

    return [replace(steps, prepare=all_matrices), replace(steps, prepare=linear_layers)]


@mistake(
    "mask-not-passed",
    "The mask is not passed to self-attention, so it attends to positions that it must not see.",
    formula="self_attention(q, k, v, mask)",
    hint="Follow the mask from forward's arguments to the attention.",
    source="DaoyuanLi2816/Molecule-Generator#22",
    parts=LAYERS,
)
def mask_not_passed(steps: Steps) -> Steps:
    return replace(steps, call=lambda call: replace(steps.call(call), self_mask=None))


def _turned(steps: Steps, turn: Callable[[Tensor], Tensor]) -> Steps:
    """With something done to self-attention's mask, where there is one."""

    def called(call: Call) -> Call:
        given = steps.call(call)
        return replace(given, self_mask=None if given.self_mask is None else turn(given.self_mask))

    return replace(steps, call=called)


@mistake(
    "mask-inverted",
    "Self-attention gets an inverted mask. True means that a key may be attended to. Pass the mask on "
    "unchanged.",
    formula="self_attention(q, k, v, mask)",
    hint="Is there a ~ or a `== 0` around the mask?",
    source="pytorch/pytorch#120668; lucidrains/x-transformers#164",
    parts=LAYERS,
)
def mask_inverted(steps: Steps) -> list[Steps]:
    return [_turned(steps, lambda mask: mask == 0), _turned(steps, lambda mask: ~mask)]


@mistake(
    "mask-converted",
    "Self-attention gets the mask as the numbers 1 and 0, or in another shape. Pass it on unchanged, "
    "whatever its form.",
    formula="self_attention(q, k, v, mask)",
    hint="What does your layer do to the mask before it passes it on?",
    source="pytorch/pytorch#29546",
    parts=LAYERS,
)
def mask_converted(steps: Steps) -> list[Steps]:
    return [
        _turned(steps, lambda mask: mask.float()),
        _turned(steps, lambda mask: mask.int()),
        _turned(steps, lambda mask: mask.long()),
        _turned(steps, lambda mask: mask.bool()),
        _turned(steps, lambda mask: mask.unsqueeze(1)),
        _turned(steps, lambda mask: (1.0 - mask.float()) * -1e9),
    ]


@mistake(
    "feed-forward-before-attention",
    "The feed-forward network comes before self-attention; it must be the last sublayer.",
    hint="In which order does figure 1 of the paper show the sublayers?",
    source=PAPER,
    parts=LAYERS,
)
def feed_forward_before_attention(steps: Steps) -> Steps:
    return replace(steps, order=("feed", *(name for name in steps.order if name != "feed")))


def _skipping(steps: Steps, name: str) -> Steps:
    """Without one sublayer, its residual sum and its norm."""

    def skipped(usual: Place) -> Place:
        return lambda s, call, i, one, x, given: x if one == name else usual(s, call, i, one, x, given)

    return replace(steps, pre=skipped(steps.pre), post=skipped(steps.post))


@mistake(
    "self-attention-missing",
    "The self-attention sublayer is missing, with its residual sum and norm.",
    formula=BOTH,
    hint="Is the result of every sublayer used in the next line?",
    source=PAPER,
    parts=LAYERS,
)
def self_attention_missing(steps: Steps) -> Steps:
    return _skipping(steps, "self")


@mistake(
    "feed-forward-missing",
    "The feed-forward sublayer is missing, with its residual sum and norm.",
    formula=BOTH,
    hint="Is the result of every sublayer used in the next line?",
    source=PAPER,
    parts=LAYERS,
)
def feed_forward_missing(steps: Steps) -> Steps:
    return _skipping(steps, "feed")
