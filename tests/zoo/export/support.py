"""Exported files beside what the zoo's own model computes with the same weights."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from zoo.core.blueprint import Blueprint
from zoo.export.exporter import export
from zoo.export.trials import samples, small
from zoo.models.builder import build

HERE = Path(__file__).parent


def put(folder: Path, name: str, blueprint: Blueprint) -> str:
    """Write the file of `blueprint`, and what its model computes in small; the file's text."""
    made, watched = export(blueprint), small(blueprint)
    model = build(watched, seed=1).eval()
    inputs = samples(model, watched.sizes)[1]
    scores = model(*inputs)
    cotangent = torch.randn(scores.shape, generator=torch.Generator().manual_seed(0))
    (scores * cotangent).sum().backward()
    given = {
        "class": made.model,
        "sizes": asdict(watched.sizes),
        "state": dict(model.state_dict()),
        "inputs": inputs,
        "scores": scores.detach(),
        "cotangent": cotangent,
        "gradients": {name: p.grad for name, p in model.named_parameters() if p.grad is not None},
    }
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(made.text, encoding="utf-8")
    torch.save(given, folder / f"{name}.pt")
    return made.text


def differences(folder: Path) -> str:
    """What the files of a folder compute otherwise than expected, in a process without zoo; "" for nothing."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, str(HERE / "elsewhere.py"), str(folder)],
        capture_output=True,
        text=True,
        cwd=folder,
        env=clean,
        timeout=500,
        check=False,
    )
    return done.stdout + done.stderr
