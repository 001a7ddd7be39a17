"""Feed-forward networks with one thing wrong each."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.zoo.analysis.checks.support import wrong
from zoo.parts.feedforward.relu import ReluFeedForward

SHAPES = "keeps shape and dtype, in float32, float64 and bfloat16"
INPUTS = "does not modify its inputs"
EVAL = "is deterministic in eval mode"
DROPOUT = "dropout is active in train mode only"
VECTOR = "treats every vector independently"
REACH = "gradients are finite and reach the input and every parameter"
TRAINS = "in a model: trains, with finite gradients that reach every parameter"
SAVED = "in a model: its weights are in state_dict"
STEADY = "in a model: deterministic in eval mode"


@wrong("feedforward", SHAPES, "Expected shape")
class NetworkOfInnerWidth(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.activate(self.up_proj(x))


@wrong("feedforward", SHAPES, "ValueError")
class ThreeDimensionsOnly(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        _, _, _ = x.shape
        return super().forward(x)


@wrong("feedforward", VECTOR, "A vector alone gives another result")
class NetworkOverTime(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + x.mean(-2, keepdim=True))


@wrong("feedforward", REACH, "No gradient reaches up_proj.weight")
class NetworkWithALayerTooMany(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(x.repeat(1, 1, 2))


@wrong("feedforward", REACH, "The gradient of")
class NetworkWithNanGradients(ReluFeedForward):
    def activate(self, x: Tensor) -> Tensor:
        return x.relu() + (x * 0).sqrt()


@wrong("feedforward", INPUTS, "changed in place")
class NetworkInPlace(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x if torch.is_grad_enabled() else x.relu_())


@wrong("feedforward", EVAL, "after a call with another input")
class NetworkThatRemembers(ReluFeedForward):
    longest = 0

    def forward(self, x: Tensor) -> Tensor:
        self.longest = max(self.longest, x.size(1))
        return super().forward(x) * self.longest


@wrong("feedforward", DROPOUT, "In eval mode, dropout=0.5 changes the output")
class NetworkThatScalesDropout(ReluFeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) * (1 - self.dropout.p)


@wrong("feedforward", TRAINS, "No gradient reaches encoder.layers.0.feed_forward.spare")
class NetworkWithASpare(ReluFeedForward):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.spare = nn.Parameter(torch.ones(1))


@wrong("feedforward", SAVED, "other logits")
class NetworkWithAHiddenTable(ReluFeedForward):
    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__(d_model, d_ff, dropout)
        self.hidden = torch.rand(d_ff, dtype=torch.float64)

    def activate(self, x: Tensor) -> Tensor:
        return x.relu() * self.hidden.to(x)


@wrong("feedforward", STEADY, "The logits change")
class NetworkThatKeepsCount(NetworkThatRemembers):
    pass
