"""Embeddings, heads, maskings, masks, initialisations, losses, schedules and decodings with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.checks.support import wrong
from zoo.decoding.greedy import GreedyDecoding
from zoo.decoding.stepper import Stepper
from zoo.embeddings.unscaled import UnscaledEmbeddings
from zoo.heads.logits import LogitsHead
from zoo.inits.xavier import XavierInit
from zoo.losses.cross_entropy import CrossEntropyLoss
from zoo.masking.full import FullMasking
from zoo.masks.bool import BoolMask
from zoo.schedules.linear import LinearSchedule

KEPT = "inputs are left as they were"
EVAL = "eval mode gives the same each time"
ROWS = "rows of a batch do not see each other"


# embeddings -----------------------------------------------------------------------------------------

VECTORS = "both sides give vectors of width D, in float32, float64 and bfloat16"


@wrong("embedding", VECTORS, "Expected shape [2, 11, 8], got [2, 11, 11]")
class OneHot(UnscaledEmbeddings):
    def tgt(self, tokens: Tensor) -> Tensor:
        return nn.functional.one_hot(tokens, 11).to(self.tgt_table.weight)


@wrong("embedding", VECTORS, "In float64: Expected float64")
class EmbeddingsInFloat(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens).float()


@wrong(
    "embedding", "every token has a vector of its own, the same wherever it stands", "have the same vector"
)
class MergesTokens(UnscaledEmbeddings):
    def tgt(self, tokens: Tensor) -> Tensor:
        return super().tgt(tokens // 2)


@wrong(
    "embedding",
    "every token has a vector of its own, the same wherever it stands",
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


@wrong("embedding", "its table is the head's, if it declares tied", "AttributeError", tied=True)
class TiedWithoutATable(UnscaledEmbeddings):
    def __init__(self, src_vocab: int, tgt_vocab: int, d_model: int) -> None:
        super().__init__(src_vocab, tgt_vocab, d_model)
        self.other_table = self.tgt_table
        del self.tgt_table


@wrong("embedding", "tokens are left as they were", "changed in place")
class ClampsTokens(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens.clamp_(max=9))


@wrong("embedding", EVAL, "two calls with the same input differ")
class NoisyEmbeddings(UnscaledEmbeddings):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens) + torch.rand(1)


# heads ----------------------------------------------------------------------------------------------


@wrong("head", "gives one number a token, in float32, float64 and bfloat16", "Expected shape [3, 5, 11]")
class HeadOfOneMore(LogitsHead):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(d_model, tgt_vocab + 1)


@wrong("head", "gives log-probabilities, if it declares so", "do not sum to 1", output="log-probs")
class DeclaresLogProbabilities(LogitsHead):
    pass


@wrong("head", "gives log-probabilities, if it declares so", "declares logits, but gives log-probabilities")
class LogSoftmaxUndeclared(LogitsHead):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input).log_softmax(-1)


@wrong("head", "treats every position by itself", "among others")
class HeadOverTime(LogitsHead):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input - input.mean(1, keepdim=True))


@wrong("head", "takes the table of a tied embedding as its weight", "Expected `weight`")
class HeadInAHouse(nn.Sequential):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(nn.Linear(d_model, tgt_vocab))


@wrong("head", "takes the table of a tied embedding as its weight", "gives the same")
class HeadWithACopy(LogitsHead):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(d_model, tgt_vocab)
        self.own = nn.Linear(d_model, tgt_vocab)

    def forward(self, input: Tensor) -> Tensor:
        return self.own(input)  # type: ignore[no-any-return]


@wrong(
    "head", "gradients are finite and reach the input and every parameter", "No gradient reaches own.weight"
)
class HeadWithASpare(LogitsHead):
    def __init__(self, d_model: int, tgt_vocab: int) -> None:
        super().__init__(d_model, tgt_vocab)
        self.own = nn.Linear(d_model, tgt_vocab)


@wrong("head", KEPT, "changed in place")
class HeadInPlace(LogitsHead):
    def forward(self, input: Tensor) -> Tensor:
        return super().forward(input if torch.is_grad_enabled() else input.mul_(2))


# maskings -------------------------------------------------------------------------------------------


@wrong("masking", "masks are bool and broadcast to [B, 1, Tq, Tk]", "tgt: expected a bool tensor")
class MaskingInFloat(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        return super().tgt(tokens, num_queries).float()


@wrong("masking", "masks are bool and broadcast to [B, 1, Tq, Tk]", "src: expected a shape that broadcasts")
class MaskingOfTwoDimensions(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        return tokens != self.pad


@wrong("masking", "no target position may attend to a later one", "may attend to a later one")
class MaskingShiftedByOne(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        keep = super().tgt(tokens, num_queries)
        return keep | keep.roll(1, -1)


@wrong("masking", "a word may attend to itself and to the words before it", "target is hidden from itself")
class MaskingWithoutTheDiagonal(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        keep = super().tgt(tokens, tokens.size(1)) & ~torch.eye(tokens.size(1), dtype=torch.bool)
        return keep[:, :, -num_queries:]


@wrong("masking", "a word may attend to itself and to the words before it", "A word of the source is hidden")
class MaskingTheOtherWayRound(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        return ~super().src(tokens)


@wrong("masking", "padding in the source is hidden", "Some padding of the source may be attended to")
class MaskingOfTheLastToken(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        keep = torch.ones_like(super().src(tokens))
        keep[..., -1] = super().src(tokens)[..., -1]
        return keep


@wrong(
    "masking",
    "the last queries get the last rows of the whole mask",
    "queries is not the end of the whole mask",
)
class MaskingOfTheFirstRows(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        return super().tgt(tokens, tokens.size(1))[:, :, :num_queries]


@wrong("masking", ROWS, "A row alone gets another mask")
class MaskingOfTheBatch(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        return super().src(tokens).any(0, keepdim=True)


@wrong(
    "masking",
    "no row is hidden from everything, unless it declares blank_rows",
    "blank_rows=True would declare",
)
class MaskingWithBlankRows(FullMasking):
    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        return super().tgt(tokens, num_queries) & (tokens[:, -num_queries:] != self.pad)[:, None, :, None]


@wrong("masking", "tokens are left as they were", "changed in place")
class MaskingInPlace(FullMasking):
    def src(self, tokens: Tensor) -> Tensor:
        keep = super().src(tokens)
        tokens.clamp_(min=1)
        return keep


# mask forms -----------------------------------------------------------------------------------------


@wrong("mask", "what is encoded is decoded again", "is another after encoding and decoding")
class MaskTurnedOnce(BoolMask):
    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        return ~keep


@wrong("mask", "a mask that it cannot say is refused, not changed", "nothing was said")
class MaskAsLengths(BoolMask):
    def encode(self, keep: Tensor, dtype: torch.dtype) -> Tensor:
        return keep.sum(-1, keepdim=True)

    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        return torch.arange(num_keys) < mask


@wrong("mask", "masks are left as they were", "changed in place")
class MaskInPlace(BoolMask):
    def decode(self, mask: Tensor, num_keys: int) -> Tensor:
        before = mask.clone()
        mask |= True
        return before


# initialisations ------------------------------------------------------------------------------------


@wrong("init", "fills matrices in place with finite numbers", "leaves the matrix as it was")
class InitOfACopy(XavierInit):
    def matrix(self, name: str, value: Tensor) -> None:
        super().matrix(name, value.clone())


@wrong("init", "draws from torch's generator", "one seed does not give the same weights twice")
class InitWithItsOwnGenerator(XavierInit):
    generator = torch.Generator()

    def matrix(self, name: str, value: Tensor) -> None:
        value.normal_(generator=self.generator)


@wrong("init", "draws from torch's generator", "two seeds give the same weights")
class InitOfOne(XavierInit):
    def matrix(self, name: str, value: Tensor) -> None:
        value.fill_(0.1)


@wrong("init", "fills biases and tables with finite numbers, or leaves them", "holds NaN")
class InitWithNan(XavierInit):
    def bias(self, name: str, value: Tensor, fan_in: int) -> None:
        value.fill_(float("nan"))


@wrong("init", "the weights are neither huge nor all but 0", "has standard deviation")
class InitOfTheRootForgotten(XavierInit):
    def matrix(self, name: str, value: Tensor) -> None:
        value.normal_(std=value.size(1))


# losses ---------------------------------------------------------------------------------------------


@wrong("loss", "is one finite number, in float32, float64 and bfloat16", "Expected one number")
class LossOfEach(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(output.flatten(0, 1), labels.flatten(), reduction="none")


@wrong(
    "loss",
    "its gradient is finite, and reaches every word and no padding",
    "What is answered at padding counts",
)
class LossOfPadding(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(output.flatten(0, 1), labels.flatten())


@wrong("loss", "its gradient is finite, and reaches every word and no padding", "at some word does not count")
class LossOfTheFirst(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return super().forward(output[:, :1], labels[:, :1])


@wrong("loss", "a better answer costs less", "With the right words more probable")
class LossTheOtherWayRound(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return -super().forward(output, labels)


@wrong("loss", "is a mean over words", "is not their mean")
class LossAsASum(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return super().forward(output, labels) * (labels != self.pad).sum()


@wrong("loss", "is a mean over words", "More padding changes the loss")
class LossOverAllPlaces(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        return super().forward(output, labels) * (labels != self.pad).sum() / labels.numel()


@wrong("loss", KEPT, "changed in place")
class LossInPlace(CrossEntropyLoss):
    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        value = super().forward(output, labels)
        labels.clamp_(min=1)
        return value


# schedules ------------------------------------------------------------------------------------------


@wrong("schedule", "gives a share from 0 to 1 at every step", "expected a share from 0 to 1")
class ScheduleBelowZero(LinearSchedule):
    def after(self, step: int) -> float:
        return (self.steps // 2 - step) / self.steps


@wrong("schedule", "gives a share from 0 to 1 at every step", "ZeroDivisionError")
class ScheduleThatNeedsAWarmUp(LinearSchedule):
    def __call__(self, step: int) -> float:
        return min(1.0, (step + 1) / self.warmup)


@wrong("schedule", "gives a share from 0 to 1 at every step", "expected a number, got Tensor")
class ScheduleOfTensors(LinearSchedule):
    def __call__(self, step: int) -> float:
        return torch.tensor(super().__call__(step))  # type: ignore[return-value]


@wrong("schedule", "comes up to the highest rate", "of the highest rate")
class ScheduleTooLow(LinearSchedule):
    def __call__(self, step: int) -> float:
        return super().__call__(step) / 3


@wrong("schedule", "gives the same for a step whenever it is asked", "in another order")
class ScheduleThatCounts(LinearSchedule):
    calls = -1

    def __call__(self, step: int) -> float:
        self.calls += 1
        return 1 / (1 + self.calls)


# decodings ------------------------------------------------------------------------------------------


@wrong("decoding", "says what a model that is certain says", "The model is certain of")
class TheLeastProbable(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        tokens = super().__call__(stepper, start, max_len, eos, pad)
        return tokens.where((tokens == eos) | (tokens == pad), tokens.new_tensor(3))


@wrong("decoding", "after its end a row is padding", "After the end there is more")
class SpeaksOn(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        tokens = super().__call__(stepper, start, max_len, eos, pad)
        return tokens.where(tokens != pad, tokens.new_tensor(eos))


@wrong("decoding", "after its end a row is padding", "The longest answer has 5 tokens, but 8 are given")
class NeverStops(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        tokens = super().__call__(stepper, start, max_len, eos, pad)
        return nn.functional.pad(tokens, (0, max_len - tokens.size(1)), value=pad)


@wrong("decoding", "answers are at most max_len tokens", "Expected shape [4, at most 1], got [4, 2]")
class OneTooMany(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        return super().__call__(stepper, start, max_len + 1, eos, pad)


@wrong(
    "decoding",
    "answers are tokens of the vocabulary, whatever the model",
    "that the vocabulary does not hold",
)
class BeyondTheVocabulary(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        return super().__call__(stepper, start, max_len, eos, pad) + 11


@wrong("decoding", "with a cache it answers the same", "the answers are others")
class ForgetsToReorderTheCache(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        stepper.step(start)
        if stepper.caches is not None:
            stepper.caches[-1].self_attention.select(torch.arange(start.size(0)).flip(0))
        return super().__call__(stepper, start, max_len, eos, pad)


@wrong("decoding", ROWS, "A row alone is answered otherwise")
class EndsTogether(GreedyDecoding):
    def __call__(self, stepper: Stepper, start: Tensor, max_len: int, eos: int, pad: int) -> Tensor:
        return super().__call__(stepper, start, max(1, max_len - start.size(0)), eos, pad)


@wrong("decoding", "in a model: answers", "not in the vocabulary")
class AnswersBeyond(BeyondTheVocabulary):
    pass
