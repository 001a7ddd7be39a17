"""`zoo predict`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from zoo.cli.options import (
    allow_code_option,
    decoding_option,
    device_option,
    json_option,
    sampling_seed_option,
)
from zoo.cli.text import columns, print_json
from zoo.core.errors import ZooError


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@decoding_option
@sampling_seed_option
@allow_code_option
@device_option
@json_option
def predict(
    directory: Path,
    texts: tuple[str, ...],
    decoding: str | None,
    seed: int,
    allow_code: bool,
    device: str,
    as_json: bool,
) -> None:
    """Generate answers with a Transformer saved by `zoo train --save DIR`.

    Prints each text, the answer, and whether it is right. A model of the task mask fills in every [MASK], one of
    classify gives the class. Without TEXT, reads texts from standard input, separated by white space; for these two,
    one per line.

    \b
    Examples:
      zoo predict reverser hello world
      zoo predict reverser hello --decoding=beam:size=8
      echo hello world | zoo predict reverser --json
    """
    typed = () if texts else _from_input()

    from zoo.cli.train import marked
    from zoo.models.builder import build_decoding
    from zoo.models.checkpoint import load_checkpoint
    from zoo.models.devices import resolve_device
    from zoo.training.scoring import prepare
    from zoo.training.tasks.base import AlignedData
    from zoo.training.trainer import exact_match, load_data, load_task

    where = resolve_device(device)
    model, blueprint, extra = load_checkpoint(directory, allow_code=allow_code, device=where)
    if not isinstance(extra.get("task"), str):
        raise ZooError(
            f"The model in '{directory}' was trained on no task. `zoo train --save DIR` trains and saves one."
        )
    if isinstance(saved := extra.get("data"), dict):
        data = load_data(extra["task"], saved=saved)
        assert isinstance(data, AlignedData)
        if decoding is not None:
            raise ZooError(f"The task {extra['task']} decodes nothing: omit --decoding.")
        _, bound = prepare(blueprint, data, asked=("src_vocab", "tgt_vocab"))
        assert isinstance(bound, AlignedData)
        texts = texts or typed
        _print_answers(texts, bound.answers(model, texts), as_json)
        return
    texts = texts or tuple(word for line in typed for word in line.split())
    task = load_task(extra["task"])
    prepare(blueprint, task)
    if decoding is not None:
        blueprint = blueprint.with_choices(decoding=decoding)
    chosen = build_decoding(blueprint)
    score = exact_match(model, task, texts, decoding=chosen, seed=seed, device=where)
    if as_json:
        print_json([{**asdict(one), "right": one.right} for one in score.examples])
    else:
        click.echo(columns(map(marked, score.examples)))


def _print_answers(texts: Sequence[str], answers: Sequence[str], as_json: bool) -> None:
    """Texts with what the model makes of them, where it is not known what is right."""
    if as_json:
        print_json([{"text": text, "got": got} for text, got in zip(texts, answers, strict=True)])
    else:
        click.echo(columns(list(zip(texts, answers, strict=True))))


def _from_input() -> tuple[str, ...]:
    """The lines on standard input that are not blank. Raises ZooError where there are none."""
    try:
        data = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ZooError(f"Standard input is not valid UTF-8: {error}.") from error
    lines = tuple(filter(str.strip, data.splitlines()))
    if not lines:
        raise ZooError(
            "No text: pass it as an argument, as in `zoo predict DIR hello`, or on standard input."
        )
    return lines
