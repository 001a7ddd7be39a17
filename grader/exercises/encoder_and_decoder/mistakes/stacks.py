"""Mistakes in a stack of layers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from grader.exercises.encoder_and_decoder.mistakes.collection import STACKS, XIONG, mistake
from grader.exercises.encoder_and_decoder.reference import Steps

Make = Callable[[], nn.Module]
LOOP = "for layer in layers: x = layer(x, ...)"
ENDING = "post: out = x; pre: out = norm(x)"


@mistake(
    "layers-not-registered",
    "The layers are stored in a plain list, where PyTorch does not register them: the optimizer gets no "
    "parameters, and .to(device) does not move them.",
    hint="What does list(stack.parameters()) show? Which container registers modules?",
    source="acids-ircam/ddsp_pytorch#37",
    parts=STACKS,
)
def layers_not_registered(steps: Steps) -> Steps:
    return replace(steps, gather=lambda _module, make, count: [make() for _ in range(count)])


def _gathered(steps: Steps, layers: Callable[[Make, int], list[nn.Module]]) -> Steps:
    def gather(module: nn.Module, make: Make, count: int) -> list[nn.Module]:
        module.layers = nn.ModuleList(found := layers(make, count))
        return found

    return replace(steps, gather=gather)


@mistake(
    "one-layer-repeated",
    "make_layer is called once and its layer is used num_layers times, so all layers share their weights. "
    "Call it once per layer.",
    formula="num_layers calls of make_layer()",
    hint="[make_layer()] * 6 contains one object six times.",
    source="IDEA-Research/DAB-DETR#17",
    parts=STACKS,
)
def one_layer_repeated(steps: Steps) -> Steps:
    return _gathered(steps, lambda make, count: [make()] * count)


@mistake(
    "layers-copied",
    "Layers are copied (deepcopy), so all start with the same weights. make_layer returns a new layer at "
    "each call; use these layers.",
    formula="num_layers calls of make_layer()",
    hint="Is there a deepcopy?",
    source="harvardnlp/annotated-transformer#9; pytorch/torchtune#2270",
    parts=STACKS,
)
def layers_copied(steps: Steps) -> list[Steps]:
    def once(make: Make, count: int) -> list[nn.Module]:
        layer = make()
        return [copy.deepcopy(layer) for _ in range(count)]

    def first(make: Make, count: int) -> list[nn.Module]:
        layer = make()
        return [layer, *(copy.deepcopy(layer) for _ in range(count - 1))]

    return [
        _gathered(steps, once),
        _gathered(steps, first),
        _gathered(steps, lambda make, count: [copy.deepcopy(make()) for _ in range(count)]),
    ]


@mistake(
    "layers-not-kept",
    "The layers are not stored, or never called: the stack returns its input, at most normalized.",
    formula=LOOP,
    hint="What does the list of layers contain when forward loops over it?",
    parts=STACKS,
)
def layers_not_kept(steps: Steps) -> Steps:
    def none(make: Make, count: int) -> list[nn.Module]:
        for _ in range(count):
            make()
        return []

    return _gathered(steps, none)


@mistake(
    "layer-count",
    "The stack does not have num_layers layers.",
    formula="num_layers calls of make_layer()",
    hint="range(n) gives n numbers; range(1, n) gives one less.",
    parts=STACKS,
)
def layer_count(steps: Steps) -> list[Steps]:
    return [
        _gathered(steps, lambda make, count: [make() for _ in range(count - 1)]),
        _gathered(steps, lambda make, count: [make() for _ in range(count + 1)]),
        _gathered(steps, lambda make, count: [make() for _ in range(min(count, 1))]),
    ]


def _through(steps: Steps, through: Callable[[Sequence[nn.Module], Tensor, Sequence[Any]], Any]) -> Steps:
    return replace(steps, through=through)


@mistake(
    "loop-forgets",
    "Every layer gets the stack's input, so only the last layer has an effect; each must get the result of "
    "the layer before it.",
    formula=LOOP,
    hint="Which variable is passed to the layer, and which one stores its result?",
    parts=STACKS,
)
def loop_forgets(steps: Steps) -> Steps:
    def through(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
        out: Any = x
        for layer in layers:
            out = layer(x, *rest)
        return out

    return _through(steps, through)


@mistake(
    "returns-inside-loop",
    "The stack returns after its first layer: the return is inside the loop.",
    formula=LOOP,
    hint="How far is the return indented?",
    parts=STACKS,
)
def returns_inside_loop(steps: Steps) -> Steps:
    return _through(steps, lambda layers, x, rest: layers[0](x, *rest))


@mistake(
    "layers-in-reverse",
    "The layers are applied in reverse order.",
    formula=LOOP,
    hint="Which layer gets the input first?",
    parts=STACKS,
)
def layers_in_reverse(steps: Steps) -> Steps:
    return _through(steps, lambda layers, x, rest: steps.through(layers[::-1], x, rest))


@mistake(
    "residual-around-layers",
    "The stack adds each layer's input to its output; the layers already contain their residual sums.",
    formula=LOOP,
    hint="Is there a + x in the loop?",
    parts=STACKS,
)
def residual_around_layers(steps: Steps) -> Steps:
    def through(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
        for layer in layers:
            x = x + layer(x, *rest)
        return x

    return _through(steps, through)


@mistake(
    "stack-mask-not-passed",
    "The mask of self-attention is not passed to the layers, or not to all of them.",
    formula=LOOP,
    hint="Is the mask passed in the call of every layer?",
    source="DaoyuanLi2816/Molecule-Generator#22",
    parts=STACKS,
)
def stack_mask_not_passed(steps: Steps) -> list[Steps]:
    def without(places: Callable[[int], bool]) -> Steps:
        def through(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
            for i, layer in enumerate(layers):
                x = layer(x, *rest[:-1], None) if places(i) else layer(x, *rest)
            return x

        return _through(steps, through)

    return [without(lambda _i: True), without(lambda i: i > 0)]


@mistake(
    "final-norm-missing",
    "A pre-norm stack has no final norm, so the sum of all its layers is not normalized.",
    formula=ENDING,
    hint="In pre-norm, which norm is applied to the last layer's output?",
    source=XIONG,
    parts=STACKS,
)
def final_norm_missing(steps: Steps) -> list[Steps]:
    return [
        replace(steps, final=lambda _placement: False),
        replace(steps, ending=lambda _norm, _given, out: out),
    ]


@mistake(
    "final-norm-too-many",
    "A post-norm stack has a final norm; its last layer has already normalized the result. Only a pre-norm "
    "stack needs one.",
    formula=ENDING,
    hint="What is the last thing that a post-norm layer does?",
    source="pytorch/pytorch#50086; hkproj/pytorch-transformer#32",
    parts=STACKS,
)
def final_norm_too_many(steps: Steps) -> Steps:
    return replace(steps, final=lambda _placement: True)


@mistake(
    "final-norm-exchanged",
    "The post-norm stack has a final norm, and the pre-norm stack has none; it must be the other way round.",
    formula=ENDING,
    hint="Which of the two ends with a sum that is not normalized?",
    source=XIONG,
    parts=STACKS,
)
def final_norm_exchanged(steps: Steps) -> Steps:
    return replace(steps, final=lambda placement: placement != "pre")


@mistake(
    "stack-default-is-pre",
    "Without the argument `norm`, the stack uses pre-norm, with a final norm; the default must be post-norm.",
    formula='norm="post"',
    hint="Compare the signature with the template's.",
    parts=STACKS,
)
def stack_default_is_pre(steps: Steps) -> Steps:
    return replace(steps, stack_placement=lambda given: given or "pre")


@mistake(
    "final-norm-before-layers",
    "The final norm is applied before the first layer; it comes after the last one.",
    formula=ENDING,
    hint="What does the stack return?",
    parts=STACKS,
)
def final_norm_before_layers(steps: Steps) -> Steps:
    return replace(
        steps,
        entering=lambda norm, x: x if norm is None else norm(x),
        ending=lambda _norm, _given, out: out,
    )


@mistake(
    "final-norm-of-input",
    "The final norm is applied to the stack's input, so the output of the layers is lost.",
    formula=ENDING,
    hint="Which variable is passed to the final norm?",
    parts=STACKS,
)
def final_norm_of_input(steps: Steps) -> Steps:
    return replace(steps, ending=lambda norm, given, out: out if norm is None else norm(given))


@mistake(
    "final-norm-in-loop",
    "The final norm is applied after every layer; apply it once, after the last one.",
    formula=ENDING,
    hint="How far is the line with the final norm indented?",
    source=XIONG,
    parts=STACKS,
)
def final_norm_in_loop(steps: Steps) -> list[Steps]:
    each = replace(steps, between=lambda norm, x: x if norm is None else norm(x))
    return [replace(each, ending=lambda _norm, _given, out: out), each]


@mistake(
    "layers-made-in-forward",
    "The layers are created in every call of forward: none is registered, and none ever learns.",
    formula="num_layers calls of make_layer()",
    hint="Where is make_layer called, in __init__ or in forward?",
    parts=STACKS,
)
def layers_made_in_forward(steps: Steps) -> Steps:
    class Anew(list[nn.Module]):
        def __init__(self, make: Make, count: int) -> None:
            super().__init__()
            self.make, self.number = make, count

        def __iter__(self) -> Iterator[nn.Module]:
            return iter([self.make() for _ in range(self.number)])

    return replace(steps, gather=lambda _module, make, count: Anew(make, count))


@mistake(
    "stack-mask-inverted",
    "The layers get an inverted mask. True means that a key may be attended to. Pass the mask on unchanged.",
    formula=LOOP,
    hint="Is there a ~ or a `== 0` around the mask?",
    source="pytorch/pytorch#120668; lucidrains/x-transformers#164",
    parts=STACKS,
)
def stack_mask_inverted(steps: Steps) -> list[Steps]:
    def turned(turn: Callable[[Tensor], Tensor]) -> Steps:
        def through(layers: Sequence[nn.Module], x: Tensor, rest: Sequence[Any]) -> Any:
            *others, mask = rest
            return steps.through(layers, x, (*others, None if mask is None else turn(mask)))

        return _through(steps, through)

    return [turned(lambda mask: mask == 0), turned(lambda mask: ~mask)]


@mistake(
    "stack-gradient-cut",
    "The stack blocks the gradient, so the layers cannot learn.",
    hint="Look for detach(), .data and torch.no_grad() in forward.",
    parts=STACKS,
)
def stack_gradient_cut(steps: Steps) -> list[Steps]:
    return [replace(steps, through=lambda layers, x, rest: steps.through(layers, x, rest).detach())]
