"""Embeddings with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.embedding.unscaled import UnscaledEmbeddings

EVAL = "is deterministic in eval mode"


VECTORS = "both sides give vectors of width D, in float32, float64 and bfloat16"


@wrong("embedding", VECTORS, "Expected shape [2, 11, 8], got [2, 11, 11]")
class OneHot(UnscaledEmbeddings):
    def tgt(self, tokens: Tensor) -> Tensor:
        return nn.functional.one_hot(tokens, 11).to(self.tgt_table.weight)


@wrong("embedding", VECTORS, "In float64: Expected float64")
class EmbeddingsInFloat(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens).float()


@wrong("embedding", "every token has its own vector, the same at every position", "have the same vector")
class MergesTokens(UnscaledEmbeddings):
    def tgt(self, tokens: Tensor) -> Tensor:
        return super().tgt(tokens // 2)


@wrong(
    "embedding",
    "every token has its own vector, the same at every position",
    "src: a token has another",
)
class DependsOnThePlace(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens) * torch.arange(1, tokens.size(1) + 1)[:, None]


@wrong("embedding", "gradients are finite and reach every parameter", "No gradient reaches src_table.weight")
class OneTableUnused(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return self.tgt(tokens)


@wrong("embedding", "two vocabularies, if it takes them", "IndexError")
class ForgetsASide(UnscaledEmbeddings):
    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int) -> None:
        super().__init__(src_vocab, src_vocab, d_model)


@wrong("embedding", "two vocabularies, if it takes them", "raises no ValueError", one_vocabulary=True)
class TakesAnyVocabularies(UnscaledEmbeddings):
    pass


@wrong("embedding", "shares its table with the head, if it declares tied", "AttributeError", tied=True)
class TiedWithoutATable(UnscaledEmbeddings):
    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int) -> None:
        super().__init__(src_vocab, tgt_vocab, d_model)
        self.other_table = self.tgt_table
        del self.tgt_table


@wrong("embedding", "does not modify its input tokens", "changed in place")
class ClampsTokens(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens.clamp_(max=9))


@wrong("embedding", EVAL, "two calls with the same input differ")
class NoisyEmbeddings(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens) + torch.rand(1)
