"""A full Transformer of the learner's own parts, with the zoo's for the rest. It runs as the learner's own program."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import torch
from torch import Tensor, nn

from grader.training.stand_ins import STACK_ARGUMENTS
from zoo.core.blueprint import Choice, get_preset
from zoo.core.errors import unknown_name
from zoo.core.recipe import Recipe
from zoo.core.registry import module_of_file
from zoo.models.builder import build
from zoo.models.transformer import Model, Transformer
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.masking.base import Masking

PRESET = "reverse"
CAUSAL = "zoo_causal"  # marks the decoder's self-attention, wherever the learner's decoder keeps it
PLACES = {
    "masks": "all three attentions",
    "attention": "encoder, decoder, and cross-attention",
    "positions": "encoder and decoder",
    "feedforward": "in each layer",
    "norm": "in each layer, and after each stack",
    "encoder": "the encoder and its layers",
    "decoder": "the decoder and its layers",
    "transformer": "the whole model",
    "loss": "training",
    "decoding": "generating words, letter by letter",
    "training": "batches, learning rate and steps",
    "kv_cache": "generating again, with cached keys and values",
}
PLACES_OF_DECODER = {
    "masks": "self-attention, the causal mask",
    "attention": "self-attention, in each layer",
    "positions": "the decoder",
    "feedforward": "in each layer",
    "norm": "in each layer, and after the stack",
    "encoder": "the stack and its layers, under a causal mask",
    "loss": "training",
    "kv_cache": "generating again, with cached keys and values",
}
"""What has a place in a decoder by itself, a GPT: without cross-attention, its layer is the encoder's."""
PLACES_OF_ENCODER = {
    "masks": "self-attention, the padding mask",
    "attention": "self-attention, in each layer",
    "positions": "the encoder",
    "feedforward": "in each layer",
    "norm": "in each layer, and after the stack",
    "encoder": "the stack and its layers",
}
DECODER_SIZES = {"max_len": 22, "num_decoder_layers": 2}
"""A word, SOS and the word backwards; with one layer it does not learn to spell."""
DECODER_RECIPE: Mapping[str, Any] = {"steps": 600, "lr": 3e-3, "warmup": 60}
AXES = {
    "attention": ("attention", "MultiHeadAttention"),
    "positions": ("encoding", "SinusoidalPositions"),
    "feedforward": ("feedforward", "FeedForward"),
    "norm": ("norm-type", "LayerNorm"),
}


class OwnMasks(Masking):
    """Masks by the learner's functions."""

    def __init__(self, module: ModuleType, pad: int) -> None:
        super().__init__(pad)
        self._module = module

    def src(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] -> bool [B, 1, 1, S]."""
        return self._module.padding_mask(tokens, pad=self.pad)  # type: ignore[no-any-return]

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        """tokens [B, L] -> bool [B, 1, num_queries, L]."""
        mask: Tensor = self._module.decoder_mask(tokens, pad=self.pad)
        return mask[:, :, tokens.size(1) - num_queries :]


class OwnLoss(SequenceLoss):
    """The learner's loss."""

    def __init__(self, module: ModuleType, pad: int) -> None:
        super().__init__(pad)
        self._module = module

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Logits [B, L, V] and labels [B, L] -> scalar."""
        return self._module.sequence_loss(output, labels, pad=self.pad)  # type: ignore[no-any-return]


class Uncached(nn.Module):
    """A stack that is handed what the contract names, and nothing else that the zoo knows.

    Args:
        inner: the stack.
        side: whose contract, "encoder" or "decoder".
    """

    def __init__(self, inner: nn.Module, side: str) -> None:
        super().__init__()
        self.inner = inner
        self._required, self._options = STACK_ARGUMENTS[side]

    def forward(self, *given: Any, **named: Any) -> Tensor:
        """x, (memory,) masks, and what else -> hidden vectors."""
        named = {**dict(zip((*self._required, *self._options), given, strict=False)), **named}
        required = [named[name] for name in self._required]
        out: Tensor = self.inner(*required, **{name: named.get(name) for name in self._options})
        return out


def load_own(folder: Path, solved: Mapping[str, str]) -> dict[str, ModuleType]:
    """The files of the solved exercises, imported. Raises ZooError with a sentence if one cannot be.

    Args:
        solved: file names by exercise.
    """
    return {name: module_of_file(folder / file) for name, file in solved.items()}


def places(assembly: str) -> Mapping[str, str]:
    """Return which exercises have a place in an assembly, and where. Raises UnknownNameError."""
    known = {"encoder-decoder": PLACES, "decoder": PLACES_OF_DECODER, "encoder": PLACES_OF_ENCODER}
    if assembly not in known:
        raise unknown_name("assembly for parts of your own", assembly, known)
    return known[assembly]


def recipe_of(model: Model, seed: int) -> Recipe:
    """The recipe by which the model is trained to spell."""
    return Recipe(seed=seed) if "encoder" in model.stacks else Recipe(**DECODER_RECIPE, seed=seed)


def assemble(
    folder: Path, own: Mapping[str, ModuleType], seed: int, assembly: str = "encoder-decoder"
) -> Model:
    """The zoo's model for spelling words backwards, with the learner's parts in their places.

    Args:
        own: the learner's modules, of exercises that have a place in the assembly.

    Raises:
        ZooError: a part fails when it is made, with the sentence.
    """
    sizes = DECODER_SIZES if assembly == "decoder" else {}
    blueprint = get_preset(PRESET).blueprint(choices={"assembly": assembly}, sizes=sizes)
    chosen = {
        axis: Choice(f"{folder / (name + '.py')}:{cls}") for name, (axis, cls) in AXES.items() if name in own
    }
    blueprint = replace(blueprint, choices={**blueprint.choices, **chosen})
    model: Any = build(blueprint, seed=seed)
    for layer in model.decoder.layers if "decoder" in model.stacks else ():
        setattr(layer.self_attention, CAUSAL, True)
    if own:
        model.cacheable = model.packable = False
    if "masks" in own:
        model.masking = OwnMasks(own["masks"], blueprint.sizes.pad)
    if "encoder" in own and "encoder" in model.stacks:
        model.encoder = Uncached(_encoder(own["encoder"], model.encoder, model), "encoder")
    elif "encoder" in own:
        model.decoder = _Causal(_encoder(own["encoder"], model.decoder, model), "encoder")
    if "decoder" in own:
        model.decoder = Uncached(_decoder(own["decoder"], model), "decoder")
    if "transformer" in own:
        return _whole(own["transformer"], model)
    return cast(Model, model)


class _Causal(Uncached):
    """An encoder's stack in a decoder's place."""

    def forward(self, x: Tensor, tgt_mask: Tensor | None = None, **_: Any) -> Tensor:
        """x [B, L, D], tgt_mask (broadcasts to [B, H, L, L]) -> [B, L, D]."""
        return super().forward(x, tgt_mask)


def _encoder(module: ModuleType, stack: nn.Module, model: Model) -> nn.Module:
    """The learner's encoder of the attentions and networks that are in `stack`."""
    width, old = cast(nn.Linear, model.head).in_features, cast(Any, stack).layers
    layers = iter([
        module.EncoderLayer(layer.self_attention, layer.feed_forward, width, norm="pre") for layer in old
    ])  # fmt: skip
    made: nn.Module = module.Encoder(lambda: next(layers), len(old), width, norm="pre")
    return made


def _decoder(module: ModuleType, model: Transformer) -> nn.Module:
    width = cast(nn.Linear, model.head).in_features
    layers = iter([
        module.DecoderLayer(layer.self_attention, layer.cross_attention, layer.feed_forward, width, norm="pre")
        for layer in model.decoder.layers
    ])  # fmt: skip
    stack: nn.Module = module.Decoder(lambda: next(layers), len(model.decoder.layers), width, norm="pre")
    return stack


def _whole(module: ModuleType, model: Transformer) -> Transformer:
    """The learner's Transformer around the parts; what the zoo's training asks of a model is added to it."""
    head, embeddings = cast(nn.Linear, model.head), cast(Any, model.embeddings)
    width, vocab = head.in_features, head.out_features
    tables: list[nn.Embedding] = [copy.deepcopy(t) for t in (embeddings.src_table, embeddings.tgt_table)]
    for table in tables:
        with torch.no_grad():
            table.weight /= width**0.5  # which the Transformer multiplies them by
    stacks = (Uncached(model.encoder, "encoder"), Uncached(model.decoder, "decoder"))
    whole = module.Transformer(*stacks, *tables, model.src_positions, width, vocab)
    whole.stacks, whole.cacheable, whole.packable = model.stacks, False, False
    return cast(Transformer, whole)
