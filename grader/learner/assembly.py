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
from zoo.core.registry import module_of_file
from zoo.models.builder import build
from zoo.models.transformer import Transformer
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
        side: "encoder" or "decoder".
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


def assemble(folder: Path, own: Mapping[str, ModuleType], seed: int) -> Transformer:
    """The zoo's model for spelling words backwards, with the learner's parts in their places.

    Raises:
        ZooError: a part fails when it is made, with the sentence.
    """
    blueprint = get_preset(PRESET).blueprint()
    chosen = {
        axis: Choice(f"{folder / (name + '.py')}:{cls}") for name, (axis, cls) in AXES.items() if name in own
    }
    blueprint = replace(blueprint, choices={**blueprint.choices, **chosen})
    model = build(blueprint, seed=seed)
    for layer in model.decoder.layers:
        setattr(layer.self_attention, CAUSAL, True)
    if own:
        model.cacheable = model.packable = False
    if "masks" in own:
        model.masking = OwnMasks(own["masks"], blueprint.sizes.pad)
    if "encoder" in own:
        model.encoder = cast(Any, Uncached(_encoder(own["encoder"], model), "encoder"))
    if "decoder" in own:
        model.decoder = cast(Any, Uncached(_decoder(own["decoder"], model), "decoder"))
    if "transformer" in own:
        return _whole(own["transformer"], model)
    return model


def _encoder(module: ModuleType, model: Transformer) -> nn.Module:
    width = cast(nn.Linear, model.head).in_features
    layers = iter([
        module.EncoderLayer(layer.self_attention, layer.feed_forward, width, norm="pre")
        for layer in model.encoder.layers
    ])  # fmt: skip
    stack: nn.Module = module.Encoder(lambda: next(layers), len(model.encoder.layers), width, norm="pre")
    return stack


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
    whole.cacheable = whole.packable = False
    return cast(Transformer, whole)
