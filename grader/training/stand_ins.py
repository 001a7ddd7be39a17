"""Learner's code in the places of the zoo's model for the training test: stacks, the whole model, masks, the loss.

Each mirrors instances in the worker, so these need a submission that runs in one. Masks and the loss cost little:
all their live calls are compared with the reference; of other parts, a share is (`grader.training.spotcheck`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from grader.core.failures import Failed
from grader.core.submission import Function, Instance, Submission, SubmissionError
from grader.sandbox.remote import RemoteInstance
from grader.training.proxy import RemoteModule
from grader.training.spotcheck import OTHER_RULE, how_far
from grader.training.training import reverser
from zoo.models.transformer import Transformer
from zoo.parts.attention.cache import KeyValueCache
from zoo.parts.loss.base import SequenceLoss
from zoo.parts.masking.base import Masking

D_MODEL, NUM_HEADS, D_FF, VOCAB, MAX_LEN = 64, 4, 256, 29, 16  # of the preset `reverse`
STACK_ARGUMENTS = {
    "encoder": (("x",), ("src_mask",)),
    "decoder": (("x", "memory"), ("src_mask", "tgt_mask")),
}
"""Of forward, in the order in which the zoo passes them: those without a default, and those with one."""
LEAST_LOSS = 0.1  # a smaller loss is not known to a thousandth of itself, in float32


class StackInPlace(nn.Module):
    """A learner's encoder or decoder in the zoo's model: passes on the arguments that the contract names.

    Args:
        stack: the learner's stack.
        title: what it is, in words.
        required, options: names of the arguments that its forward takes, in order.
    """

    def __init__(
        self, stack: RemoteInstance, title: str, required: Sequence[str], options: Sequence[str]
    ) -> None:
        super().__init__()
        self.stack = RemoteModule(stack, title, options=options)
        self._arguments = len(required) + len(options)

    def forward(self, *arguments: Any, **_more: Any) -> Tensor:
        """x, (memory,) masks and what else the zoo knows (positions, no caches) -> hidden vectors."""
        out: Tensor = self.stack(*arguments[: self._arguments])
        return out


def with_stack(seed: int, side: str, stack: RemoteInstance) -> Transformer:
    """The zoo's model with the learner's stack as its encoder or decoder."""
    model = reverser(seed)
    required, options = STACK_ARGUMENTS[side]
    setattr(model, side, StackInPlace(stack, f"your {side}", required, options))
    model.cacheable = model.packable = False
    return model


class WholeModel(nn.Module):
    """A learner's whole Transformer, as the zoo trains and decodes: every step computes everything again."""

    stacks = Transformer.stacks
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
        *,
        cache: KeyValueCache,
    ) -> Tensor:
        """x [B, 1, D] -> [B, 1, D]. Of the zoo's own cache, only the length is used: it stays empty."""
        outcome = self._stepper.call([x, cache.length == 0], method="go_on", record=False, watch=False)
        cache.length += x.size(1)
        return _tensor(outcome.value, tuple(x.shape), x.dtype)


class LearnersMasks(Masking):
    """Masks made by the learner's functions.

    Args:
        submission: has them.
        reference: by their names, the functions of the reference. Failed is raised where a mask is not theirs.
    """

    def __init__(self, submission: Submission, reference: Mapping[str, Callable[[Tensor], Tensor]]) -> None:
        super().__init__(0)
        self._own = {name: submission.function(name) for name in ("padding_mask", "decoder_mask")}
        self._reference, self._calls = reference, 0

    def src(self, tokens: Tensor) -> Tensor:
        """tokens [B, S] -> [B, 1, 1, S]."""
        return self._mask("padding_mask", tokens)

    def tgt(self, tokens: Tensor, num_queries: int) -> Tensor:
        """tokens [B, L] -> [B, 1, num_queries, L]."""
        return self._mask("decoder_mask", tokens)[:, :, tokens.size(1) - num_queries :]

    def _mask(self, name: str, tokens: Tensor) -> Tensor:
        self._calls += 1
        right = self._reference[name](tokens)
        mask = _tensor(self._own[name].call([tokens]).value, tuple(right.shape), torch.bool)
        if not torch.equal(mask, right):
            raise Failed(
                f"Inside a model, in call {self._calls}, {name} returned another mask than the reference, on "
                f"token ids {list(tokens.shape)}: {int((mask != right).sum())} of {mask.numel()} cells differ.",
                mistakes=[OTHER_RULE],
            )
        return mask


class LearnersLoss(SequenceLoss):
    """The learner's loss, with its own gradient.

    Args:
        sequence_loss: the learner's.
        reference: the reference's. Failed is raised where value or gradient is not its.
    """

    def __init__(self, sequence_loss: Function, reference: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__(0)
        self._function, self._reference, self._calls = sequence_loss, reference, 0

    def forward(self, output: Tensor, labels: Tensor) -> Tensor:
        """Logits [B, L, V] and labels [B, L] -> scalar."""
        self._calls += 1
        return _LossCall.apply(self, output, labels)  # type: ignore[no-any-return, no-untyped-call]

    def ask(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The learner's value, and its gradient to the logits. Raises Failed if the reference has others."""
        outcome = self._function.call([logits, labels], grad=[0])
        value = _tensor(outcome.value, (), torch.float32)
        found = self._function.backward(outcome, [torch.ones(())]).inputs.get(0)
        gradient = torch.zeros_like(logits) if found is None else found
        with torch.enable_grad():
            leaf = logits.clone().requires_grad_()
            right = self._reference(leaf, labels)
            (slope,) = torch.autograd.grad(right, leaf)
        self._compare("value", value, right.detach(), LEAST_LOSS)
        self._compare("gradient", gradient, slope, LEAST_LOSS / labels.numel())
        return value, gradient

    def _compare(self, what: str, got: Tensor, expected: Tensor, least: float) -> None:
        if off := how_far([(got, expected)], least):
            raise Failed(
                f"In training step {self._calls}, sequence_loss returned another {what} than the reference, on "
                f"the same logits and target: {off}.",
                mistakes=[OTHER_RULE],
            )


class _LossCall(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, loss: LearnersLoss, logits: Tensor, labels: Tensor) -> Tensor:
        value, ctx.gradient = loss.ask(logits.detach(), labels)
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
