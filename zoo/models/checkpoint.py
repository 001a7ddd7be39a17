"""Models on disk: a folder with safetensors and JSON. Nothing is ever pickled.

    DIR/zoo.json                        blueprint, name and hash of the weights, notes of who saved it
    DIR/weights-<hash>.safetensors      what `state_dict` holds

The weights are written first, under a name that no other weights have; `zoo.json` then takes its place
in one step; only then are older weights removed. A process that dies at any point leaves the old
checkpoint or the new one, whole.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from zoo import __version__
from zoo.core.blueprint import Blueprint, json_layers
from zoo.core.errors import UnknownNameError, ZooError
from zoo.core.files import reporting_os_errors, require_part, write_whole
from zoo.core.plan import make_plan
from zoo.core.plugins import get_plugins, get_registry
from zoo.core.registry import FILE_SPEC
from zoo.core.rules import checked_plan
from zoo.models.transformer import Model
from zoo.models.trial import build_on

FORMAT = 1
INDEX = "zoo.json"
FLOATS = (torch.float32, torch.float64, torch.bfloat16, torch.float16)
WEIGHTS = re.compile(r"weights-[0-9a-f]{64}\.safetensors\Z")
PARTIAL = re.compile(r"(zoo\.json|weights-[0-9a-f]{64}\.safetensors)\.partial\Z")
RECORD = re.compile(r"((record\.json|log\.csv|epochs\.csv)(\.partial)?|\.log\.csv\.lock|tensorboard)\Z")
"""What a training writes beside its model: `zoo.training.record`."""


class Checkpoint(NamedTuple):
    """A loaded checkpoint: the model in eval mode, its blueprint, and the notes saved with it."""

    model: Model
    blueprint: Blueprint
    extra: dict[str, Any]


def save_checkpoint(
    directory: str | os.PathLike[str], model: Model, blueprint: Blueprint, **extra: Any
) -> None:
    """Save `model` in `directory`, in place of the checkpoint that is there, if any.

    Args:
        directory: made if it is not there.
        model: built from `blueprint`.
        blueprint: what `load_checkpoint` builds the model from.
        extra: notes, as JSON takes them.

    Raises:
        ZooError: the directory is not ours, or cannot be written; what was there is kept.
    """
    folder = Path(directory)
    check_directory(folder)
    tensors = {name: value.detach().cpu().clone().contiguous() for name, value in model.state_dict().items()}
    data = safetensors.torch.save(tensors)  # clones, since slices of packed weights share their storage
    digest = hashlib.sha256(data).hexdigest()
    weights = f"weights-{digest}.safetensors"
    index = {
        "format": FORMAT,
        "version": __version__,
        "blueprint": blueprint.to_json(),
        "origins": _origins(blueprint),
        "weights": weights,
        "extra": extra,
    }
    text = json.dumps(index, indent=2, ensure_ascii=False) + "\n"
    with reporting_os_errors(f"The model cannot be saved in '{folder}'"):
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / weights, data)
        write_whole(folder / INDEX, text.encode())
    _remove_old(folder, weights)


def check_directory(directory: str | os.PathLike[str]) -> None:
    """Raises ZooError if a checkpoint must not be saved there: a file, or a folder with other things in it."""
    folder = Path(directory)
    with reporting_os_errors(f"The model cannot be saved in '{folder}'"):
        if not folder.exists():
            return
        if not folder.is_dir():
            raise ZooError(f"'{folder}' is a file. Name a directory to save the model in.")
        names = [path.name for path in folder.iterdir()]
    ours = (WEIGHTS, PARTIAL, RECORD)
    foreign = sorted(name for name in names if not any(kind.match(name) for kind in ours))
    if foreign and INDEX not in names:
        raise ZooError(
            f"'{folder}' exists and is not a checkpoint (it contains {foreign[0]}). "
            "Use a new or empty directory, or one with a checkpoint to replace."
        )


def _remove_old(folder: Path, keep: str) -> None:
    with contextlib.suppress(OSError):  # the new checkpoint is there; what is left over does no harm
        for path in folder.iterdir():
            if path.name != keep and (WEIGHTS.match(path.name) or PARTIAL.match(path.name)):
                path.unlink()


def load_checkpoint(
    directory: str | os.PathLike[str], *, allow_code: bool = False, device: torch.device | str = "cpu"
) -> Checkpoint:
    """The model saved in `directory`.

    Args:
        directory: where `save_checkpoint` saved it.
        allow_code: whether parts from files, which the blueprint may name, may be imported and run.
        device: where the model is put.

    Raises:
        ZooError: there is no checkpoint, it is damaged or of a newer version, a plugin that it needs is
            not loaded, or it needs code and `allow_code` is False.
    """
    folder = Path(directory)
    index = _read_index(folder)
    blueprint = _read_blueprint(folder, index, allow_code)
    tensors = _read_weights(folder, index["weights"])
    model = build_on(checked_plan(blueprint), torch.device("cpu"), seed=0)
    _check_tensors(folder, model.state_dict(), tensors)
    dtypes = {value.dtype for value in tensors.values() if value.is_floating_point()}
    if len(dtypes) == 1:
        model.to(dtypes.pop())
    model.load_state_dict(tensors)
    return Checkpoint(model.to(device).eval(), blueprint, index["extra"])


def _read_index(folder: Path) -> dict[str, Any]:
    path = folder / INDEX
    with reporting_os_errors(f"'{folder}' cannot be read"):
        if not path.is_file():
            missing = f"there is no {INDEX} in it" if folder.is_dir() else "there is no such directory"
            raise ZooError(f"'{folder}' is not a checkpoint: {missing}. `zoo train --save DIR` makes one.")
        data = path.read_bytes()
    damaged = ZooError(f"{path} is damaged or not a checkpoint. Train again, or restore it.")
    try:
        index = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise damaged from error
    if not isinstance(index, dict) or type(index.get("format")) is not int:
        raise damaged
    if index["format"] > FORMAT:
        raise ZooError(
            f"{path} has format {index['format']}, saved by zoo {index.get('version', '?')}; this is zoo "
            f"{__version__}, which reads format {FORMAT}. Update transformer-zoo."
        )
    named = (
        index["format"] == FORMAT
        and isinstance(index.get("weights"), str)
        and WEIGHTS.match(index["weights"])
    )
    if not named or not isinstance(index.get("extra"), dict):
        raise damaged
    return index


def _read_blueprint(folder: Path, index: Mapping[str, Any], allow_code: bool) -> Blueprint:
    data = index.get("blueprint")
    choices = data.get("choices") if isinstance(data, dict) else None
    names = [
        (axis, one.get("name") if isinstance(one, dict) else None)
        for axis, choice in (choices.items() if isinstance(choices, dict) else ())
        for one in json_layers(choice)
    ]
    files = list(dict.fromkeys(name for _, name in names if isinstance(name, str) and FILE_SPEC.match(name)))
    if files and not allow_code:
        what = "a part from a file" if len(files) == 1 else "parts from files"
        raise ZooError(
            f"The model in '{folder}' has {what}: {', '.join(files)}. Loading it runs that code. "
            "If you trust it, give --allow-code."
        )
    try:
        return Blueprint.from_json(data)
    except UnknownNameError as error:
        raise ZooError(f"The model in '{folder}' cannot be built. {error}{_absent(index, names)}") from error
    except ZooError as error:
        where = " Files are looked for from the directory in which the model was trained." if files else ""
        raise ZooError(f"The model in '{folder}' cannot be built. {error}{where}") from error


def _origins(blueprint: Blueprint) -> dict[str, Any]:
    """The plugin of each part, by axis; where layers differ, by name of the part."""
    plan = make_plan(blueprint)
    several = {
        axis: {part.name: part.variant.origin for part in parts} for axis, parts in plan.patterns.items()
    }
    return {axis: part.variant.origin for axis, part in plan.parts.items()} | several


def _absent(index: Mapping[str, Any], names: Sequence[tuple[str, Any]]) -> str:
    """A sentence on the plugins that were there when the model was saved and are not now."""
    origins = index.get("origins")
    registry = get_registry()
    known = {(v.axis, v.name) for v in registry.variants()}
    origins = origins if isinstance(origins, dict) else {}
    lost = set()
    for axis, name in names:
        origin = origins.get(axis)
        origin = origin.get(name) if isinstance(origin, dict) else origin
        if (axis, name) not in known and origin is not None:
            lost.add(str(origin))
    loaded = {one.name for one in get_plugins().loaded.values() if not one.problem}
    gone = sorted(lost - loaded)
    if not gone:
        return ""
    return f" It came from plugin {' and '.join(gone)}, which is not loaded; see `zoo plugins`."


def _read_weights(folder: Path, name: str) -> dict[str, Tensor]:
    path = folder / name
    with reporting_os_errors(f"{path} cannot be read"):
        require_part(path)
        data = path.read_bytes()
    damaged = f"{path} is damaged: its content is not what was saved. Train again, or restore it."
    if f"weights-{hashlib.sha256(data).hexdigest()}.safetensors" != name:
        raise ZooError(damaged)
    try:
        return safetensors.torch.load(data)
    except safetensors.SafetensorError as error:
        raise ZooError(damaged) from error


def _kinds(value: Tensor) -> tuple[torch.dtype, ...]:
    """Return what a value of the model may have been saved as."""
    return FLOATS if value.is_floating_point() else (value.dtype,)


def _check_tensors(folder: Path, expected: Mapping[str, Tensor], got: Mapping[str, Tensor]) -> None:
    """Raises ZooError unless names, shapes and kinds of number are those of the model."""
    absent, foreign = sorted(expected.keys() - got), sorted(got.keys() - expected)
    lines = [f"{name}: expected {list(expected[name].shape)}, got nothing" for name in absent]
    lines += [f"{name}: expected nothing, got {list(got[name].shape)}" for name in foreign]
    lines += [
        f"{name}: expected {list(expected[name].shape)}, got {list(got[name].shape)}"
        for name in sorted(expected.keys() & got)
        if expected[name].shape != got[name].shape
    ]
    lines += [
        f"{name}: expected {' or '.join(map(str, _kinds(expected[name])))}, got {got[name].dtype}"
        for name in sorted(expected.keys() & got)
        if got[name].dtype not in _kinds(expected[name])
    ]
    if lines:
        shown = lines[:5] + ([f"and {len(lines) - 5} more"] if len(lines) > 5 else [])
        listing = "\n".join(f"  {line}" for line in shown)
        raise ZooError(f"The weights in '{folder}' are not those of its blueprint.\n{listing}")
