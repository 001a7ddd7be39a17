"""`zoo export`."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import click

from zoo.cli.options import blueprint_from, blueprint_options, defaults_text, seed_option, tell_unused
from zoo.core.blueprint import Blueprint
from zoo.core.errors import CombinationError, ZooError
from zoo.core.files import reporting_os_errors, write_whole
from zoo.core.plan import Plan, make_plan
from zoo.core.rules import checked_plan

SUFFIXES = {"python": ".py", "torch-export": ".pt2", "onnx": ".onnx"}


@click.command(epilog=defaults_text())
@click.argument("directory", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@blueprint_options
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="FILE", required=True, help="File to write."
)
@click.option(
    "--format",
    "kind",
    type=click.Choice([*SUFFIXES]),
    help="What to write.  [default: inferred from the suffix of FILE: .py, .pt2, .onnx]",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option(
    "--allow-code", is_flag=True, help="Allow running the Python files that the model in DIR was built from."
)
@seed_option
def export(
    directory: Path | None,
    output: Path,
    kind: str | None,
    force: bool,
    allow_code: bool,
    seed: int,
    **given: Any,
) -> None:
    """Write a model to one file that does not need the zoo.

    A .py file has the classes of the chosen parts, and nothing else: plain PyTorch, with a `generate` function if
    the model can generate, and a `main` that runs. Before it is written, a small
    version is compared with the zoo's own model: with the same weights, the results must be equal bit by bit. With
    DIR, a model saved by `zoo train --save DIR`, its weights are written beside the file, and the file loads them.

    .pt2 is a graph of `torch.export`, .onnx one for ONNX Runtime; both contain the weights (of DIR, or those of
    --seed).

    \b
    Examples:
      zoo export --preset=gpt2 -o gpt2.py
      zoo export --assembly=decoder --attention=gqa --encoding=rotary -o model.py
      zoo export --attention=exercises/attention.py:MultiHeadAttention -o mine.py
      zoo export reverser -o reverser.py
      zoo export reverser -o reverser.onnx
    """
    if output.is_dir():
        raise ZooError(f"'{output}' is a directory. Name a file, such as {output / 'model.py'}.")
    kind = kind or _kind_of(output)
    chosen = any(value not in (None, False) for value in given.values())
    if directory is not None and chosen:
        raise ZooError(
            f"'{directory}' has its own choices and sizes: omit the other options, or '{directory}'."
        )
    _check_output(output, force)
    blueprint = None if directory is not None else blueprint_from(dict(given))
    if blueprint is not None:
        tell_unused(_plan(blueprint), [name for name, value in given.items() if value is not None])
    if kind == "python":
        _python(directory, blueprint, output, force, allow_code, given.get("preset"))
    else:
        _graph(directory, blueprint, output, kind, allow_code, seed)


def _kind_of(output: Path) -> str:
    """The format by the suffix. Raises ZooError for one that is not known."""
    for kind, suffix in SUFFIXES.items():
        if output.suffix == suffix:
            return kind
    known = ", ".join(f"{suffix} ({kind})" for kind, suffix in SUFFIXES.items())
    raise ZooError(f"-o {output}: expected a name that ends in one of {known}, or give --format.")


def _check_output(output: Path, force: bool) -> None:
    """Raises ZooError for a file that must not be replaced, or cannot be written."""
    with reporting_os_errors(f"'{output}' cannot be written"):
        if not output.absolute().parent.is_dir():
            raise ZooError(f"'{output}' cannot be written: there is no directory '{output.parent}'.")
        if output.exists() and not force:
            raise ZooError(f"'{output}' exists. Name another file, or give --force to replace it.")


def _plan(blueprint: Blueprint) -> Plan:
    """Refuse what breaks a rule, before torch is imported. Raises CombinationError."""
    try:
        return checked_plan(blueprint)
    except CombinationError as error:
        raise CombinationError(
            f"{error}\n`zoo build --explain` lists what would fit, axis by axis."
        ) from error


def _python(
    directory: Path | None,
    blueprint: Blueprint | None,
    output: Path,
    force: bool,
    allow_code: bool,
    preset: str | None,
) -> None:
    from zoo.export.exporter import export as make

    title, weights, data = f"The preset {preset}." if preset else "", None, b""
    if directory is not None:
        import safetensors.torch

        from zoo.models.checkpoint import load_checkpoint

        model, blueprint, _ = load_checkpoint(directory, allow_code=allow_code)
        weights = output.with_suffix(".safetensors")
        _check_output(weights, force)
        state = {name: value.detach().clone().contiguous() for name, value in model.state_dict().items()}
        data = safetensors.torch.save(state)
        title = "A trained Transformer."
    assert blueprint is not None
    made = make(
        blueprint,
        title=title,
        weights="" if weights is None else weights.name,
        command=shlex.join(["zoo", *_without_force(sys.argv[1:])]),
    )
    with reporting_os_errors(f"'{output}' cannot be written"):
        if weights is not None:
            write_whole(weights, data)
        write_whole(output, made.text.encode())
    beside = "" if weights is None else f"; weights in {weights}"
    lines = made.text.count("\n")
    run = f"python {shlex.quote(str(output))}"
    click.echo(f"Wrote {output}: {lines} lines, class {made.model}{beside}.\nRun it with `{run}`.")


def _check_reads_tokens(blueprint: Blueprint) -> None:
    """Raises ZooError for a model of images."""
    if make_plan(blueprint).reads_images:
        raise ZooError(
            f"{blueprint['assembly']} reads images, and graphs are made of models of tokens. A .py file can have any "
            "model."
        )


def _without_force(arguments: list[str]) -> list[str]:
    return [one for one in arguments if one != "--force"]


def _graph(
    directory: Path | None, blueprint: Blueprint | None, output: Path, kind: str, allow_code: bool, seed: int
) -> None:
    from zoo.export.graphs import write_onnx, write_program
    from zoo.models.builder import build
    from zoo.models.checkpoint import load_checkpoint

    if directory is not None:
        model, blueprint, _ = load_checkpoint(directory, allow_code=allow_code)
    else:
        assert blueprint is not None
        model = build(blueprint, seed=seed)
    assert blueprint is not None
    _check_reads_tokens(blueprint)
    inputs = (write_onnx if kind == "onnx" else write_program)(model, blueprint, output)
    click.echo(f"Wrote {output}. Inputs: {inputs}.")
