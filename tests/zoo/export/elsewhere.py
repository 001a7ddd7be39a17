"""Runs exported files where zoo cannot be imported, and says how their results differ from what is expected.

    python elsewhere.py FOLDER

FOLDER has NAME.py and NAME.pt for each model: class, sizes, state, inputs, scores, gradients. Scores and gradients
must be equal bit by bit.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import torch

sys.modules["zoo"] = None  # type: ignore[assignment]  # importing it, or anything in it, raises ImportError


def check(file: Path) -> list[str]:
    """What differs: nothing, if all is well."""
    given = torch.load(file.with_suffix(".pt"), weights_only=True)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    names = module.Config.__dataclass_fields__
    config = module.Config(**{name: value for name, value in given["sizes"].items() if name in names})
    model = getattr(module, given["class"])(config)
    if list(model.state_dict()) != list(given["state"]):
        return [f"names: {sorted({*model.state_dict()} ^ {*given['state']})}"]
    model.load_state_dict(given["state"])
    model.eval()
    scores = model(*given["inputs"])
    wrong = [] if torch.equal(scores, given["scores"]) else ["scores"]
    (scores * given["cotangent"]).sum().backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    if gradients.keys() != given["gradients"].keys():
        return [*wrong, "which parameters have gradients"]
    for name, value in gradients.items():
        if not torch.equal(value, given["gradients"][name]):
            wrong.append(name)
    return wrong


def main(folder: Path) -> None:
    """Check all files of a folder."""
    for file in sorted(folder.glob("*.py")):
        if wrong := check(file):
            print(f"{file.stem}: {', '.join(wrong)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
