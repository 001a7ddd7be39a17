"""A trained model's answer to one text: tokens in, tokens out. Torch is imported when a model is loaded."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zoo.core.blueprint import Blueprint
from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors, require_part
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant
from zoo.core.tasks import get_task

if TYPE_CHECKING:
    from zoo.models.transformer import Model
    from zoo.training.tasks.base import AlignedData, TaskData

INDEX, RUN, BEST = "zoo.json", "run.json", "best"
STACKS = ("encoder", "decoder", "cross")
"""Self-attention of the encoder, self-attention of the decoder, the decoder's attention over the source."""
TITLES = {"encoder": "encoder", "decoder": "decoder", "cross": "cross-attention"}
START, END = "<s>", "</s>"


class Subject(NamedTuple):
    """A model in eval mode with one text and what was written for it.

    `src` and `tgt` are ids, `source` and `target` their labels; `tgt` ends with EOS unless the model never did. Of a
    model of one stack, which reads a text and writes none, `tgt` and `target` are None, and `answer` is "".
    """

    model: Model
    src: list[int]
    tgt: list[int] | None
    source: list[str]
    target: list[str] | None
    answer: str


class Described(NamedTuple):
    """A description of the model in a folder, read without torch; `task` is "" where none was noted."""

    blueprint: Blueprint
    task: str


def describe(folder: Path) -> Described:
    """The blueprint and task of a trained model's folder. Raises ZooError for a folder that has none."""
    blueprint, task, _ = _described(folder)
    return Described(blueprint, task)


def _described(folder: Path) -> tuple[Blueprint, str, dict[str, Any]]:
    """As `describe`, with what the folder keeps of the task's data."""
    path = next((folder / name for name in (RUN, INDEX) if (folder / name).is_file()), None)
    if path is None:
        missing = f"it has no {INDEX} or {RUN}" if folder.is_dir() else "there is no such folder"
        raise ZooError(
            f"'{folder}' is not a trained model: {missing}. `zoo train --save DIR` and "
            "`zoo train translate RUN` make one."
        )
    with reporting_os_errors(f"{path} cannot be read"):
        data = path.read_bytes()
    try:
        index: dict[str, Any] = json.loads(data)
        blueprint = Blueprint.from_json(index["blueprint"])
        extra = {} if path.name == RUN else index["extra"]
        task, saved = extra.get("task", index.get("task")), extra.get("data")
        weights = index.get("weights")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ZooError(f"{path} is damaged or not written by `zoo train`.") from error
    if isinstance(weights, str):
        require_part(folder / weights)
    return blueprint, task if isinstance(task, str) else "", saved if isinstance(saved, dict) else {}


def check_shown(blueprint: Blueprint, stack: str | None, layer: int | None, head: int | None) -> None:
    """Raises ZooError for a layer or head that the model lacks, and for an attention that has no weights to show."""
    sizes, plan = blueprint.sizes, make_plan(blueprint)
    if plan.reads_images:
        raise ZooError(
            f"This model has assembly={plan['assembly'].name} and reads images, not text. In Python, "
            "`zoo.draw.attention(model, image)` draws its attention weights."
        )
    layers = {"encoder": sizes.num_encoder_layers, "decoder": sizes.num_decoder_layers}
    layers = {one: count for one, count in layers.items() if plan.has(one)}
    if len(layers) > 1:
        layers["cross"] = sizes.num_decoder_layers
    check_numbers(layers, stack, sizes.num_heads, layer, head)
    registry = get_registry()
    for kind, _ in plan.kinds:
        own = kind["attention"].variant
        across = own.capabilities["cross"]
        for variant in (own, *([registry.get("attention", across)] if across and "cross" in layers else [])):
            if variant.is_file:
                raise no_weights(
                    f"attention={variant.name}", "of a part from a file only the output is known"
                )
            if not showing(variant):
                raise no_weights(f"attention={variant.name}")


def check_numbers(
    layers: dict[str, int], stack: str | None, heads: int, layer: int | None, head: int | None
) -> None:
    """Raises ZooError for a stack that a model lacks, or a layer or head, counted from 1, that none of these has.

    Args:
        layers: how many each stack of the model has.
        stack: the one that is drawn; all if None.
        heads: of each attention.
        layer, head: those that are drawn; all if None.
    """
    if stack is not None:
        if stack not in layers:
            raise ZooError(
                f"This model has no {TITLES[stack]}. It has: {', '.join(TITLES[one] for one in layers)}."
            )
        layers = {stack: layers[stack]}
    most = max(layers.values())
    if layer is not None and not 1 <= layer <= most:
        have = ", ".join(f"{name} {count}" for name, count in layers.items())
        raise ZooError(f"There is no layer {layer}: the model has, counted from 1, {have}.")
    if head is not None and not 1 <= head <= heads:
        raise ZooError(f"There is no head {head}: the model has {heads}, counted from 1.")


def showing(variant: Variant) -> bool:
    """Return whether the weights of an attention can be shown: by itself, or by `eager` with the same parameters."""
    return bool(variant.capabilities["returns_weights"] or variant.capabilities["exact"])


def no_weights(
    what: str,
    why: str = "it has no method forward_with_weights, and is not declared equal to attention=eager",
) -> ZooError:
    """The error for an attention without weights to show."""
    names = ", ".join(one.name for one in get_registry().variants("attention") if showing(one))
    return ZooError(f"{what} has no weights to show: {why}. These can be drawn: {names}.")


class Encoded(NamedTuple):
    """A text as a model's tokens, and how the tokens of an answer are read. Made without torch.

    `tgt` is None where no target was given; `longest` is the most tokens of an answer.
    """

    src: list[int]
    source: list[str]
    tgt: list[int] | None
    decode: Callable[[Sequence[int]], str]
    longest: int


def encode(folder: Path, text: str, target: str | None = None) -> Encoded:
    """`text`, and `target` if there is one, as tokens of the model in `folder`. Raises ZooError if it takes neither."""
    blueprint, task, saved = _described(folder)
    most = blueprint.sizes.max_len
    if (folder / RUN).is_file():
        found = _by_tokenizers(folder, text, target, most)
    elif task == "translate":
        raise ZooError(f"'{folder}' is a part of a run: name the run's folder, the one with {RUN} in it.")
    elif not task:
        raise ZooError(
            f"The model in '{folder}' was trained on no task. `zoo train --save DIR` trains and saves one."
        )
    elif len(make_plan(blueprint)["assembly"].capabilities["stacks"]) == 1:
        found = _by_reading(task, saved, text, target)
    else:
        found = _by_task(task, text, target)
    for what, ids in (("text", found.src), ("target", found.tgt or ())):
        if len(ids) > most:
            raise ZooError(f"The {what} has {len(ids)} tokens, and the model takes at most {most}.")
    if not found.src:
        raise ZooError("The text is empty.")
    return found


def _task_class(name: str) -> Any:
    module, _, attribute = get_task(name).path.partition(":")
    return getattr(importlib.import_module(module), attribute)


def _by_reading(name: str, saved: dict[str, Any], text: str, target: str | None) -> Encoded:
    """A text for a model of one stack, which writes no answer to it."""
    if target is not None:
        raise ZooError(f"A model of the task {name} has one stack and writes no target: omit --target.")
    try:
        task: AlignedData = _task_class(name).restored(saved)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ZooError(
            f"What the checkpoint says about its task '{name}' is damaged. Train again."
        ) from error
    src, labels = task.read(text)
    return Encoded(src, labels, None, lambda _: "", 0)


def _by_task(name: str, text: str, target: str | None) -> Encoded:
    from zoo.training.tasks.base import EOS

    task: TaskData = _task_class(name)()
    src = task.encode(text)
    parts = next((one for one in (list(text), text.split()) if len(one) == len(src)), None)
    try:
        tgt = None if target is None else [*task.encode_answer(target), EOS]
    except (KeyError, ValueError) as error:
        raise ZooError(
            f"The target {target!r} is not an answer of the task {name}: no token for {error}."
        ) from error
    return Encoded(src, parts or [str(i) for i in src], tgt, task.decode, task.max_len)


def _by_tokenizers(folder: Path, text: str, target: str | None, most: int) -> Encoded:
    from zoo.training.tasks.base import EOS
    from zoo.training.translation.tokenizer import Subwords

    together = folder / "tokenizer.json"
    paths = (
        [together] * 2
        if together.is_file()
        else [folder / f"{side}.tokenizer.json" for side in ("src", "tgt")]
    )
    source, goal = map(Subwords.load, paths)
    src = source.encode(text)
    tgt = None if target is None else [*goal.encode(target), EOS]
    return Encoded(src, [source.decode([i]) for i in src], tgt, goal.decode, most)


def open_subject(
    folder: Path,
    text: str,
    target: str | None = None,
    decoding: str | None = None,
    *,
    allow_code: bool = False,
) -> Subject:
    """The model of a folder with `text`, and with what it writes for it, or with `target`.

    Args:
        folder: of `zoo train --save DIR`, or of `zoo train translate RUN`.
        target: a text in place of the model's own answer.
        decoding: how the answer is chosen, as a user types it; the model's own decoding if None.
        allow_code: whether parts from files may be imported and run.

    Raises:
        ZooError: there is no trained model, or it cannot take the text.
    """
    read = encode(folder, text, target)
    from zoo.models.checkpoint import load_checkpoint
    from zoo.training.tasks.base import EOS

    best = folder / BEST
    if (folder / RUN).is_file() and not best.is_dir():
        raise ZooError(f"The run in '{folder}' has no finished epoch yet. Continue it with --resume.")
    model, blueprint, _ = load_checkpoint(best if (folder / RUN).is_file() else folder, allow_code=allow_code)
    if len(model.stacks) == 1:
        if decoding is not None:
            raise ZooError("This model has one stack and writes no answer: omit --decoding.")
        return Subject(model, read.src, None, read.source, None, "")
    if decoding is not None:
        blueprint = blueprint.with_choices(decoding=decoding)
    tgt = read.tgt or written(model, blueprint, read.src, read.longest)
    labels = [END if i == EOS else read.decode([i]) for i in tgt]
    return Subject(model, read.src, tgt, read.source, labels, read.decode(tgt))


def written(model: Model, blueprint: Blueprint, src: Sequence[int], longest: int) -> list[int]:
    """The ids that a model writes for source ids, with EOS if it ends."""
    import torch

    from zoo.models.builder import build_decoding
    from zoo.parts.decoding.generate import generate
    from zoo.training.tasks.base import EOS, PAD, SOS

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # for decodings that draw
        rows = generate(
            model, torch.tensor([src]), longest, build_decoding(blueprint), sos=SOS, eos=EOS, pad=PAD
        )
    ids: list[int] = rows[0].tolist()
    return ids[: ids.index(EOS) + 1] if EOS in ids else ids
