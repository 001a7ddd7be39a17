"""`zoo train translate`."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from zoo.cli.options import (
    accelerate_option,
    blueprint_from,
    blueprint_options,
    device_option,
    html_option,
    json_option,
    tensorboard_option,
    threads_option,
)
from zoo.cli.root import INTERRUPTED, report
from zoo.cli.sources import FILE, source_files, source_options
from zoo.cli.task_group import TYPED
from zoo.cli.text import bold, counted, print_json, wrapped
from zoo.core.blueprint import Preset, get_preset
from zoo.core.errors import ZooError
from zoo.core.tasks import get_task
from zoo.training.translation.settings import Settings, settings_from

if TYPE_CHECKING:
    from zoo.core.blueprint import Blueprint
    from zoo.training.progress import Progress
    from zoo.training.trainer import Trainer
    from zoo.training.translation.run import Run
    from zoo.training.translation.sources import Sources
    from zoo.training.translation.work import TranslationWork
    from zoo.training.update import Step

TASK = "translate"
SHOWN = 3  # examples
F = TypeVar("F", bound=Callable[..., Any])


def settings_options(command: F) -> F:
    """An option for every setting that has a help text."""
    kinds: dict[str, Any] = {"int": int, "float": float, "str": str}
    for name, one in reversed(Settings.__dataclass_fields__.items()):
        text = one.metadata.get("help")
        if text is None:
            continue
        option = name.replace("_", "-")
        text = f"{text[0].upper()}{text[1:]}. [default: the preset's, else {str(one.default).lower()}]"
        if str(one.type) == "bool":
            click.option(f"--{option}/--no-{option}", name, default=None, help=text)(command)
        else:
            click.option(f"--{option}", name, type=kinds[str(one.type)], help=text)(command)
    return command


@click.command(name=TASK)
@click.argument("folder", metavar="RUN", type=FILE)
@source_options("train", "valid", "test")
@click.option("--tokenizer", type=FILE, metavar="FILE", help="A `tokenizer.json` for both languages.")
@settings_options
@blueprint_options
@click.option(
    "--resume", is_flag=True, help="Continue the run in RUN with the settings that it was started with."
)
@click.option(
    "--allow-code",
    is_flag=True,
    help="With --resume: allow running the Python files that the model was built from.",
)
@device_option
@accelerate_option
@threads_option(default=None)
@tensorboard_option
@html_option("Write a page of the training to FILE: choices, curves, versions, how to reproduce it.")
@json_option
@click.pass_context
def train_translate(
    ctx: click.Context,
    /,
    folder: Path,
    resume: bool,
    allow_code: bool,
    device: str,
    accelerate: bool,
    threads: int | None,
    tensorboard: bool,
    html: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Train a Transformer to translate, into the new folder RUN.

    A text is two line-aligned files (UTF-8, or .gz) or one TSV file. Without files, the model learns two small
    made-up languages. A subword tokenizer is trained on the training text and saved in RUN. After each epoch the
    validation text is translated greedily. RUN/best is the model of the epoch with the highest BLEU; training stops
    if BLEU has not improved for --patience epochs. At the end, the best model translates the test text.

    RUN/log.csv has the loss and learning rate of each step, RUN/epochs.csv one row per epoch, RUN/record.json the
    choices, seed, versions and processor. An interrupted run continues with --resume from the last saved step; on the
    CPU the final weights are the same as without the interruption, given the same --accelerate and --threads.

    \b
    Examples:
      zoo train translate toys
      zoo train translate de-en --preset=multi30k --train-src=train.de.gz \\
        --train-tgt=train.en.gz --valid-src=val.de.gz --valid-tgt=val.en.gz
      zoo train translate de-en --resume
    """
    if resume:
        _check_no_settings(given)
    from zoo.cli.train import write_page
    from zoo.models.devices import resolve_device
    from zoo.training.recorder import check_board
    from zoo.training.trainer import DivergedError
    from zoo.training.translation.run import check_new, open_run

    where = resolve_device(device)
    if tensorboard:
        check_board()
    if not resume:
        check_new(folder)
    run = open_run(folder, allow_code=allow_code) if resume else _new_run(folder, given)
    try:
        _train(run, where, accelerate, threads, tensorboard, as_json)
        if html is not None:
            write_page(html, folder)
    except DivergedError as error:
        report(error)
        ctx.exit(1)
    except KeyboardInterrupt:
        again = f"`zoo train {TASK} {shlex.quote(str(folder))} --resume`"
        click.echo(wrapped(f"\nInterrupted. {again} continues from the last saved step."), err=True)
        ctx.exit(INTERRUPTED)


def _check_no_settings(given: Mapping[str, Any]) -> None:
    """Raises ZooError if a run that continues is given settings of its own."""
    asked = [name for name, value in given.items() if value not in (None, False)]
    if asked:
        first = min(asked).replace("_", "-")
        raise ZooError(
            f"--resume continues with the settings of the run: omit --{first}, or start a new run."
        )


def blueprint_and_settings(given: dict[str, Any], preset: Preset) -> tuple[Blueprint, Settings]:
    """Return a preset's blueprint and settings with the given values; takes its entries out of `given`.

    Raises:
        ZooError: a value out of range; a size of a vocabulary, which is the tokenizer's.
    """
    check_sizes_asked(given)
    names = [name for name in Settings.__dataclass_fields__ if name in given]
    settings = settings_from(
        preset.recipe, preset.tasks.get(TASK, {}), {name: given.pop(name) for name in names}
    )
    return blueprint_from(given, preset), settings


def check_sizes_asked(given: Mapping[str, Any]) -> None:
    """Raise ZooError if --src-vocab or --tgt-vocab is given."""
    for name in ("src_vocab", "tgt_vocab"):
        if given.get(name) is not None:
            raise ZooError(
                f"--{name.replace('_', '-')}: the vocabulary size is that of the tokenizer. Use --vocab-size."
            )


def _new_run(folder: Path, given: dict[str, Any]) -> Run:
    """Create a new run and its folder."""
    from zoo.core.rules import checked_plan
    from zoo.training.translation.run import Run, begin, check_vocabulary, make_tokenizers
    from zoo.training.translation.sources import Sources, digest

    sources: Sources = Sources(*(source_files(given, part) for part in ("train", "valid", "test")))
    path = given.pop("tokenizer")
    preset = get_preset(given["preset"] or get_task(TASK).preset)
    blueprint, settings = blueprint_and_settings(given, preset)
    corpora = sources.read()
    tokenizers = make_tokenizers(corpora, settings, path)
    blueprint = blueprint.with_sizes(src_vocab=tokenizers.src.vocab_size, tgt_vocab=tokenizers.tgt.vocab_size)
    check_vocabulary(blueprint, tokenizers)
    checked_plan(blueprint)
    run = Run(folder, blueprint, settings, sources, digest(corpora), tokenizers)
    begin(run)
    return run


def _train(
    run: Run, device: Any, accelerate: bool, threads: int | None, tensorboard: bool, as_json: bool
) -> None:
    """Finish the training, score the best model on the test text, and print both."""
    from zoo.core.rules import checked_plan
    from zoo.models.devices import memory_limit
    from zoo.models.trial import build_on
    from zoo.training.translation.dataset import datasets
    from zoo.training.translation.keeper import Keeper
    from zoo.training.translation.translator import Translator
    from zoo.training.translation.work import make_trainer

    command = str(click.get_current_context().meta[TYPED])
    corpora = run.sources.read()
    run.check(corpora)
    data = datasets(corpora, run.tokenizers, run.blueprint.sizes.max_len)
    for name, one in zip(("Training", "Validation"), data, strict=True):
        click.echo(f"{name} text: {one.corpus.report}", err=True)
    model = build_on(checked_plan(run.blueprint), device, run.settings.seed)
    if accelerate:
        from zoo.accelerate import accelerate as make_faster

        make_faster(model)
    translator = Translator(model, run.tokenizers, run.blueprint.sizes.max_len, device)
    trainer = make_trainer(model, run.blueprint, run.settings, data, translator, threads)
    with (
        memory_limit("Use a smaller --tokens, or a smaller model."),
        Keeper(run, trainer, tensorboard, command) as keeper,
        Bar(keeper, trainer) as bar,
    ):
        progress = trainer.run(bar)
    from zoo.cli.evaluate import scores

    found = None
    if corpora.test.pairs:
        found = scores(run.folder, corpora.test, device, None, accelerate=accelerate, threads=threads)
    if as_json:
        print_json({"run": str(run.folder), **progress.to_json(), "test": found and found.to_json()})
        return
    trained = (
        f"Trained for {counted(progress.epoch, 'epoch')}, {counted(progress.step, 'step')}, "
        f"{progress.seconds:.0f} s on {device.type}. "
        f"Best: epoch {progress.best_epoch}, BLEU {progress.best:.2f} on the validation text."
    )
    click.echo(wrapped(trained))
    if found:
        click.echo(found.text())
        click.echo("\n" + found.examples(SHOWN))
    click.echo(f"\nUse it with {bold(f'zoo translate {shlex.quote(str(run.folder))} TEXT')}")


class Bar:
    """An observer that hands on to another, with a progress bar where standard error is a terminal."""

    def __init__(self, inner: Any, trainer: Trainer[TranslationWork]) -> None:
        """Pass each event to `inner` first."""
        from tqdm import tqdm

        self.inner, self.quiet = inner, not sys.stderr.isatty()
        self.bar = tqdm(
            total=trainer.steps, initial=trainer.progress.step, unit="step", leave=False, disable=self.quiet
        )
        self.tokens, self.since = 0, trainer.progress.seconds

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def on_step(self, progress: Progress, step: Step) -> None:
        """Loss and target tokens per second."""
        self.inner.on_step(progress, step)
        self.tokens += step.tokens
        speed = self.tokens / max(progress.seconds - self.since, 1e-9)
        self.bar.set_postfix(loss=f"{step.loss:.3f}", tokens=f"{speed:,.0f}/s", refresh=False)
        self.bar.update()

    def on_epoch(self, progress: Progress, train_loss: float, valid_loss: float, score: float) -> None:
        """A line on the epoch."""
        self.inner.on_epoch(progress, train_loss, valid_loss, score)
        best = ", the best so far" if progress.best_epoch == progress.epoch else ""
        line = (
            f"Epoch {progress.epoch}: loss {train_loss:.3f}, validation {valid_loss:.3f}, BLEU {score:.2f}{best}; "
            f"{progress.seconds:.0f} s"
        )
        self.bar.clear()
        click.echo(line, err=True)
