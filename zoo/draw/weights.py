"""The attention weights of a model on one text: every layer and head of encoder, decoder and cross-attention."""

from __future__ import annotations

import inspect
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor, nn

from zoo.core.errors import ZooError, unknown_name
from zoo.core.plugins import get_registry
from zoo.draw.canvas import HIDDEN, heat, is_signed, limits_of, new_figure, printable, shortened, styled
from zoo.draw.subjects import (
    STACKS,
    START,
    TITLES,
    check_numbers,
    check_shown,
    describe,
    no_weights,
    open_subject,
)
from zoo.models.transformer import Model, Transformer
from zoo.parts.attention.eager import EagerAttention
from zoo.training.tasks.base import SOS

WIDEST, TALLEST = 13.0, 60.0
CELL, PANEL = 0.17, 1.9
"""Inches: the most that a figure has, of a token's row or column, and the least of a panel."""
LONGEST_LABEL = 14
MOST_NUMBERS = 400
"""Cells up to which those of a single head have their weights written in them."""
AXES = {
    "encoder": ("source token (query)", "source token (key)"),
    "decoder": ("token to write (query)", "token so far (key)"),
    "cross": ("token to write (query)", "source token (key)"),
}
ALONE = ("token (query)", "token (key)")
PATCHES = ("patch: row, column (query)", "patch: row, column (key)")
"""The names of axes; of a model of one stack, which reads tokens or the patches of an image."""

AGAIN = "weights by eager, with the same parameters"
"""Said of variants that never form theirs."""


class Block(NamedTuple):
    """The weights [H, Tq, Tk] of one attention, masked where its mask hides a key, with their labels."""

    stack: str
    layer: int
    weights: Any
    queries: Sequence[str]
    keys: Sequence[str]
    axes: tuple[str, str]


@styled
def attention(
    model: Model | str | Path,
    src: Sequence[int] | Tensor | str,
    tgt: Sequence[int] | Tensor | str | None = None,
    *,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
    stack: str | None = None,
    layer: int | None = None,
    head: int | None = None,
    decoding: str | None = None,
    allow_code: bool = False,
    title: str = "",
) -> Figure:
    """Draw the attention weights of a model: a panel for each head.

    A row of a panel is a query, a column a key; the weights of a row add up to 1 in most variants. Rows of the
    decoder are named after the token that is written there. Variants that never form their weights are computed
    again by `eager` with the same parameters; where layers have different variants, each is shown by its own.

    Args:
        model: a model of any assembly, with ids as `src` and `tgt`; or the folder of a trained one, with texts.
        src: source ids [S], or a text; of a model of one stack, all that it reads; an image [C, H, W] for one that
            reads images.
        tgt: ids that are written [L], the first after SOS; or a text; what the model writes if None. A model of one
            stack has none.
        source, target: labels of `src` and `tgt` given as ids.
        stack: "encoder", "decoder" or "cross" alone.
        layer, head: these alone, counted from 1.
        decoding: how the answer of a folder's model is chosen, "beam:size=4" for one.
        allow_code: whether a folder's parts from files may be imported and run.

    Raises:
        ZooError: no such layer or head; no weights to show; a text that the model cannot take.
    """
    if stack is not None and stack not in STACKS:
        raise unknown_name("stack", stack, STACKS)
    if not isinstance(model, nn.Module):
        folder, text = Path(model), str(src)
        check_shown(describe(folder).blueprint, stack, layer, head)
        goal = None if tgt is None else str(tgt)
        subject = open_subject(folder, text, goal, decoding, allow_code=allow_code)
        model, src, tgt, source, target = subject[:5]
        wrote = f" → {shortened(subject.answer, 60)}" if tgt is not None else ""
        title = title or f"{folder.name}: {shortened(text, 60)}{wrote}"
    modules = attentions(model)
    check_numbers(Counter(name for name, _ in modules), stack, _heads(model), layer, head)
    found = [
        block
        for block in _blocks_of(model, src, tgt, source, target)
        if stack in (None, block.stack) and layer in (None, block.layer)
    ]
    shown = [modules[block.stack, block.layer] for block in found]
    if any(shower_of(one) is not one for one in shown):
        title = f"{title}\n{AGAIN}".lstrip()
    if head is not None:
        found = [block._replace(weights=block.weights[head - 1 : head]) for block in found]
    return _picture(found, head, title)


def _ids(ids: Sequence[int] | Tensor | str) -> list[int]:
    if isinstance(ids, str):
        raise ZooError("A text needs the folder of a trained model; give ids to a model by itself.")
    return torch.as_tensor(ids).flatten().tolist()


def _blocks_of(
    model: Model,
    src: Sequence[int] | Tensor | str,
    tgt: Sequence[int] | Tensor | str | None,
    source: Sequence[str] | None,
    target: Sequence[str] | None,
) -> list[Block]:
    """The blocks of a model of any assembly. Raises ZooError."""
    if len(model.stacks) == 1:
        if tgt is not None:
            raise ZooError(f"A {type(model).__name__} reads one text and writes none: omit `tgt`.")
        if model.reads == "images":
            return _of_patches(model, src)
        return _of_one_stack(model, _ids(src), source)
    if tgt is None:
        raise ZooError("Give the ids that are written as `tgt`, or the folder of a trained model.")
    return blocks(cast("Transformer", model), _ids(src), _ids(tgt), source, target)


def _heads(model: Model) -> int:
    return max(int(getattr(one, "num_heads", 1)) for one in attentions(model).values())


def attentions(model: Model) -> dict[tuple[str, int], nn.Module]:
    """All attentions of a model by stack and layer, counted from 1. Raises ZooError if it is not of the zoo."""
    found: dict[tuple[str, int], nn.Module] = {}
    for stack in getattr(model, "stacks", ()):
        layers: Any = model.get_submodule(f"{stack}.layers")
        found |= {(stack, number): layer.self_attention for number, layer in enumerate(layers, 1)}
    if len(getattr(model, "stacks", ())) == 2:
        layers = model.get_submodule("decoder.layers")
        found |= {("cross", number): layer.cross_attention for number, layer in enumerate(layers, 1)}
    if not found:
        raise ZooError(
            f"A {type(model).__name__} has no attention of the zoo to draw: expected a model of "
            "`zoo.models.builder.build`, or the folder of a trained one."
        )
    return found


def blocks(
    model: Transformer,
    src: Sequence[int],
    tgt: Sequence[int],
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
) -> list[Block]:
    """The weights of every attention of `model` when it reads `src` [S] and writes `tgt` [L]. Raises ZooError."""
    source = [printable(one) for one in (source or list(map(str, src)))]
    target = [printable(one) for one in (target or list(map(str, tgt)))]
    for what, ids, names in (("source", src, source), ("target", tgt, target)):
        if not ids or len(ids) != len(names):
            raise ZooError(f"There are {len(ids)} {what} tokens and {len(names)} labels for them.")
    source, target = ([shortened(one, LONGEST_LABEL) for one in side] for side in (source, target))
    device = next(model.parameters()).device
    read = torch.tensor([src], device=device)  # [S] -> [1, S]
    fed = torch.tensor([[SOS, *tgt[:-1]]], device=device)  # [L] -> [1, L]
    weights = captured(model, read, fed)
    keep = {"decoder": model.masking.tgt(fed, fed.size(1)), "encoder": None, "cross": None}
    labels = {
        "encoder": (source, source),
        "decoder": (target, [START, *target[:-1]]),
        "cross": (target, source),
    }
    return [
        Block(stack, layer, _masked(found, keep[stack]), *labels[stack], AXES[stack])
        for (stack, layer), found in weights.items()
    ]


def _of_one_stack(model: Any, ids: Sequence[int], names: Sequence[str] | None) -> list[Block]:
    """The blocks of a model that reads one text. Raises ZooError."""
    labels = [shortened(printable(one), LONGEST_LABEL) for one in (names or list(map(str, ids)))]
    if not ids or len(ids) != len(labels):
        raise ZooError(f"There are {len(ids)} tokens and {len(labels)} labels for them.")
    read = torch.tensor([ids], device=next(model.parameters()).device)  # [T] -> [1, T]
    keep = model.masking.tgt(read, read.size(1)) if model.stacks == ("decoder",) else None
    return [
        Block(stack, layer, _masked(found, keep), labels, labels, ALONE)
        for (stack, layer), found in captured(model, read).items()
    ]


def _of_patches(model: Any, image: Any) -> list[Block]:
    """The blocks of a model that reads an image [C, H, W]. Raises ZooError."""
    shape = list(model.embeddings.shape)
    if not isinstance(image, Tensor) or list(image.shape[-3:]) != shape or image.numel() != math.prod(shape):
        got = f"a tensor {list(image.shape)}" if isinstance(image, Tensor) else type(image).__name__
        raise ZooError(f"This model reads images: expected a tensor {shape}, got {got}.")
    like = next(model.parameters())
    found = captured(model, image.reshape(1, *shape).to(like.device, like.dtype))
    across = shape[-1] // model.embeddings.patch_size
    tokens = next(iter(found.values())).size(-1)
    extra = tokens - across * (shape[-2] // model.embeddings.patch_size)
    labels = ["class"] * extra + [f"{i // across + 1},{i % across + 1}" for i in range(tokens - extra)]
    return [
        Block(stack, layer, _masked(weights, None), labels, labels, PATCHES)
        for (stack, layer), weights in found.items()
    ]


def _masked(weights: Tensor, keep: Tensor | None) -> Any:
    """Weights [H, Tq, Tk] as a masked array; masked where `keep` [1, 1, Tq, Tk] is False and nothing is attended."""
    array = weights.float().cpu().numpy()
    if keep is None:
        return np.ma.masked_array(array, mask=np.zeros(array.shape, bool))
    hidden = ~keep[0].expand(weights.shape).cpu().numpy() & (array == 0)  # [1, Tq, Tk] -> [H, Tq, Tk]
    return np.ma.masked_array(array, mask=hidden)


@torch.no_grad()
def captured(model: Model, *inputs: Tensor) -> Mapping[tuple[str, int], Tensor]:
    """The weights [H, Tq, Tk] of each attention in one forward pass in eval mode; inputs [1, ...].

    Raises ZooError for an attention without weights to show, or a text that the model cannot take.
    """
    found: dict[tuple[str, int], Tensor] = {}
    handles = []
    for place, module in attentions(model).items():
        shower = shower_of(module)

        def look(
            module: nn.Module,
            args: tuple[Any, ...],
            kwargs: dict[str, Any],
            _output: Any,
            place: tuple[str, int] = place,
            shower: Any = shower,
        ) -> None:
            given = inspect.signature(module.forward).bind(*args, **kwargs).arguments
            positions = given.get("positions")
            more = {} if positions is None else {"positions": positions}
            _, weights = shower.forward_with_weights(*list(given.values())[:4], **more)
            found[place] = weights[0]  # [1, H, Tq, Tk] -> [H, Tq, Tk]

        handles.append(module.register_forward_hook(look, with_kwargs=True))
    try:
        with _evaluating(model):
            model(*inputs)
    except ValueError as error:
        raise ZooError(f"The model cannot take this text: {error}") from error
    except IndexError as error:
        raise ZooError("The model cannot take this text: an id is not in its vocabulary.") from error
    finally:
        for handle in handles:
            handle.remove()
    return {place: found[place] for place in attentions(model)}


@contextmanager
def _evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode for a time."""
    training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(training)


def shower_of(module: nn.Module) -> nn.Module:
    """Return what shows the weights of an attention: itself, or `eager` with its parameters. Raises ZooError."""
    if hasattr(module, "forward_with_weights"):
        return module
    path = f"{type(module).__module__}:{type(module).__qualname__}"
    exact = {one.path for one in get_registry().variants("attention") if one.capabilities["exact"]}
    if path not in exact:
        raise no_weights(f"The attention {type(module).__name__}")
    state = module.state_dict()  # by the names that all attentions share, however they store them
    weight = state["q_proj.weight"]
    eager = EagerAttention(weight.size(1), int(module.num_heads), bias="q_proj.bias" in state)  # type: ignore[arg-type]
    eager.to(weight.device, weight.dtype).load_state_dict(state)
    return eager.eval()


def _picture(found: Sequence[Block], head: int | None, title: str) -> Figure:
    """A row of panels for each block, wrapped where they are too many."""
    arrays = [block.weights for block in found]
    signed = any(map(is_signed, arrays))
    limits = limits_of(arrays, signed)
    if not signed and limits[1] > 0.5:
        limits = (0.0, 1.0)
    single = len(found) == 1 and len(found[0].weights) == 1
    cell = 0.42 if single else CELL
    across = max(PANEL, cell * max(len(block.keys) for block in found))
    heights = [max(PANEL, cell * len(block.queries)) for block in found]
    heads = max(map(len, arrays))
    columns = next(n for n in range(heads, 0, -1) if heads % n == 0 and (n == 1 or n * across <= WIDEST - 2))
    lines = heads // columns
    named = sum(height + 1 for height in heights) * lines <= TALLEST
    if not named:  # an overview: tokens would take a wall
        across, heights, columns, lines = PANEL, [PANEL] * len(found), heads, 1
    figure = new_figure(
        max(4.5, columns * (across + 0.15) + 2.2),
        sum(height + (0.95 if named else 0.5) for height in heights) * lines + 0.6,
        title,
    )
    ratios = [height for height in heights for _ in range(lines)]
    axes = figure.subplots(len(ratios), columns, squeeze=False, height_ratios=ratios)
    for row, block in enumerate(found):
        query, key = block.axes
        for number, weights in enumerate(block.weights):
            line, column = row * lines + number // columns, number % columns
            panel = axes[line, column]
            image = heat(
                panel,
                weights,
                rows=block.queries if named else [],
                columns=block.keys if named else [],
                signed=signed,
                limits=limits,
            )
            panel.set_title(f"head {head if head is not None else number + 1}")
            if column == 0:
                panel.set_ylabel(f"{TITLES[block.stack]}, layer {block.layer}\n{query}")
                panel.set_xlabel(key)
            else:
                panel.tick_params(labelleft=False)
            if single and weights.size <= MOST_NUMBERS:
                _write_numbers(panel, weights, limits)
    bar = figure.colorbar(image, ax=axes, shrink=min(1.0, 3.5 / figure.get_figheight()), aspect=18, pad=0.02)
    bar.set_label("attention weight" if signed else "attention weight (share of the row)")
    bar.outline.set_visible(False)
    if any(np.ma.is_masked(array) for array in arrays):
        hidden = [Patch(color=HIDDEN, label="hidden by the mask")]
        figure.legend(handles=hidden, loc="outside lower right")
    return figure


def _write_numbers(axes: Axes, weights: Any, limits: tuple[float, float]) -> None:
    """Write each weight into its cell, in black or white, whichever is easier to read there."""
    for (row, column), weight in np.ndenumerate(weights):
        if np.ma.is_masked(weights[row, column]):
            continue
        light = (weight - limits[0]) / (limits[1] - limits[0]) > 0.6
        number = f"{weight:.2f}".replace("0.", ".", 1)
        axes.text(
            column, row, number, ha="center", va="center", fontsize=7, color="black" if light else "white"
        )
