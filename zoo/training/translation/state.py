"""The state of a training beside the weights, to resume it exactly. Tensors only, nothing pickled."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import safetensors
import safetensors.torch
import torch
from torch import Tensor

from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors, write_whole

STATE = re.compile(r"state-[0-9a-f]{64}\.safetensors(\.partial)?\Z")


def save_state(folder: Path, optimizer: torch.optim.Optimizer, device: torch.device) -> str:
    """Write the optimizer's state and the random generators' to a new file in `folder`; its name says its content.

    What was there stays: remove it with `remove_states` once the new name is noted. Raises OSError.
    """
    tensors = {
        f"optimizer.{index}.{name}": value.detach().cpu().contiguous()
        for index, state in optimizer.state_dict()["state"].items()
        for name, value in state.items()
    }
    tensors["random.cpu"] = torch.get_rng_state()
    if device.type == "cuda":
        tensors["random.cuda"] = torch.cuda.get_rng_state(device)
    data = safetensors.torch.save(tensors)
    name = f"state-{hashlib.sha256(data).hexdigest()}.safetensors"
    write_whole(folder / name, data)
    return name


def load_state(path: Path, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
    """Put back what `save_state` wrote. Raises ZooError if the file is gone or damaged, or is from another device."""
    with reporting_os_errors(f"{path} cannot be read"):
        if not path.is_file():
            raise ZooError(
                f"{path} is gone: this training cannot be resumed without it. Restore it, or train again; "
                "the model beside it can still translate."
            )
        data = path.read_bytes()
    if path.name != f"state-{hashlib.sha256(data).hexdigest()}.safetensors":
        raise ZooError(f"{path} is damaged: its content is not what was saved. Train again, or restore it.")
    tensors = safetensors.torch.load(data)
    if (device.type == "cuda") != ("random.cuda" in tensors):
        raise ZooError(
            f"{path} is from a training on another kind of device than {device.type}. Resume it there."
        )
    states: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        index, _, key = rest.partition(".")
        if kind == "optimizer":
            states.setdefault(int(index), {})[key] = value
    optimizer.load_state_dict({"state": states, "param_groups": optimizer.state_dict()["param_groups"]})
    torch.set_rng_state(tensors["random.cpu"])
    if device.type == "cuda":
        torch.cuda.set_rng_state(tensors["random.cuda"], device)


def remove_states(folder: Path, keep: str) -> None:
    """Remove all states in `folder` but one. Raises OSError."""
    for path in folder.iterdir():
        if STATE.match(path.name) and path.name != keep:
            path.unlink()
