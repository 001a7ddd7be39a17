"""Mistakes with the parts that are handed in, and with the projection's parameters."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from grader.api import Wanted
from grader.exercises.transformer.mistakes.collection import DECODE, mistake
from grader.exercises.transformer.reference import PARTS, Call, Steps, wanted


class _Unregistered:
    """Holds modules without registering them."""

    def __init__(self, parts: Mapping[str, nn.Module]) -> None:
        self.parts = parts


@mistake(
    "parts-not-registered",
    "Modules are stored in a plain list or dict, where PyTorch does not register their parameters, so no "
    "optimizer would train them.",
    formula="self.encoder = encoder",
    hint="Print the names of your model's parameters. Which are missing?",
    source="acids-ircam/ddsp_pytorch#37; IDEA-Research/DAB-DETR#17",
)
def parts_not_registered(steps: Steps) -> list[Steps]:
    def hiding(*names: str) -> Steps:
        def keep(module: nn.Module, parts: Mapping[str, nn.Module]) -> None:
            steps.keep(module, {n: p for n, p in parts.items() if n not in names})
            for name in names:
                object.__setattr__(module, name, parts[name])

        return replace(steps, keep=keep)

    return [
        hiding(*PARTS),
        hiding("encoder", "decoder"),
        hiding("src_embed", "tgt_embed"),
        hiding("positions"),
    ]


@mistake(
    "parts-copied",
    "Modules that are passed in are copied. The caller still uses the originals, and a copy does not "
    "follow their changes; store the modules themselves.",
    formula="self.encoder = encoder",
    hint="Does your file use deepcopy?",
)
def parts_copied(steps: Steps) -> list[Steps]:
    def copying(*names: str) -> Steps:
        def keep(module: nn.Module, parts: Mapping[str, nn.Module]) -> None:
            steps.keep(module, {n: copy.deepcopy(p) if n in names else p for n, p in parts.items()})

        return replace(steps, keep=keep)

    return [copying(*PARTS), copying("encoder", "decoder"), copying("src_embed", "tgt_embed")]


@mistake(
    "parts-initialised-again",
    "__init__ initializes the weights of the modules that are passed in (a loop over self.parameters() "
    "includes theirs). Their weights may already be trained.",
    formula="only the projection is new",
    hint="Whose parameters are in self.parameters() when your loop runs?",
    source="harvardnlp/annotated-transformer, make_model",
)
def parts_initialised(steps: Steps) -> list[Steps]:
    def prepare_with(value: float) -> Steps:
        def prepare(module: nn.Module) -> None:
            steps.prepare(module)
            with torch.no_grad():
                for part in PARTS:
                    for parameter in getattr(module, part).parameters():
                        parameter.fill_(value)

        return replace(steps, prepare=prepare)

    def linear_layers(module: nn.Module) -> None:
        steps.prepare(module)
        for one in module.modules():
            if isinstance(one, nn.Linear):
                nn.init.ones_(one.weight)

    return [prepare_with(0.02), replace(steps, prepare=linear_layers)]


@mistake(
    "projection-missing",
    "There is no projection to the vocabulary: hidden vectors of size d_model are returned instead of "
    "logits.",
    formula=DECODE,
    hint="How many logits does each position need, to choose among V words?",
    source="Attention Is All You Need, section 3.4",
)
def projection_missing(steps: Steps) -> list[Steps]:
    return [
        replace(steps, shapes=lambda *_: [], project=lambda _call, x: x),
        replace(steps, project=lambda _call, x: x),
    ]


@mistake(
    "projection-wrong-size",
    "The projection does not have tgt_vocab outputs but d_model, or the source's vocabulary. Words of the "
    "target are predicted.",
    formula="head: d_model -> tgt_vocab",
    hint="Print the shape of your projection's weight.",
    source="Attention Is All You Need, section 3.4",
)
def projection_wrong_size(steps: Steps) -> list[Steps]:
    def to_source(d_model: int, _vocab: int, embed: nn.Module) -> list[Wanted]:
        size = getattr(embed, "num_embeddings", d_model)
        return wanted(d_model, size)

    return [
        replace(steps, shapes=lambda d_model, _vocab, _embed: wanted(d_model, d_model)),
        replace(steps, shapes=to_source),
        replace(steps, shapes=lambda d_model, vocab, _embed: wanted(d_model, vocab + 1)),
    ]


@mistake(
    "projection-tied",
    "The projection shares its weight with an embedding. Some models do so; here it has its own weight.",
    formula="head: d_model -> tgt_vocab, learned",
    hint="Is one parameter of your model used in two places?",
    source="Attention Is All You Need, section 3.4 (which ties them); EdinburghNLP/nematus#117, "
    "lucidrains/x-transformers#154",
)
def projection_tied(steps: Steps) -> list[Steps]:
    def tied(call: Call, x: Tensor) -> Tensor:
        return x @ next(iter(_embed(call).parameters())).T

    def with_bias(call: Call, x: Tensor) -> Tensor:
        return tied(call, x) + call.weights["head.bias"]

    return [
        replace(steps, shapes=lambda *_: [], project=tied),
        replace(steps, shapes=lambda d, v, _embed: wanted(d, v)[1:], project=with_bias),
    ]


def _embed(call: Call) -> nn.Module:
    found = call.module.tgt_embed
    assert isinstance(found, nn.Module)
    return found


@mistake(
    "projection-frozen",
    "The projection's weight is not trained (requires_grad is False).",
    formula="head: d_model -> tgt_vocab, learned",
    hint="Search for requires_grad, detach and buffers.",
)
def projection_frozen(steps: Steps) -> Steps:
    return replace(steps, trained=False)


@mistake(
    "more-parameters",
    "The model has more trainable parameters than the projection: a second layer before the vocabulary, or "
    "an extra layer norm.",
    formula=DECODE,
    hint="Print named_parameters(): which of them do not belong to a module that is passed in?",
)
def more_parameters(steps: Steps) -> list[Steps]:
    def deeper(d_model: int, vocab: int, embed: nn.Module) -> list[Wanted]:
        extra = [Wanted("deep.weight", (d_model, d_model)), Wanted("deep.bias", (d_model,))]
        return [*extra, *steps.shapes(d_model, vocab, embed)]

    def project(call: Call, x: Tensor) -> Tensor:
        hidden = x @ call.weights["deep.weight"].T + call.weights["deep.bias"]
        return steps.project(call, hidden.relu())

    def gained(d_model: int, vocab: int, embed: nn.Module) -> list[Wanted]:
        norm = [Wanted("norm.gain", (d_model,)), Wanted("norm.shift", (d_model,))]
        return [*norm, *steps.shapes(d_model, vocab, embed)]

    def normed(call: Call, x: Tensor) -> Tensor:
        gain, shift = call.weights["norm.gain"], call.weights["norm.shift"]
        return steps.project(call, nn.functional.layer_norm(x, x.shape[-1:], gain, shift))

    return [
        replace(steps, shapes=deeper, project=project),
        replace(steps, shapes=gained, project=normed),
        replace(steps, shapes=gained),
    ]
