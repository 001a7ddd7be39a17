"""Models as graphs: of `torch.export`, and for ONNX. Rows and lengths are left open where the attention can."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import logging
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from zoo.core.blueprint import Blueprint
from zoo.core.errors import ZooError
from zoo.core.files import reporting_os_errors, write_whole
from zoo.core.plan import make_plan
from zoo.models.transformer import Model
from zoo.models.trial import padded_tokens

ROWS, LENGTH = 3, 7
"""Of the batch that a graph is made with; any other has other numbers, where they are left open."""


def write_program(model: Model, blueprint: Blueprint, path: Path) -> str:
    """Write a graph of `torch.export` (.pt2).

    Returns:
        the inputs in words.

    Raises:
        ZooError: torch cannot make a graph of it, with its reason; the file cannot be written.
    """
    program, words = _program(model, blueprint)
    data = io.BytesIO()
    torch.export.save(program, data)
    with reporting_os_errors(f"'{path}' cannot be written"):
        write_whole(path, data.getvalue())
    return words


def write_onnx(model: Model, blueprint: Blueprint, path: Path) -> str:
    """Write a graph for ONNX, with the weights in it.

    Returns:
        the inputs in words.

    Raises:
        ZooError: onnx is not installed, or torch cannot make a graph of it: the reason; the file cannot be written.
    """
    missing = [name for name in ("onnx", "onnxscript") if importlib.util.find_spec(name) is None]
    if missing:
        raise ZooError(
            f"ONNX needs {' and '.join(missing)}: `pip install onnx onnxscript`. Or write a .pt2 file."
        )
    program, words = _program(model, blueprint)
    names = [name for name, _ in _inputs(model, blueprint)]
    with tempfile.TemporaryDirectory() as folder, _quiet():
        made = Path(folder, "model.onnx")
        try:
            written = torch.onnx.export(
                program, dynamo=True, input_names=names, output_names=["scores"], verbose=False
            )
            assert written is not None
            written.save(made)
        except Exception as error:
            raise ZooError(
                f"torch cannot write this model as ONNX: {_first_line(error)}. A .pt2 file may work."
            ) from error
        data = made.read_bytes()
        if made.with_name("model.onnx.data").exists():
            raise ZooError(
                "The weights are over 2 GB, which one ONNX file cannot contain. Write a .pt2 file."
            )
    with reporting_os_errors(f"'{path}' cannot be written"):
        write_whole(path, data)
    return words


def _program(model: Model, blueprint: Blueprint) -> tuple[Any, str]:
    """The graph, and its inputs in words."""
    given = _inputs(model, blueprint)
    open_lengths = all(part.capabilities["open_lengths"] for part in make_plan(blueprint).attentions.values())
    length = given[0][1].size(1)
    open_dims = (0, 1) if open_lengths and length > 1 else (0,)
    shapes = tuple(dict.fromkeys(open_dims, torch.export.Dim.DYNAMIC) for _ in given)
    model.eval()
    with torch.no_grad(), _quiet():
        try:
            program = torch.export.export(model, tuple(tokens for _, tokens in given), dynamic_shapes=shapes)
        except Exception as error:
            raise ZooError(
                f"torch.export cannot make a graph of this model: {_first_line(error)}. Write a .py file."
            ) from error
    size = "L" if 1 in open_dims else str(length)
    words = ", ".join(f"{name} [B, {size}] int64" for name, _ in given)
    return program, words


def _inputs(model: Model, blueprint: Blueprint) -> list[tuple[str, Tensor]]:
    """The inputs of the graph by name."""
    tokens = padded_tokens(blueprint.sizes, ROWS, min(LENGTH, blueprint.sizes.max_len), seed=0)
    names = {"encoder": "src", "decoder": "tgt"}
    sides = {"encoder": tokens.src, "decoder": tokens.tgt}
    return [(names[stack], sides[stack]) for stack in names if stack in model.stacks]


def _first_line(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else 'no reason given'}".rstrip(".")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch and onnxscript print on their way."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(logging.NOTSET)
