"""Learner's code in the places of the zoo's model for the training test: stacks, the whole model, masks, the loss.

Each mirrors instances in the worker, so these need a submission that runs in one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import torch
from torch import Tensor, nn

from grader.judge.component import Function, Instance, Submission, SubmissionError
from grader.judge.proxy import RemoteModule
from grader.judge.remote import RemoteInstance
from grader.judge.training import reverser
from zoo.attention.cache import KeyValueCache
from zoo.losses.base import SequenceLoss
from zoo.masking.base import Masking
from zoo.transformer import Transformer

D_MODEL, NUM_HEADS, D_FF, VOCAB, MAX_LEN = 64, 4, 256, 29, 16  # of the preset `reverse`


class StackInPlace(nn.Module):
    """A learner's encoder or decoder in the zoo's model: passes on the arguments that the contract names.

    Args:
        stack: the learner's stack.
        arguments: how many arguments its forward takes.
    """

    def __init__(self, stack: RemoteModule, arguments: int) -> None:
        super().__init__()
        self.stack, self._arguments = stack, arguments

    def forward(self, *arguments: Any) -> Tensor:
        """x, (memory,) masks and what else the zoo knows -> hidden vectors."""
        out: Tensor = self.stack(*arguments[: self._arguments])
        return out


def with_stack(seed: int, side: str, stack: RemoteInstance) -> Transformer:
    """The zoo's model with the learner's stack as its encoder or decoder."""
    model = reverser(seed)
    arguments = 2 if side == "encoder" else 4
    setattr(model, side, StackInPlace(RemoteModule(stack, f"your {side}"), arguments))
    model.cacheable = model.packable = False
    return model


class WholeModel(nn.Module):
    """A learner's whole Transformer, as the zoo trains and decodes: every step computes everything again."""

    cacheable = packable = False

    def __init__(self, model: RemoteInstance) -> None:
        super().__init__()

        def logits(src: Tensor) -> tuple[int, ...]:
            return (src.size(0), self._length, VOCAB)

        self._length = 0
        self.inner = RemoteModule(model, "your Transformer", logits)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        """src [B, S], tgt [B, L] -> logits [B, L, V]."""
        self._length = tgt.size(1)
        out: Tensor = self.inner(src, tgt)
        return out

    def encode(self, src: Tensor) -> Tensor:
        """Nothing is kept: the source itself."""
        return src

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor, *_rest: Any, **_more: Any) -> Tensor:
        """tgt [B, L], src [B, S] -> logits [B, L, V]."""
        return self(src, tgt)  # type: ignore[no-any-return]


class StepsInPlace(nn.Module):
    """A learner's cached attention as the self-attention of the zoo's decoder: a step a call.

    Args:
        stepper: the part `Stepper` around it, which keeps the learner's cache.
    """

    def __init__(self, stepper: RemoteInstance) -> None:
        super().__init__()
        self._stepper = stepper

    def forward(
        self,
        x: Tensor,
        _key: Tensor,
        _value: Tensor,
        _mask: Tensor | None,
        _positions: None,
        so_far: KeyValueCache,
    ) -> Tensor:
        """x [B, 1, D] -> [B, 1, D]. Of the zoo's own cache, only the length is used: it stays empty."""
        outcome = self._stepper.call([x, so_far.length == 0], method="go_on", record=False, watch=False)
        so_far.length += x.size(1)
        return _tensor(outcome.value, tuple(x.shape), x.dtype)


class LearnersMasks(Masking):
    """Masks made by the learner's functions, in additive form where `to_additive` is theirs too."""

    def __init__(self, padding_mask: Function, decoder_mask: Function) -> None:
        super().__init__(0)
        self._padding, self._decoder = padding_mask, decoder_mask

    def src(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] -> [B, 1, 1, S]."""
        batch, length = tokens.shape
        return _tensor(self._padding.call([tokens]).value, (batch, 1, 1, length), torch.bool)

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        """tokens [B, L] -> [B, 1, num_queries, L]."""
        batch, length = tokens.shape
        mask = _tensor(self._decoder.call([tokens]).value, (batch, 1, length, length), torch.bool)
        return mask[:, :, length - num_queries :]


class LearnersLoss(SequenceLoss):
    """The learner's loss, with its own gradient."""

    def __init__(self, sequence_loss: Function) -> None:
        super().__init__(0)
        self._function = sequence_loss

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Logits [B, L, V] and labels [B, L] -> scalar."""
        return _LossCall.apply(self._function, output, labels)  # type: ignore[no-any-return, no-untyped-call]


class _LossCall(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, function: Function, logits: Tensor, labels: Tensor) -> Tensor:
        outcome = function.call([logits.detach(), labels], grad=[0])
        value = _tensor(outcome.value, (), torch.float32)
        found = function.backward(outcome, [torch.ones(())]).inputs.get(0)
        ctx.gradient = torch.zeros_like(logits) if found is None else found
        return value.clone()

    @staticmethod
    def backward(ctx: Any, cotangent: Tensor) -> tuple[None, Tensor, None]:
        return None, ctx.gradient * cotangent, None


def _tensor(value: Any, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    if not isinstance(value, Tensor) or value.shape != shape or value.dtype != dtype:
        got = f"{list(value.shape)} of {value.dtype}" if isinstance(value, Tensor) else type(value).__name__
        raise SubmissionError(
            "protocol", f"In a model, expected a tensor {list(shape)} of {dtype}, and got {got}."
        )
    return value


def load_from(part: RemoteInstance, weights: Mapping[str, Tensor], prefix: str = "") -> None:
    """Give a working part the weights of the zoo's model whose names begin with `prefix`."""
    own = part.parameters()
    part.load({name: weights[prefix + name].detach() for name in own})


def reverser_part(submission: Submission) -> Instance:
    """The whole model, as a part that can be handed to the submission."""
    return submission.part("Reverser", (VOCAB, D_MODEL, NUM_HEADS, D_FF, MAX_LEN))


def remote(instance: Any) -> RemoteInstance:
    """The instance as one in a worker."""
    return cast(RemoteInstance, instance)
