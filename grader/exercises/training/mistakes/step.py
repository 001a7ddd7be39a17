"""Mistakes of a training step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

from grader.api import Collection
from grader.exercises.training.reference import EOS, PAD, SOS, Steps

mistake: Collection[Steps] = Collection(("train_step",))
MISTAKES = mistake.mistakes
SHIFT = "loss = cross_entropy(model(src, shift_right(tgt)), tgt)"
LOSS = "mean over the tokens of tgt that are not PAD"
ORDER = "zero_grad, loss, backward, step"
Loss = Callable[[], Tensor]


@mistake(
    "target-not-shifted",
    "The decoder's input is tgt itself: at each position the decoder sees the id that it should predict, "
    "and learns to copy it.",
    formula=SHIFT,
    hint="What is at position 0 of the decoder's input?",
    source="Project-MONAI/GenerativeModels#314; Kyubyong/transformer#94; bentrevett/pytorch-seq2seq#178",
)
def target_not_shifted(steps: Steps) -> Steps:
    return replace(steps, shift=lambda tgt: tgt)


@mistake(
    "target-cut-in-place-of-shifted",
    "The decoder gets tgt[:, :-1], and the loss compares with tgt[:, 1:]. That fits targets that begin "
    "with SOS; these do not, so the first letter is never learned.",
    formula=SHIFT,
    hint="Which id is at tgt[:, 0], and who predicts it?",
)
def target_cut(steps: Steps) -> Steps:
    return replace(steps, shift=lambda tgt: tgt[:, :-1], target=lambda tgt: tgt[:, 1:])


@mistake(
    "shifted-wrongly",
    "The target is shifted the wrong way, twice, or without SOS in front.",
    formula="shift_right([y1 y2 EOS]) = [SOS y1 y2]",
    hint="Write down one row before and after.",
)
def shifted_wrongly(steps: Steps) -> list[Steps]:
    def front(number: int) -> Callable[[Tensor], Tensor]:
        return lambda tgt: torch.cat([torch.full_like(tgt[:, :1], number), tgt[:, :-1]], 1)

    shifts: tuple[Callable[[Tensor], Tensor], ...] = (
        lambda tgt: tgt.roll(-1, 1),
        lambda tgt: torch.cat([tgt[:, 1:], torch.full_like(tgt[:, :1], PAD)], 1),
        lambda tgt: torch.cat([tgt[:, 1:], torch.full_like(tgt[:, :1], SOS)], 1),
        lambda tgt: steps.shift(steps.shift(tgt)),
        lambda tgt: tgt.roll(1, 1),
        front(PAD),
        front(EOS),
    )
    return [replace(steps, shift=shift) for shift in shifts]


@mistake(
    "source-and-target-swapped",
    "The model is called as model(tgt, src); it must be model(src, tgt).",
    formula=SHIFT,
    hint="In which order does forward take its arguments?",
)
def swapped(steps: Steps) -> list[Steps]:
    return [
        replace(steps, ask=lambda model, src, tgt: model(tgt, src)),
        replace(steps, ask=lambda model, src, _tgt: model(src, src)),
    ]


def entropy(logits: Tensor, tgt: Tensor, **how: Any) -> Tensor:
    """Cross-entropy of [B, L, V] and [B, L]."""
    return F.cross_entropy(logits.flatten(0, 1), tgt.flatten(), **how)


@mistake(
    "padding-in-the-loss",
    "PAD counts in the loss like any other id, so the model is trained to predict padding.",
    formula=LOSS,
    hint="What is the default of ignore_index, and what is PAD here?",
    source="lukas-blecher/LaTeX-OCR#305, #443; huggingface/transformers#2759, #11616; 01-ai/Yi#110",
)
def padding_in_the_loss(steps: Steps) -> Steps:
    return replace(steps, loss=entropy)


@mistake(
    "loss-divided-wrongly",
    "The loss is not the mean over the tokens: it is a sum, or a sum divided by the number of sentences or of all "
    "positions.",
    formula=LOSS,
    hint="What do you divide by, and how many tokens are there?",
    source="harvardnlp/annotated-transformer#38, #39, #109",
)
def loss_divided_wrongly(steps: Steps) -> list[Steps]:
    def total(logits: Tensor, tgt: Tensor) -> Tensor:
        return entropy(logits, tgt, ignore_index=PAD, reduction="sum")

    return [
        replace(steps, loss=total),
        replace(steps, loss=lambda logits, tgt: total(logits, tgt) / tgt.size(0)),
        replace(steps, loss=lambda logits, tgt: total(logits, tgt) / tgt.numel()),
        replace(steps, loss=lambda logits, tgt: total(logits, tgt) / tgt.size(1)),
    ]


@mistake(
    "mean-of-sentence-means",
    "The loss is the mean over the sentences of their means. If sentences differ in length, a token of a short "
    "sentence gets more weight.",
    formula=LOSS,
    hint="In a batch of two sentences of 1 and 3 tokens, what weight does each token get?",
    source="huggingface/transformers, gradient accumulation",
)
def mean_of_sentence_means(steps: Steps) -> list[Steps]:
    def over(dim: int) -> Callable[[Tensor, Tensor], Tensor]:
        def loss(logits: Tensor, tgt: Tensor) -> Tensor:
            each = entropy(logits, tgt, ignore_index=PAD, reduction="none").view(tgt.shape)
            return (each.sum(dim) / (tgt != PAD).sum(dim).clamp(min=1)).mean()

        return loss

    return [replace(steps, loss=over(1)), replace(steps, loss=over(0))]


@mistake(
    "logits-reshaped-wrongly",
    "The logits [B, L, V] are viewed as [B, V, L]: view keeps the order of the elements, it does not swap "
    "dimensions.",
    formula="cross_entropy takes [B * L, V] and [B * L], or [B, V, L] and [B, L]",
    hint="view, reshape or transpose?",
)
def logits_reshaped_wrongly(steps: Steps) -> Steps:
    def loss(logits: Tensor, tgt: Tensor) -> Tensor:
        batch, length, vocab = logits.shape
        return F.cross_entropy(logits.reshape(batch, vocab, length), tgt, ignore_index=PAD)

    return replace(steps, loss=loss)


@mistake(
    "softmax-twice",
    "softmax is applied to the logits before F.cross_entropy, which applies it itself, so the loss cannot "
    "get near 0.",
    formula="cross_entropy(logits, tgt) takes raw logits",
    hint="What does F.cross_entropy expect?",
    source="bkitano/llama-from-scratch#5; bowang-lab/Transformer-GCN-QA#32",
)
def softmax_twice(steps: Steps) -> Steps:
    return replace(steps, loss=lambda logits, tgt: steps.loss(logits.softmax(-1), tgt))


@mistake(
    "label-smoothing-added",
    "Label smoothing is used; use plain cross-entropy.",
    formula=LOSS,
    hint="Which smoothing does the exercise name?",
)
def label_smoothing_added(steps: Steps) -> Steps:
    return replace(
        steps, loss=lambda logits, tgt: entropy(logits, tgt, ignore_index=PAD, label_smoothing=0.1)
    )


@mistake(
    "zero-grad-missing",
    "Old gradients are added to the new ones: zero_grad is missing, or is called only after the step, or those of the "
    "optimizer's other groups of parameters stay.",
    formula=ORDER,
    hint="backward() adds to .grad. What is in there before?",
)
def zero_grad_missing(steps: Steps) -> list[Steps]:
    def never(_model: Any, optimizer: Any, loss: Loss) -> Tensor:
        found = loss()
        found.backward()
        optimizer.step()
        return found

    def at_the_end(model: Any, optimizer: Any, loss: Loss) -> Tensor:
        found = never(model, optimizer, loss)
        optimizer.zero_grad()
        return found

    def of_one_group(model: Any, optimizer: Any, loss: Loss) -> Tensor:
        for parameter in optimizer.param_groups[0]["params"]:
            parameter.grad = None
        return never(model, optimizer, loss)

    return [replace(steps, step=one) for one in (never, at_the_end, of_one_group)]


@mistake(
    "nothing-learned",
    "The parameters do not change: step() or backward() is missing, zero_grad() is called between them, or "
    "step() comes first.",
    formula=ORDER,
    hint="What is in .grad when step() is called?",
)
def nothing_learned(steps: Steps) -> list[Steps]:
    def orders(*order: str) -> Callable[[Any, Any, Loss], Tensor]:
        def run(_model: Any, optimizer: Any, loss: Loss) -> Tensor:
            found = loss()
            for what in order:
                getattr(found if what == "backward" else optimizer, what)()
            return found

        return run

    ways = ("zero_grad backward", "backward zero_grad step", "backward", "zero_grad step backward", "")
    return [replace(steps, step=orders(*way.split())) for way in ways]


@mistake(
    "several-steps",
    "The optimizer makes more than one step.",
    formula=ORDER,
    hint="How often is step() called?",
)
def several_steps(steps: Steps) -> list[Steps]:
    def twice(model: Any, optimizer: Any, loss: Loss) -> Tensor:
        found: Tensor = steps.step(model, optimizer, loss)
        optimizer.step()
        return found

    def again(model: Any, optimizer: Any, loss: Loss) -> Tensor:
        found: Tensor = steps.step(model, optimizer, loss)
        steps.step(model, optimizer, loss)
        return found

    return [replace(steps, step=twice), replace(steps, step=again)]


@mistake(
    "loss-after-the-step",
    "The returned loss was computed after the step; return the loss of this batch before the step.",
    formula="the loss that backward() was called on",
    hint="How often does your code call the model?",
)
def loss_after_the_step(steps: Steps) -> Steps:
    def step(model: Any, optimizer: Any, loss: Loss) -> Tensor:
        steps.step(model, optimizer, loss)
        return loss()

    return replace(steps, step=step)


@mistake(
    "loss-not-a-float",
    "The loss is returned as a tensor with its graph (or not at all); return a number. Such a tensor keeps "
    "the whole graph of the step in memory.",
    formula="return loss.item()",
    hint="What does .item() do?",
)
def loss_not_a_float(steps: Steps) -> list[Steps]:
    return [
        replace(steps, say=lambda loss: loss),
        replace(steps, say=lambda _loss: None),
    ]


@mistake(
    "gradients-clipped",
    "The gradients are clipped before the step; this exercise uses no clipping.",
    formula=ORDER,
    hint="What lies between backward() and step()?",
    source="pytorch/examples#846",
)
def gradients_clipped(steps: Steps) -> list[Steps]:
    def clipped(clip: Callable[[Any], object]) -> Steps:
        def step(model: Any, optimizer: Any, loss: Loss) -> Tensor:
            optimizer.zero_grad()
            found = loss()
            found.backward()
            clip(list(model.parameters()))
            optimizer.step()
            return found

        return replace(steps, step=step)

    def norm(most: float) -> Steps:
        return clipped(lambda own: clip_grad_norm_(own, most))

    def values(most: float) -> Steps:
        return clipped(lambda own: clip_grad_value_(own, most))

    return [*map(norm, (0.1, 0.25, 0.5, 1.0, 5.0)), *map(values, (0.01, 0.1, 0.5, 1.0))]


@mistake(
    "train-mode-missing",
    "The model is not put into train mode: it may be in eval mode, and then trains without dropout.",
    formula="model.train()",
    hint="What is model.training while your step runs?",
)
def train_mode_missing(steps: Steps) -> list[Steps]:
    return [
        replace(steps, mode=lambda _model: None),
        replace(steps, mode=lambda model: model.eval()),
        replace(steps, mode=lambda _model: None, after=lambda model, _optimizer: model.train()),
    ]


@mistake(
    "left-in-eval-mode",
    "The model is in eval mode after the step; it must stay in train mode.",
    formula="model.train()",
    hint="Which line changes the mode back?",
)
def left_in_eval_mode(steps: Steps) -> Steps:
    return replace(steps, after=lambda model, _optimizer: model.eval())


@mistake(
    "rate-changed",
    "The step changes the learning rate of the optimizer; only the caller should.",
    hint="Who sets param_groups[0]['lr']?",
)
def rate_changed(steps: Steps) -> Steps:
    def after(_model: Any, optimizer: Any) -> None:
        for group in optimizer.param_groups:
            group["lr"] *= 0.5

    return replace(steps, after=after)


@mistake(
    "target-changed",
    "src or tgt is modified in place; the caller uses both again.",
    hint="Assignments to tgt[...] modify the caller's tensor.",
)
def target_changed(steps: Steps) -> list[Steps]:
    def shift(tgt: Tensor) -> Tensor:
        given = steps.shift(tgt.clone())
        tgt[tgt == PAD] = -100
        return given

    def spoil(tgt: Tensor) -> Tensor:
        given = steps.shift(tgt.clone())
        wanted = tgt.clone()
        tgt[:, 0] = SOS
        tgt[:, 1:] = wanted[:, :-1]
        return given

    ignoring = replace(steps, shift=shift, loss=lambda logits, tgt: entropy(logits, tgt))
    return [ignoring, replace(steps, shift=spoil)]
