"""Faults in `zoo/models`."""

from __future__ import annotations

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "models-checkpoint-removes-itself",
        "zoo/models/checkpoint.py",
        "if path.name != keep and (WEIGHTS.match(path.name) or PARTIAL.match(path.name)):",
        "if WEIGHTS.match(path.name) or PARTIAL.match(path.name):",
        "saving removes the new weights with the old ones",
    ),
    Fault(
        "models-checkpoint-index-first",
        "zoo/models/checkpoint.py",
        "        write_whole(folder / weights, data)\n        write_whole(folder / INDEX, text.encode())\n",
        "        write_whole(folder / INDEX, text.encode())\n        write_whole(folder / weights, data)\n",
        "a process that dies while saving leaves an index without weights",
    ),
    Fault(
        "models-checkpoint-hash-unchecked",
        "zoo/models/checkpoint.py",
        'if f"weights-{hashlib.sha256(data).hexdigest()}.safetensors" != name:',
        "if not data:",
        "damaged weights are loaded",
    ),
    Fault(
        "models-checkpoint-runs-code",
        "zoo/models/checkpoint.py",
        "if files and not allow_code:",
        "if files and allow_code is None:",
        "loading a checkpoint runs a stranger's file without permission",
    ),
    Fault(
        "models-checkpoint-in-train-mode",
        "zoo/models/checkpoint.py",
        "return Checkpoint(model.to(device).eval(), blueprint",
        "return Checkpoint(model.to(device), blueprint",
        "a loaded model drops out while it answers",
    ),
    Fault(
        "models-interop-mode-lost",
        "zoo/models/interop/convert.py",
        "return _filled(part, zoo_names(module.state_dict()), module.training)",
        "return _filled(part, zoo_names(module.state_dict()), True)",
        "a module converted from torch is in train mode",
    ),
    Fault(
        "models-interop-gain-of-zero",
        "zoo/models/interop/convert.py",
        'torch.zeros_like(value) if name.endswith(".bias") else torch.ones_like(value)',
        "torch.zeros_like(value)",
        "a norm without a gain in torch has a gain of 0 here",
    ),
    Fault(
        "models-interop-eps-lost",
        "zoo/models/interop/zoo_side.py",
        "norm = TorchLayerNorm(spec.d_model, spec.eps)",
        "norm = TorchLayerNorm(spec.d_model)",
        "a converted norm has the default eps",
    ),
    Fault(
        "models-external-shape-unchecked",
        "zoo/models/external.py",
        "if shape is not None and tuple(result.shape) != tuple(shape):",
        "if shape is not None and result.dim() != len(shape):",
        "a user's part that returns another shape fails far from its file",
    ),
    Fault(
        "models-trial-without-padding",
        "zoo/models/trial.py",
        "ids.masked_fill(torch.arange(width) >= kept.unsqueeze(1), sizes.pad)",
        "ids.masked_fill(torch.arange(width) > kept.unsqueeze(1), sizes.pad)",
        "the rows of a trial batch are one token longer than announced",
    ),
    Fault(
        "models-memory-error-swallows-others",
        "zoo/models/devices.py",
        "        if not any(words in str(error) for words in TOO_MUCH):\n            raise\n",
        "",
        "every RuntimeError is reported as running out of memory",
    ),
)
