"""What a trained model does with one text: tokens in, tokens out. Torch is imported when a model is loaded."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zoo.core.blueprint import Blueprint
from zoo.core.errors import ZooError
from zoo.core.files import told
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant

if TYPE_CHECKING:
    from zoo.models.transformer import Transformer
    from zoo.training.tasks.base import TaskData

INDEX, RUN = "zoo.json", "run.json"
STACKS = ("encoder", "decoder", "cross")
"""Self-attention of the encoder, self-attention of the decoder, the decoder's attention over the source."""
START, END = "<s>", "</s>"


class Subject(NamedTuple):
    """A model in eval mode with one text and what was written for it.

    `src` and `tgt` are ids, `source` and `target` their labels; `tgt` ends with EOS unless the model never did.
    """

    model: Transformer
    src: list[int]
    tgt: list[int]
    source: list[str]
    target: list[str]
    answer: str


class Described(NamedTuple):
    """What a folder says about its model, read without torch; `task` is "" where none was noted."""

    blueprint: Blueprint
    task: str


def describe(folder: Path) -> Described:
    """The blueprint and task of a trained model's folder. Raises ZooError for a folder that has none."""
    path = next((folder / name for name in (RUN, INDEX) if (folder / name).is_file()), None)
    if path is None:
        missing = f"it has no {INDEX} or {RUN}" if folder.is_dir() else "there is no such folder"
        raise ZooError(
            f"'{folder}' is not a trained model: {missing}. `zoo train --save DIR` and "
            "`zoo train --task=translate RUN` make one."
        )
    with told(f"{path} cannot be read"):
        data = path.read_bytes()
    try:
        index: dict[str, Any] = json.loads(data)
        blueprint = Blueprint.from_json(index["blueprint"])
        task = index["task"] if path.name == RUN else index["extra"].get("task")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ZooError(f"{path} is damaged or not written by `zoo train`.") from error
    return Described(blueprint, task if isinstance(task, str) else "")


def check_shown(blueprint: Blueprint, stack: str | None, layer: int | None, head: int | None) -> None:
    """Raises ZooError for a layer or head that the model lacks, and for an attention that has no weights to show."""
    sizes = blueprint.sizes
    layers = {
        "encoder": sizes.num_encoder_layers,
        "decoder": sizes.num_decoder_layers,
        "cross": sizes.num_decoder_layers,
    }
    check_numbers({one: layers[one] for one in ([stack] if stack else STACKS)}, sizes.num_heads, layer, head)
    registry = get_registry()
    own, _ = registry.resolve("attention", blueprint["attention"].name)
    across = own.capabilities["cross"]
    for variant in (own, *([registry.get("attention", across)] if across else [])):
        if not (showing(variant) or variant.is_file):
            raise no_weights(f"attention={variant.name}")


def check_numbers(layers: dict[str, int], heads: int, layer: int | None, head: int | None) -> None:
    """Raises ZooError for a layer or head, counted from 1, that none of these stacks has."""
    most = max(layers.values())
    if layer is not None and not 1 <= layer <= most:
        have = ", ".join(f"{name} {count}" for name, count in layers.items())
        raise ZooError(f"There is no layer {layer}: the model has, counted from 1, {have}.")
    if head is not None and not 1 <= head <= heads:
        raise ZooError(f"There is no head {head}: the model has {heads}, counted from 1.")


def showing(variant: Variant) -> bool:
    """Whether the weights of an attention can be shown: by itself, or by `eager` with the same parameters."""
    return bool(variant.capabilities["returns_weights"] or variant.capabilities["exact"])


def no_weights(what: str) -> ZooError:
    """The error for an attention without weights to show."""
    names = ", ".join(one.name for one in get_registry().variants("attention") if showing(one))
    return ZooError(
        f"{what} has no weights to show: it has no method forward_with_weights, and is not declared equal to "
        f"attention=eager. These can be drawn: {names}."
    )


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
        folder: of `zoo train --save DIR`, or of `zoo train --task=translate RUN`.
        target: a text in place of the model's own answer.
        decoding: how the answer is chosen, as a user types it; the model's own decoding if None.
        allow_code: whether parts from files may be imported and run.

    Raises:
        ZooError: there is no trained model, or it cannot take the text.
    """
    described = describe(folder)
    if decoding is not None:
        described.blueprint.with_choices(decoding=decoding)  # refused before torch is imported
    if (folder / RUN).is_file():
        return _of_translator(folder, text, target, decoding, allow_code)
    if not described.task:
        raise ZooError(
            f"The model in '{folder}' was trained on no task. `zoo train --save DIR` trains and saves one."
        )
    if described.task == "translate":
        raise ZooError(f"'{folder}' is a part of a run: name the run's folder, the one with {RUN} in it.")
    return _of_task(folder, described, text, target, decoding, allow_code)


def _of_task(
    folder: Path, described: Described, text: str, target: str | None, decoding: str | None, allow_code: bool
) -> Subject:
    from zoo.models.checkpoint import load_checkpoint
    from zoo.training.tasks.base import EOS
    from zoo.training.trainer import check_sizes, load_task

    task = load_task(described.task)
    src = task.encode(text)
    tgt = None if target is None else [*task.encode_answer(target), EOS]
    _check_length(described.blueprint.sizes.max_len, src, tgt)
    model, blueprint, _ = load_checkpoint(folder, allow_code=allow_code)
    check_sizes(blueprint.sizes, task)
    tgt = tgt if tgt is not None else written(model, blueprint, src, task.max_len, decoding)
    return Subject(
        model, src, tgt, _labels(text, src), _of_answer(tgt, task), target if target else task.decode(tgt)
    )


def _labels(text: str, ids: Sequence[int]) -> list[str]:
    """Labels of source ids: characters or words where there are as many, else the ids."""
    parts = next((one for one in (list(text), text.split()) if len(one) == len(ids)), None)
    return parts or [str(i) for i in ids]


def _of_answer(ids: Sequence[int], task: TaskData) -> list[str]:
    from zoo.training.tasks.base import EOS

    return [END if i == EOS else task.decode([i]) for i in ids]


def _of_translator(
    folder: Path, text: str, target: str | None, decoding: str | None, allow_code: bool
) -> Subject:
    import torch

    from zoo.training.tasks.base import EOS
    from zoo.training.translation.run import load_translator

    translator, blueprint = load_translator(folder, torch.device("cpu"), allow_code=allow_code)
    source, goal = translator.tokenizers
    src = source.encode(text)
    if not src:
        raise ZooError("The text is empty: give a sentence.")
    tgt = None if target is None else [*goal.encode(target), EOS]
    _check_length(translator.max_len, src, tgt)
    tgt = tgt if tgt is not None else written(translator.model, blueprint, src, translator.max_len, decoding)
    names = [END if i == EOS else goal.decode([i]) for i in tgt]
    answer = target if target is not None else goal.decode(tgt)
    return Subject(translator.model, src, tgt, [source.decode([i]) for i in src], names, answer)


def written(
    model: Transformer, blueprint: Blueprint, src: Sequence[int], max_len: int, decoding: str | None
) -> list[int]:
    """The ids that a model writes for source ids, with EOS if it ends."""
    import torch

    from zoo.models.builder import build_decoding
    from zoo.parts.decoding.generate import generate
    from zoo.training.tasks.base import EOS, PAD, SOS

    if decoding is not None:
        blueprint = blueprint.with_choices(decoding=decoding)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)  # for decodings that draw
        rows = generate(
            model, torch.tensor([src]), max_len, build_decoding(blueprint), sos=SOS, eos=EOS, pad=PAD
        )
    ids: list[int] = rows[0].tolist()
    return ids[: ids.index(EOS) + 1] if EOS in ids else ids


def _check_length(max_len: int, src: Sequence[int], tgt: Sequence[int] | None) -> None:
    """Raises ZooError for a text or target of more tokens than the model takes."""
    for what, ids in (("text", src), ("target", tgt or ())):
        if len(ids) > max_len:
            raise ZooError(f"The {what} has {len(ids)} tokens, and the model takes at most {max_len}.")
