"""`zoo generate`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import VariantType, allow_code_option, device_option
from zoo.cli.root import INTERRUPTED
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan

if TYPE_CHECKING:
    import torch

    from zoo.core.blueprint import Blueprint
    from zoo.models.transformer import Model
    from zoo.parts.decoding.tokenwise import TokenwiseDecoding
    from zoo.training.tasks.language import Language

TOKENS = 200
TASK = "language"
START = "\n"
"""What stands for an empty prompt."""


@click.command()
@click.argument("directory", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("prompt", metavar="[PROMPT]", required=False)
@click.option(
    "--max-new",
    type=click.IntRange(1),
    default=TOKENS,
    show_default=True,
    help="Tokens to generate at most.",
)
@click.option(
    "--temperature", type=click.FloatRange(0), help="Below 1 sharper, above 1 flatter; 0 is greedy."
)
@click.option("--top-k", type=click.IntRange(1), help="Draw from the k most probable tokens.")
@click.option(
    "--top-p",
    type=click.FloatRange(0, 1),
    help="Draw from the most probable tokens with total probability p.",
)
@click.option(
    "--decoding",
    type=VariantType("decoding"),
    metavar="VARIANT",
    help="Any other decoding, token by token (see `zoo list decoding`).  [default: the model's]",
)
@click.option("--seed", type=click.IntRange(0, 2**63 - 1), default=0, show_default=True, help="Random seed.")
@allow_code_option
@device_option
@click.pass_context
def generate(
    ctx: click.Context,
    directory: Path,
    prompt: str | None,
    max_new: int,
    temperature: float | None,
    top_k: int | None,
    top_p: float | None,
    decoding: str | None,
    seed: int,
    allow_code: bool,
    device: str,
) -> None:
    """Continue PROMPT with a model saved by `zoo train language --save DIR`.

    Prints the prompt, and each token as soon as it is chosen, with keys and values of earlier tokens in a cache.
    Without PROMPT, reads it from standard input, if that is a file or a pipe. A text longer than the model's
    max_len is continued from its last half. Ctrl-C ends it.

    \b
    Examples:
      zoo generate writer "Once"
      zoo generate writer "Once" --temperature 0.8 --top-k 20 --seed 3
      echo Once | zoo generate writer --max-new 1000 > story.txt
    """
    sampling = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    given = {f"--{name.replace('_', '-')}": value for name, value in sampling.items() if value is not None}
    if decoding is not None and given:
        raise ZooError(
            f"--decoding and {next(iter(given))} both say how tokens are chosen: give one of them."
        )
    text = _from_input() if prompt is None else prompt

    import torch

    from zoo.models.devices import resolve_device

    where = resolve_device(device)
    model, blueprint, data = load_writer(directory, allow_code, where)
    chosen = _decoding(blueprint, decoding) if not given else _sampling(temperature, top_k, top_p)
    ids = data.vocabulary.encode(text or START)
    torch.manual_seed(seed)
    try:
        _write(text)
        for piece in pieces(data, continued(model, ids, chosen, max_new, blueprint.sizes.max_len)):
            _write(piece)
        _write("\n")
    except KeyboardInterrupt:
        _write("\n")
        ctx.exit(INTERRUPTED)


def load_writer(directory: Path, allow_code: bool, device: torch.device) -> tuple[Model, Blueprint, Language]:
    """The model in `directory`, its blueprint and its vocabulary.

    Raises:
        ZooError: there is no model, or it was not trained to continue a text.
    """
    from zoo.models.checkpoint import load_checkpoint
    from zoo.training.tasks.language import Language
    from zoo.training.trainer import load_data
    from zoo.training.translation.run import INDEX

    if (directory / INDEX).is_file():
        raise ZooError(
            f"'{directory}' is a run of `zoo train translate`. Use `zoo translate {shlex.quote(str(directory))} TEXT`."
        )
    model, blueprint, extra = load_checkpoint(directory, allow_code=allow_code, device=device)
    task = extra.get("task")
    if task != TASK:
        trained = f"was trained on the task {task}" if isinstance(task, str) else "was trained on no task"
        predicts = isinstance(task, str) and not make_plan(blueprint).reads_images
        use = f" Use `zoo predict {shlex.quote(str(directory))} TEXT`, or train" if predicts else " Train"
        raise ZooError(
            f"The model in '{directory}' {trained}, and does not continue a text.{use} one that does with "
            f"`zoo train {TASK} --save DIR`."
        )
    data = load_data(TASK, saved=extra.get("data", {}))
    assert isinstance(data, Language)
    return model, blueprint, data


def _decoding(blueprint: Blueprint, text: str | None) -> Any:
    from zoo.models.builder import build_decoding

    return build_decoding(blueprint if text is None else blueprint.with_choices(decoding=text))


def _sampling(temperature: float | None, top_k: int | None, top_p: float | None) -> TokenwiseDecoding:
    """Return the decoding that the three options choose. Raises ZooError."""
    from zoo.parts.decoding.filtered import FilteredDecoding
    from zoo.parts.decoding.greedy import GreedyDecoding

    if temperature == 0:
        return GreedyDecoding()
    try:
        return FilteredDecoding(1.0 if temperature is None else temperature, top_k, top_p)
    except ValueError as error:
        raise ZooError(str(error)) from error


def continued(model: Model, ids: list[int], decoding: Any, max_new: int, max_len: int) -> Iterator[list[int]]:
    """Yield what follows `ids`, token by token; all at once, where the decoding chooses all at once (beam search).

    The model sees at most max_len tokens: where there would be more, it goes on from the last half of them.
    """
    import torch

    from zoo.parts.decoding.stepper import Stepper
    from zoo.parts.decoding.tokenwise import TokenwiseDecoding
    from zoo.training.tasks.base import EOS, PAD

    device, ids, left = next(model.parameters()).device, ids[-max_len:], max_new
    while left > 0:
        if len(ids) >= max_len:
            ids = ids[-max(max_len // 2, 1) :]
        room = min(left, max_len - len(ids) + 1)
        prompt = torch.tensor([ids], device=device)
        with torch.no_grad():
            stepper = Stepper(model, prompt, None, PAD)
            if isinstance(decoding, TokenwiseDecoding):
                steps = decoding.stream(stepper, prompt[:, -1], room, EOS, PAD)
            else:
                steps = iter([decoding(stepper, prompt[:, -1], room, EOS, PAD)])
            for step in steps:
                new = step.flatten().tolist()
                ids, left = [*ids, *new], left - len(new)
                yield [token for token in new if token != EOS]
                if EOS in new:
                    return


def pieces(data: Language, steps: Iterator[list[int]]) -> Iterator[str]:
    """Text as it comes; bytes that are not yet a whole character wait for the next token."""
    waiting: list[int] = []
    for step in steps:
        waiting += step
        text = data.vocabulary.decode(waiting)
        if not text.endswith("\ufffd") or len(waiting) > 4:
            yield text
            waiting = []
    if waiting:
        yield data.vocabulary.decode(waiting)


def _write(text: str) -> None:
    """Print at once, whatever standard output is."""
    click.echo(text, nl=False)
    sys.stdout.flush()


def _from_input() -> str:
    """The text on standard input, without the line end behind it; "" where that is a terminal."""
    if sys.stdin.isatty():
        return ""
    try:
        return sys.stdin.read().removesuffix("\n")
    except UnicodeDecodeError as error:
        raise ZooError(f"Standard input is not valid UTF-8: {error}.") from error
