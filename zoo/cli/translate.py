"""`zoo translate`."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from zoo.cli.options import (
    accelerate_option,
    allow_code_option,
    decoding_option,
    device_option,
    json_option,
    sampling_seed_option,
)
from zoo.cli.sources import FILE
from zoo.cli.text import print_json, wrapped
from zoo.core.errors import ZooError

NAMED = 5  # sentences that were cut


@click.command()
@click.argument("folder", metavar="RUN", type=FILE)
@click.argument("texts", metavar="[TEXT]...", nargs=-1)
@decoding_option
@sampling_seed_option
@allow_code_option
@device_option
@accelerate_option
@json_option
def translate(
    folder: Path,
    texts: tuple[str, ...],
    decoding: str | None,
    seed: int,
    allow_code: bool,
    device: str,
    accelerate: bool,
    as_json: bool,
) -> None:
    """Translate with the best model of a run that `zoo train translate RUN` made.

    Prints one line for each TEXT or, without TEXT, for each line of standard input (UTF-8). An empty line gives an
    empty line. A sentence that is too long for the model is truncated, with a warning on standard error.

    \b
    Examples:
      zoo translate de-en "Ein Hund rennt."
      zoo translate de-en --decoding=beam:size=8 < sentences.de > sentences.en
    """
    texts = texts or _from_input()

    from zoo.models.builder import build_decoding
    from zoo.models.devices import memory_limit, resolve_device
    from zoo.training.trainer import steady
    from zoo.training.translation.run import load_translator

    where = resolve_device(device)
    translator, blueprint = load_translator(folder, where, allow_code=allow_code)
    if accelerate:
        from zoo.accelerate import accelerate as make_faster

        make_faster(translator.model)
    if decoding is not None:
        blueprint = blueprint.with_choices(decoding=decoding)
    with memory_limit("Give fewer or shorter sentences, or a smaller beam."), steady(where, None):
        found = translator(texts, build_decoding(blueprint), seed)
    if found.cut:
        click.echo(wrapped(_cut(found.cut, translator.max_len)), err=True)
    if as_json:
        cut = set(found.cut)
        print_json(
            [
                {"text": text, "translation": one, "cut": index in cut}
                for index, (text, one) in enumerate(zip(texts, found.texts, strict=True))
            ]
        )
        return
    for text in found.texts:
        click.echo(" ".join(text.splitlines()))  # a line each, whatever the model said


def _from_input() -> tuple[str, ...]:
    """The lines of standard input. Raises ZooError where there are none."""
    try:
        data = "" if sys.stdin.isatty() else sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError as error:
        raise ZooError(f"Standard input is not valid UTF-8: {error}.") from error
    lines = data.removeprefix("\ufeff").split("\n")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise ZooError(
            'No text: pass it as an argument, as in `zoo translate RUN "Ein Hund rennt."`, or on standard input.'
        )
    return tuple(line.removesuffix("\r") for line in lines)


def _cut(cut: list[int], max_len: int) -> str:
    """Return a warning about truncated sentences."""
    named = ", ".join(f"{index + 1}" for index in cut[:NAMED]) + (", ..." if len(cut) > NAMED else "")
    return (
        f"{len(cut):,} of the sentences had more than {max_len} tokens, the model's limit, and were truncated: "
        f"number {named}."
    )
