"""Properties of a whole model with the part in it."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.analysis.checks.base import DoesNotApply, DoesNotHold, Properties
from zoo.analysis.checks.common import finite, moved, same
from zoo.analysis.checks.part import ALLOWED, PAD, SOS, VOCAB, Part, other_words, ragged, words
from zoo.core.recipe import Recipe
from zoo.models.builder import build, build_decoding, build_loss, build_optimizer, build_schedule
from zoo.models.transformer import Model
from zoo.models.trial import Tokens
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.stepper import Stepper

WHOLE, INSIDE = Properties(), Properties()
"""For every axis; and for those whose part is inside the model, not around it."""


def src() -> Tensor:
    """Sources with padding: [3, 5]."""
    return ragged(words(3, 5))


def tgt() -> Tensor:
    """[3, 6]."""
    return words(3, 6, seed=1)


def read_by(model: Model, src: Tensor, tgt: Tensor) -> tuple[Tensor, ...]:
    """The inputs that `model` takes of a source and a target: the side of each of its stacks."""
    if model.reads != "tokens":
        raise DoesNotApply(f"The model reads {model.reads}.")
    return Tokens(src, tgt, tgt).read_by(model)


def run(model: Model, src: Tensor, tgt: Tensor) -> Tensor:
    """The output of `model`: [B, L, V], or [B, S, V] without a decoder."""
    return model(*read_by(model, src, tgt))  # type: ignore[no-any-return]


def must_have(model: Model, stack: str) -> None:
    """Raises DoesNotApply for a model without an "encoder", or "decoder"."""
    if stack not in model.stacks:
        raise DoesNotApply(f"The model has no {stack}.")


@WHOLE("in a model: trains, with finite gradients that reach every parameter")
def trains(part: Part) -> None:
    """Two steps with dropout, on a batch with padding."""
    model, recipe = (
        build(part.blueprint, seed=0, registry=part.registry, allow=ALLOWED),
        Recipe(steps=2, warmup=1),
    )
    optimizer = build_optimizer(part.blueprint, model, recipe, part.registry)
    measure = build_loss(part.blueprint, part.registry)
    schedule = build_schedule(part.blueprint, 2, 1, part.registry)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    highest = optimizer.param_groups[0]["lr"]
    for step in range(2):
        optimizer.param_groups[0]["lr"] = highest * schedule(step)
        output = run(model, src(), tgt())
        labels = ragged(words(3, read_by(model, src(), tgt())[-1].size(1), seed=1))
        if tuple(output.shape) != (*labels.shape, VOCAB):
            expected = [*labels.shape, VOCAB]
            raise DoesNotHold(f"The model's output has shape {list(output.shape)}, not {expected}.")
        loss = finite(measure(output, labels), "The loss")
        optimizer.zero_grad()
        loss.backward()
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and parameter.grad is None:
                raise DoesNotHold(f"No gradient reaches {name}.")
            if parameter.grad is not None:
                finite(parameter.grad, f"The gradient of {name}")
        optimizer.step()
    for parameter in model.parameters():
        finite(parameter, "A weight after two steps")
    if all(torch.equal(now, then) for now, then in zip(model.parameters(), before, strict=True)):
        raise DoesNotHold("Two steps of training change no weight.")


@WHOLE("in a model: generates answers")
def answers(part: Part) -> None:
    """With the decoding that is chosen; tokens of the vocabulary."""
    model, decoding = part.model(), build_decoding(part.blueprint, part.registry)
    must_have(model, "decoder")
    got = generate(model, src(), 4, decoding)
    if got.dim() != 2 or got.size(0) != 3 or not 1 <= got.size(1) <= 4:
        raise DoesNotHold(f"Expected answers of shape [3, at most 4], got {list(got.shape)}.")
    if not (got.min() >= 0 and got.max() < VOCAB):
        raise DoesNotHold("An answer has a token that is not in the vocabulary.")


@INSIDE("in a model: no later target token changes earlier logits")
def causal(part: Part) -> None:
    """And every token changes those at its own place."""
    model, target = part.model(), tgt()
    must_have(model, "decoder")
    before = run(model, src(), target)
    for place in range(1, target.size(1)):
        changed = target.clone()
        changed[:, place] = other_words(target)[:, place]
        after = run(model, src(), changed)
        same(after[:, :place], before[:, :place], f"Another target token {place} changed earlier logits")
        if not moved(after[:, place], before[:, place]):
            raise DoesNotHold(f"Another target token {place} changes nothing at its own place.")


@INSIDE("in a model: every source token reaches every logit")
def source(part: Part) -> None:
    """Unlike the target, the source is seen whole."""
    model, tokens = part.model(), words(2, 5)
    must_have(model, "encoder")
    before = run(model, tokens, tgt()[:2])
    for place in range(5):
        changed = tokens.clone()
        changed[:, place] = other_words(tokens)[:, place]
        change = (run(model, changed, tgt()[:2]) - before).abs().amax(-1)
        if not torch.all(change > 0):
            raise DoesNotHold(f"Source token {place} has no influence on some logits.")


@INSIDE("in a model: padding does not affect other positions")
def padding(part: Part) -> None:
    """Rows padded together give what each gives alone."""
    model = part.model()
    if part.axis == "masking" and model.masking.src(src()) is None:
        raise DoesNotApply("Its masks hide no padding.")
    padded_src = torch.nn.functional.pad(src(), (0, 3), value=PAD)
    padded_tgt = torch.nn.functional.pad(ragged(tgt()), (0, 2), value=PAD)
    together = finite(run(model, padded_src, padded_tgt), "With padding, the output")
    for row in range(3):
        alone_src = padded_src[row][padded_src[row] != PAD][None]
        alone_tgt = padded_tgt[row][padded_tgt[row] != PAD][None]
        expected = run(model, alone_src, alone_tgt)
        got = together[row : row + 1, : expected.size(1)]
        same(got, expected, "Padding changes the logits at other positions")


@INSIDE("in a model: rows of a batch are independent")
def rows(part: Part) -> None:
    """Each row alone gives what it gives in the batch."""
    model = part.model()
    together = run(model, src(), tgt())
    for row in range(3):
        one = slice(row, row + 1)
        same(
            run(model, src()[one], tgt()[one]),
            together[one],
            "A row alone gives other logits than in a batch",
        )


@INSIDE("in a model: cached decoding matches recomputing everything")
def cached(part: Part) -> None:
    """Step by step, with rows that are reordered, repeated, dropped, and one that ends."""
    model = part.model()
    must_have(model, "decoder")
    if not model.cacheable:
        raise DoesNotApply(
            "It does not declare cacheable."
            if not part.variant.capabilities.get("cacheable", True)
            else "Another part of the model is not cacheable."
        )
    with torch.no_grad():
        given = src() if "encoder" in model.stacks else words(3, 5)  # a prompt has no padding
        steppers = [Stepper(model, given, cached) for cached in (True, False)]
        tokens = torch.full((3,), SOS)
        for step in range(8):
            going = slice(None) if step < 6 else slice(1)
            got, expected = (stepper.step(tokens)[going] for stepper in steppers)
            same(got, expected, f"With a cache, step {step + 1} gives other logits")
            for stepper in steppers:
                if step == 2:
                    stepper.select(torch.tensor([1, 0, 2, 2]))
                if step == 4:
                    stepper.select(torch.tensor([3, 0]))
            tokens = words(1, steppers[0].tokens.size(0), seed=step)[0]
            if step >= 5:
                tokens[1] = PAD  # this row has ended


@INSIDE("in a model: its weights are in state_dict")
def saved(part: Part) -> None:
    """A model from another seed with these weights gives the same logits."""
    model, other = part.model(0), part.model(1)
    other.load_state_dict(model.state_dict())
    same(
        run(other, src(), tgt()),
        run(model, src(), tgt()),
        "A model with the weights of another gives other logits",
    )


@INSIDE("in a model: deterministic in eval mode")
def steady(part: Part) -> None:
    """Also after other sentences, more and longer ones."""
    model = part.model()
    before = run(model, src(), tgt())
    longest = part.sizes.max_len
    run(model, words(4, longest, seed=2), words(4, longest, seed=3))
    if moved(run(model, src(), tgt()), before):
        raise DoesNotHold("The logits change after a call with other sentences.")
