"""`zoo draw`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from zoo.cli.arguments import complete_axes, complete_names
from zoo.cli.options import VariantType, allow_code_option, blueprint_from, blueprint_options, decoding_option
from zoo.cli.text import wrapped
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.recipe import Recipe
from zoo.core.rules import check
from zoo.draw.needs import require_matplotlib
from zoo.draw.pieces import check_lengths, check_pair, check_positions
from zoo.pages.files import check_form, save, save_new

if TYPE_CHECKING:
    from matplotlib.figure import Figure

F = TypeVar("F", bound=Callable[..., Any])
FOLDER = click.Path(path_type=Path)
TERMINAL_DPI = 75
NOT_DRAWN = ("loss-and-head",)
"""Rules about what is in no picture of a model."""


@click.group()
def draw() -> None:
    """Draw models and their parts, as PNG, SVG or HTML.

    Without -o, writes a PNG with an unused name to the current folder and prints the name; terminals that support
    pictures (kitty, iTerm2, sixel) also show it. Each picture is also a function of `zoo.draw`, for notebooks. Needs
    matplotlib: pip install 'transformer-zoo[draw]'.

    \b
    Examples:
      zoo draw attention reverser hello
      zoo draw model --preset modern -o modern.svg
      zoo draw schedule noam cosine --steps 1000
    """


def _checked_output(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None:
        check_form(value)
    require_matplotlib()
    return value


output_option = click.option(
    "-o",
    "--output",
    type=FOLDER,
    metavar="FILE",
    callback=_checked_output,
    help="Write the picture to FILE (.png, .svg or .html), replacing it.",
)


@draw.command(short_help="Attention weights of a trained model on one text.")
@click.argument("folder", metavar="DIR", type=FOLDER)
@click.argument("text", metavar="TEXT")
@click.option("--target", metavar="TEXT", help="Target text (default: the model's own answer).")
@decoding_option
@click.option("--stack", metavar="NAME", help="Draw only this stack: encoder, decoder or cross.")
@click.option("--layer", type=int, help="Draw only this layer, counted from 1.")
@click.option("--head", type=int, help="Draw only this head, counted from 1.")
@allow_code_option
@output_option
def attention(folder: Path, text: str, target: str | None, output: Path | None, **given: Any) -> None:
    """Attention weights of a trained model on one text.

    Draws one panel per head of encoder, decoder and cross-attention, with the tokens on the axes. DIR is what
    `zoo train --save DIR` or `zoo train translate DIR` wrote, on any task with texts. Fused variants do not
    return their weights; these are computed by eager with the same parameters.

    \b
    Examples:
      zoo draw attention reverser hello
      zoo draw attention reverser hello --stack=cross --layer=1 --head=3
      zoo draw attention de-en "Ein Hund rennt." --decoding=beam -o dog.html
    """
    from zoo.draw.subjects import STACKS, check_shown, describe, encode

    stack = given["stack"]
    if stack is not None and stack not in STACKS:
        raise ZooError(f"--stack={stack}: expected {', '.join(STACKS)}.")
    if target is not None and given["decoding"] is not None:
        raise ZooError("--target replaces the model's answer: omit --decoding, or --target.")
    check_shown(describe(folder).blueprint, stack, given["layer"], given["head"])
    if given["decoding"] is not None:
        get_registry().resolve("decoding", given["decoding"])
    encode(folder, text, target)  # refuses what the model cannot take before torch is imported
    import zoo.draw

    figure = zoo.draw.attention(folder, text, target, **given)
    _finish(figure, output, f"attention-{text}", f"Attention weights of {folder.name} on: {text}")


@draw.command()
@click.option(
    "--masking",
    type=VariantType("masking"),
    default="full",
    show_default=True,
    metavar="VARIANT",
    help="Masking policy.",
)
@click.option(
    "--lengths", default="7,5", show_default=True, metavar="N,...", help="Lengths of the source sentences."
)
@click.option(
    "--target-lengths", metavar="N,...", help="Lengths of the target sentences.  [default: the same]"
)
@output_option
def mask(masking: str, lengths: str, target_lengths: str | None, output: Path | None) -> None:
    """Which position may attend to which, for a batch of sentences.

    \b
    Examples:
      zoo draw mask
      zoo draw mask --masking=blank-rows --lengths=8,5,3
    """
    get_registry().resolve("masking", masking)
    source = _numbers("--lengths", lengths)
    target = source if target_lengths is None else _numbers("--target-lengths", target_lengths)
    check_lengths(source, target)
    import zoo.draw

    figure = zoo.draw.mask(masking, lengths=source, target_lengths=target)
    _finish(
        figure, output, f"mask-{masking}", f"Masks of the policy {masking} for sentences of {lengths} tokens"
    )


@draw.command(short_help="Positional encodings and their similarities.")
@click.argument("names", metavar="ENCODING...", nargs=-1, required=True, type=VariantType("encoding"))
@click.option("--length", type=int, default=48, show_default=True, help="Number of positions.")
@click.option(
    "--d-model", type=click.IntRange(1), default=64, show_default=True, help="Width of the hidden vectors."
)
@click.option("--num-heads", type=click.IntRange(1), default=4, show_default=True, help="Attention heads.")
@click.option("--head", type=int, default=1, show_default=True, help="Head to draw, where heads differ.")
@output_option
def positions(names: tuple[str, ...], output: Path | None, **sizes: int) -> None:
    """Positional encodings: their tables, and how similar positions become.

    \b
    Examples:
      zoo draw positions sinusoidal rotary alibi
      zoo draw positions sinusoidal:base=100 --length 128
    """
    _resolve("encoding", names)
    check_positions(**sizes)
    import zoo.draw

    figure = zoo.draw.positions(names, **sizes)
    _finish(figure, output, f"positions-{'-'.join(names)}", f"Positional encodings: {', '.join(names)}")


@draw.command()
@click.argument("names", metavar="SCHEDULE...", nargs=-1, required=True, type=VariantType("schedule"))
@click.option(
    "--steps", type=click.IntRange(1), default=300, show_default=True, help="Number of training steps."
)
@click.option(
    "--warmup", type=click.IntRange(1), help="Number of warm-up steps.  [default: a tenth of the steps]"
)
@click.option("--lr", type=float, help="Highest learning rate (default: draw fractions of it).")
@output_option
def schedule(names: tuple[str, ...], output: Path | None, **given: Any) -> None:
    """Learning rate by training step.

    \b
    Examples:
      zoo draw schedule noam cosine --steps 1000
      zoo draw schedule cosine:floor=0.1 --steps 1000 --warmup 50 --lr 3e-4
    """
    _resolve("schedule", names)
    if given["lr"] is not None:
        Recipe(lr=given["lr"])  # raises for what is no rate
    import zoo.draw

    figure = zoo.draw.schedule(names, **given)
    _finish(figure, output, f"schedule-{'-'.join(names)}", f"Learning rate of {', '.join(names)}")


@draw.command()
@blueprint_options
@output_option
def model(output: Path | None, **given: Any) -> None:
    """A model as nested blocks, with its sizes and shapes.

    Differences from the Transformer of Vaswani et al. 2017 are orange.

    \b
    Examples:
      zoo draw model --preset modern
      zoo draw model --attention=gqa --norm=post --d-model 256 -o model.svg
    """
    preset = given["preset"]
    blueprint = blueprint_from(given)
    check(make_plan(blueprint), NOT_DRAWN)
    import zoo.draw

    _finish(
        zoo.draw.model(blueprint), output, f"model-{preset or 'own'}", f"The blocks of {preset or 'a model'}"
    )


@draw.command(short_help="Loss, learning rate and scores of training runs.")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=FOLDER)
@output_option
def training(runs: tuple[Path, ...], output: Path | None) -> None:
    """Training curves of several runs: loss, learning rate, validation score, gradient norms.

    RUN is what `zoo train --save RUN` or `zoo train translate RUN` wrote.

    \b
    Examples:
      zoo draw training reverser
      zoo draw training pre-norm post-norm -o norms.png
    """
    from zoo.training.record import read_record

    for run in runs:
        read_record(run)
    import zoo.draw

    names = [run.resolve().name for run in runs]
    _finish(
        zoo.draw.training(*runs), output, f"training-{'-'.join(names)}", f"Training of {', '.join(names)}"
    )


@draw.command(short_help="Differences between two variants of an axis.")
@click.argument("axis", metavar="AXIS", shell_complete=complete_axes)
@click.argument("a", metavar="A", shell_complete=complete_names)
@click.argument("b", metavar="B", shell_complete=complete_names)
@click.option("--head", type=int, default=1, show_default=True, help="Head whose weights are drawn.")
@output_option
def diff(axis: str, a: str, b: str, head: int, output: Path | None) -> None:
    """Differences between two variants of an axis: weights, outputs, masks or rates.

    Two small models with equal parameters read the same tokens.

    \b
    Examples:
      zoo draw diff attention eager sliding:window=2
      zoo draw diff masking full blank-rows
      zoo draw diff schedule noam cosine
    """
    check_pair(axis, a, b, head)
    import zoo.draw

    _finish(zoo.draw.diff(axis, a, b, head=head), output, f"diff-{axis}-{a}-{b}", f"{axis}: {a} and {b}")


def _resolve(axis: str, names: tuple[str, ...]) -> None:
    """Refuse unknown names before torch is imported."""
    for name in names:
        get_registry().resolve(axis, name)


def _numbers(option: str, text: str) -> list[int]:
    """Whole numbers separated by commas. Raises ZooError."""
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise ZooError(f"{option}={text}: expected whole numbers separated by commas, such as 7,5.") from None


def _finish(figure: Figure, output: Path | None, stem: str, title: str) -> None:
    """Write the picture, print where it is, and show it in a terminal that can."""
    if output is not None:
        save(figure, output, title)
        click.echo(wrapped(f"Wrote {output}."))
        return
    path = save_new(figure, Path(), stem)
    from zoo.draw.canvas import rendered
    from zoo.draw.terminal import protocol, sequence

    how = protocol()
    if how is not None:
        sys.stdout.write(sequence(rendered(figure, "png", dpi=TERMINAL_DPI), how))
    click.echo(wrapped(f"Wrote {path}."))
