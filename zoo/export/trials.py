"""Trials of a small model: to see what its parts do, and to prove that a file computes the same."""

from __future__ import annotations

import inspect
import sys
import types
from dataclasses import fields
from typing import Any, cast

import torch
from torch import Tensor

from zoo.core.blueprint import Blueprint, Sizes
from zoo.core.errors import ZooError, describe_exception
from zoo.core.plan import make_plan
from zoo.models.builder import build
from zoo.models.transformer import Model

HEAD_WIDTH, VOCABULARY = 8, 40
LONG, LONGEST, STEPS = 80, 1100, 40
"""Lengths that are tried: beyond blocks and windows, as far as those of the options go; and steps of decoding."""
DROPOUT = 0.125
"""Of the small model that is watched: not 0, so that a dropout of 0 is one that was chosen."""


def small(blueprint: Blueprint, width: int = HEAD_WIDTH) -> Blueprint:
    """The same parts in small, to be watched: heads, layers and options as they are; `width` is that of a head."""
    sizes = blueprint.sizes
    vocabulary = max(VOCABULARY, sizes.pad + 8)
    shared = sizes.src_vocab == sizes.tgt_vocab
    choices = [one for first in blueprint.choices.values() for one in (first, *first.then)]
    numbers = [v for choice in choices for v in choice.options.values() if type(v) is int]
    length = max([LONG, *(n + 8 for n in numbers if n + 8 <= LONGEST)])
    return blueprint.with_sizes(
        d_model=sizes.num_heads * width,
        d_ff=sizes.num_heads * width + 4,
        src_vocab=vocabulary,
        tgt_vocab=vocabulary if shared else vocabulary + 3,
        max_len=sizes.max_len if make_plan(blueprint).reads_images else min(sizes.max_len, length),
        dropout=DROPOUT,
    )


def samples(model: Model, sizes: Sizes) -> list[tuple[Tensor, ...]]:
    """Small batches of what the model's `forward` takes: padded and not, of several lengths."""
    generator = torch.Generator().manual_seed(0)
    if model.reads == "images":
        shape = cast(Any, model).embeddings.shape
        return [(torch.randn(rows, *shape, generator=generator),) for rows in (3, 1, 2)]

    def side(vocab: int, rows: int, length: int, padded: bool) -> Tensor:
        ids = torch.randint(vocab - 1, (rows, length), generator=generator)
        ids += ids >= sizes.pad
        if padded:
            kept = torch.tensor([length, max(1, length - 1), 0][:rows])  # a row of nothing but padding
            ids = ids.masked_fill(torch.arange(length) >= kept[:, None], sizes.pad)
        return ids

    found = []
    longest = sizes.max_len
    for rows, src, tgt in ((3, 6, 5), (1, 1, 1), (2, longest, longest)):
        for padded in (True, False):
            sides = {
                "encoder": side(sizes.src_vocab, rows, min(src, longest), padded),
                "decoder": side(sizes.tgt_vocab, rows, min(tgt, longest), padded),
            }
            found.append(tuple(value for stack, value in sides.items() if stack in model.stacks))
    return found


def exercise(model: Model, sizes: Sizes) -> None:
    """All that is done with a model: training, evaluation with gradients and without, answers token by token."""
    was = model.training
    given = samples(model, sizes)
    for training in (True, False):
        model.train(training)
        for tokens in given:
            model(*tokens)
    with torch.no_grad():
        for tokens in given:
            model(*tokens)
    if "decoder" in model.stacks:
        with torch.no_grad():
            for tokens in given[:4]:
                answer(model, tokens, min(STEPS, sizes.max_len), sizes.pad)
    model.train(was)


def answer(model: Any, tokens: tuple[Tensor, ...], steps: int, pad: int) -> Tensor:
    """Greedy decoding as the file does it, with caches where the model can; the scores of the last step.

    `pad` is never chosen, and no answer begins with it.
    """
    caches = model.new_caches() if model.cacheable else None
    more = () if caches is None else (caches,)
    reads = "encoder" in model.stacks
    padded = reads and "src" in inspect.signature(model.decode).parameters
    sides = (*((model.encode(tokens[0]),) if reads else ()), *((tokens[0],) if padded else ()))
    so_far = tokens[-1][:, :1]
    so_far = so_far.masked_fill(so_far == pad, pad + 1)
    scores = so_far.new_zeros(())
    for _ in range(steps):
        scores = model.decode(so_far, *sides, *more)[:, -1]
        scores[:, pad] = -torch.inf
        so_far = torch.cat((so_far, scores.argmax(-1, keepdim=True)), dim=1)
    return scores


def load_text(text: str, name: str) -> types.ModuleType:
    """A file's text as a module."""
    module = types.ModuleType(name)
    sys.modules[name] = module  # dataclasses and torch's compiler look their module up there
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    return module


def prove(text: str, name: str, blueprint: Blueprint) -> None:
    """Run the file and a model of other sizes than the watched one, with the same weights.

    Raises ZooError unless results are equal to the last bit.
    """
    where = "The file was not written, as it does not compute what the model does: "
    try:
        model: Model = build(blueprint, seed=1)
        module = load_text(text, "zoo_exported")
        sizes = {one.name: getattr(blueprint.sizes, one.name) for one in fields(module.Config)}
        other = getattr(module, name)(module.Config(**sizes))
        other.load_state_dict(model.state_dict())
        model.eval()
        other.eval()
        for tokens in samples(model, blueprint.sizes):
            if not _same(model(*tokens), other(*tokens)):
                raise ZooError(f"{where}the scores differ.")
            with torch.no_grad():
                if not _same(model(*tokens), other(*tokens)):
                    raise ZooError(f"{where}the scores without gradients differ.")
            if "decoder" in model.stacks:
                with torch.no_grad():
                    other.cacheable, other.stacks = model.cacheable, model.stacks
                    more = min(STEPS, blueprint.sizes.max_len), blueprint.sizes.pad
                    if not _same(answer(model, tokens, *more), answer(other, tokens, *more)):
                        raise ZooError(f"{where}what it generates differs.")
    except ZooError:
        raise
    except Exception as error:
        raise ZooError(f"{where}{describe_exception(error)}") from error
    finally:
        sys.modules.pop("zoo_exported", None)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one.nan_to_num(7.0), other.nan_to_num(7.0))
