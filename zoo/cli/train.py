"""`zoo train`."""

from __future__ import annotations

import platform
import shlex
import sys
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

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
from zoo.cli.task_group import TYPED, TaskGroup, inputs_from
from zoo.cli.text import bold, columns, counted, print_json, wrapped
from zoo.core.blueprint import Blueprint, Preset, Sizes, get_preset
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.core.recipe import Recipe
from zoo.core.rules import checked_plan
from zoo.core.tasks import get_task, get_tasks

if TYPE_CHECKING:
    import torch

    from zoo.models.transformer import Model
    from zoo.training.recorder import Recorder
    from zoo.training.tasks.base import TrainingData
    from zoo.training.trainer import DivergedError, Example, Score

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # generic for type checkers only, before click 8.5

SAVE_EVERY = 50  # steps
SHOWN = 10  # examples
SCORED = 200  # unseen texts, during the training
DEFAULT = Recipe()
ASKED = ("steps", "batch_size", "lr", "warmup", "seed")
_OWN = "[default: the preset's, else %s]"


class TaskType(_TextType):
    """The name of a task; it only completes."""

    name = "task"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Tasks that begin so."""
        return [
            CompletionItem(task.name, help=task.summary)
            for task in get_tasks().values()
            if task.name.startswith(incomplete)
        ]


@dataclass
class Run:
    """One training: what is trained on what, where it is saved and recorded; how many steps it has done and saved."""

    task: str
    data: TrainingData
    blueprint: Blueprint
    recipe: Recipe
    device: torch.device
    save: Path | None
    threads: int = 1
    recorder: Recorder | None = None
    score_every: int = 0
    losses: list[float] = field(default_factory=list)
    saved: int = 0

    def save_model(self, model: Model, **extra: Any) -> None:
        """Save the model as it is, if it is to be saved and has learned anything."""
        if self.save is None or not self.losses:
            return
        import torch

        from zoo.models.checkpoint import save_checkpoint

        notes = {
            "task": self.task,
            "recipe": asdict(self.recipe),
            "steps": len(self.losses),
            **self.saved_data,
        }
        versions = {"python": platform.python_version(), "torch": str(torch.__version__)}
        save_checkpoint(self.save, model, self.blueprint, **notes, versions=versions, **extra)
        self.saved = len(self.losses)
        if self.recorder is not None:
            self.recorder.note(saved=self.saved)

    @property
    def saved_data(self) -> dict[str, Any]:
        """The data that a checkpoint keeps."""
        from zoo.training.tasks.base import AlignedData

        return {"data": dict(self.data.saved())} if isinstance(self.data, AlignedData) else {}

    def describe_save(self) -> str:
        """Return where the last checkpoint is, in words."""
        if self.saved:
            return f" Step {self.saved} of {self.recipe.steps} is saved in {self.save}."
        return (
            " Nothing new is saved." if self.save else " Nothing is saved; use --save DIR to save the model."
        )

    def score(self, model: Model, amount: int | None = None) -> Score:
        """The score on so many unseen texts, or rows of tokens; on all that are scored at the end if None."""
        from zoo.training.scoring import score

        return score(
            model,
            self.data,
            self.blueprint,
            seed=self.recipe.seed,
            device=self.device,
            threads=self.threads,
            amount=amount,
        )


@click.command(cls=TaskGroup)
@click.option(
    "--task",
    type=TaskType(),
    default="reverse",
    show_default=True,
    metavar="NAME",
    help="What to train on; the same as `zoo train NAME`.",
)
@blueprint_options
@click.option("--steps", type=click.IntRange(1), help=f"Number of training steps. {_OWN % DEFAULT.steps}")
@click.option("--batch-size", type=click.IntRange(1), help=f"Rows per batch. {_OWN % DEFAULT.batch_size}")
@click.option("--lr", type=float, help=f"Highest learning rate. {_OWN % DEFAULT.lr}")
@click.option("--warmup", type=click.IntRange(1), help=f"Steps of the warm-up. {_OWN % DEFAULT.warmup}")
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=DEFAULT.seed,
    show_default=True,
    help="Random seed for weights, batches and sampling.",
)
@device_option
@accelerate_option
@threads_option(default=1)
@click.option(
    "--save",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help=f"Save the model to DIR every {SAVE_EVERY} steps and at the end, and record each step there "
    "(replaces a checkpoint).",
)
@click.option(
    "--score-every",
    type=click.IntRange(0),
    metavar="N",
    help=f"Score {SCORED} unseen texts every N steps, for the record. "
    "[default: a tenth of the steps where they are recorded, else 0: at the end only]",
)
@tensorboard_option
@html_option("Write a page of the training to FILE: choices, curves, answers, versions, how to reproduce it.")
@json_option
@click.pass_context
def train(
    ctx: click.Context,
    /,
    task: str,
    device: str,
    accelerate: bool,
    threads: int,
    save: Path | None,
    score_every: int | None,
    tensorboard: bool,
    html: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Train a Transformer on a task and score it.

    The score is the share of 1,000 unseen texts answered exactly right; for the task language, the bits per byte of
    held-out text. Variants, sizes and training settings default to those of the task and its preset.
    Ctrl-C saves the model if --save was given and exits with 130; a loss that is not finite exits with 1.

    With --save DIR, each step adds a row to DIR/log.csv: loss, learning rate, score, gradient norms. DIR/record.json
    has the choices, seed, versions and processor. `zoo draw training DIR` draws them.

    \b
    Examples:
      zoo train reverse --save reverser
      zoo train --attention=fused --norm=post --seed 3
      zoo train language book.txt --save writer
      zoo train --attention=exercises/attention.py:MultiHeadAttention --steps 100
      zoo train translate toys
    """
    if ctx.invoked_subcommand is not None:
        return
    _check_outputs(save, score_every, tensorboard, html)
    from zoo.training.trainer import DivergedError

    run, model = _prepared(task, given, device, save, threads)
    if accelerate:
        from zoo.accelerate import accelerate as make_faster

        make_faster(model)
    folder = save
    if folder is None and html is not None:
        folder = Path(ctx.with_resource(TemporaryDirectory(prefix="zoo-"))) / task
    if folder is not None:
        command = {"command": ctx.meta[TYPED], "accelerated": accelerate}
        run.recorder = _recorder(run, folder, model, command, tensorboard)
        run.score_every = run.recipe.steps // 10 if score_every is None else score_every
    try:
        score, seconds = _train_and_score(run, model)
    except (DivergedError, KeyboardInterrupt) as error:
        ctx.exit(_end_early(run, model, error, html, folder))
    run.save_model(model, correct=score.correct, total=score.total)
    print_json(_record(run, score, seconds)) if as_json else _print(run, score, seconds)
    if html is not None and folder is not None:
        write_page(html, folder)


def _check_outputs(save: Path | None, score_every: int | None, tensorboard: bool, html: Path | None) -> None:
    """Raise ZooError where options for a record are given and nothing is recorded."""
    if save is None and tensorboard:
        raise ZooError("--tensorboard writes to the folder of the training: give --save DIR too.")
    if save is None and html is None and score_every is not None:
        raise ZooError("--score-every is for the record of the training: give --save DIR or --html FILE too.")


def _prepared(
    task: str, given: dict[str, Any], device: str, save: Path | None, threads: int
) -> tuple[Run, Model]:
    """The run that was asked for and its new model; takes the entries of inputs and blueprint out of `given`."""
    preset = get_preset(given["preset"] or get_task(task).preset)
    recipe = _recipe(preset, task, {name: given.pop(name) for name in ASKED})
    inputs, asked = inputs_from(given), [one.name for one in fields(Sizes) if given[one.name] is not None]
    blueprint = blueprint_from(given, preset)

    from zoo.models.checkpoint import check_directory
    from zoo.models.devices import resolve_device
    from zoo.models.trial import build_on
    from zoo.training.scoring import prepare
    from zoo.training.trainer import load_data

    if save is not None:
        check_directory(save)
    blueprint, data = prepare(blueprint, load_data(task, inputs), asked)
    run = Run(task, data, blueprint, recipe, resolve_device(device), save, threads)
    return run, build_on(checked_plan(blueprint), run.device, recipe.seed)


def _train_and_score(run: Run, model: Model) -> tuple[Score, float]:
    """Train, save and score the model: the score, and the seconds that the training took."""
    from zoo.training.recorder import described

    with run.recorder or nullcontext():
        start = time.perf_counter()
        _train(run, model)
        seconds = time.perf_counter() - start
        run.save_model(model)
        score = run.score(model)
        if run.recorder is not None:
            run.recorder.note(seconds=round(seconds, 3), **described(score))
    return score, seconds


def _end_early(
    run: Run,
    model: Model,
    error: DivergedError | KeyboardInterrupt,
    html: Path | None,
    folder: Path | None,
) -> int:
    """Report a loss that is not finite, or Ctrl-C, after which the model is saved; return the exit code."""
    if isinstance(error, KeyboardInterrupt):
        run.save_model(model)
    if html is not None and folder is not None and run.losses:
        write_page(html, folder)
    if isinstance(error, KeyboardInterrupt):
        steps = counted(len(run.losses), "step")
        click.echo(wrapped(f"\nInterrupted after {steps}.{run.describe_save()}"), err=True)
        return INTERRUPTED
    report(type(error)(f"{error}{run.describe_save()}"))
    return 1


def _recipe(preset: Preset, task: str, asked: dict[str, Any]) -> Recipe:
    """The preset's recipe, with that of the task and what was asked for in its place."""
    return Recipe(
        **{
            **preset.recipe,
            **get_task(task).recipe,
            **{name: value for name, value in asked.items() if value is not None},
        }
    )


def write_page(path: Path, folder: Path) -> None:
    """Write the page of the training that is recorded in `folder`."""
    from zoo.pages.rendering import write
    from zoo.pages.runs import run_page
    from zoo.training.record import read_record

    write(path, run_page(read_record(folder)))
    click.echo(wrapped(f"Wrote {path}."), err=True)


def _recorder(run: Run, folder: Path, model: Model, more: dict[str, Any], board: bool) -> Recorder:
    """Return the recorder of the training in `folder`; reports if it replaces another record."""
    from zoo.training.record import in_words
    from zoo.training.recorder import Recorder, score_name

    about = {
        "task": run.task,
        "recipe": asdict(run.recipe),
        "seed": run.recipe.seed,
        "threads": run.threads,
        "score_name": score_name(run.data),
        "saved": 0,
        **more,
    }
    recorder = Recorder(folder, model, run.blueprint, about, ["score"], board=board)
    if before := in_words(folder):
        click.echo(
            wrapped(
                f"'{folder}' has the record of a training ({before}). The first step of this one replaces it."
            ),
            err=True,
        )
    return recorder


def _train(run: Run, model: Model) -> None:
    """Train `model`, with a progress bar where standard error is a terminal."""
    from tqdm import tqdm

    from zoo.models.builder import build_loss, build_optimizer, build_schedule
    from zoo.models.devices import memory_limit
    from zoo.training.trainer import train

    schedule = build_schedule(run.blueprint, run.recipe.steps, run.recipe.warmup)
    quiet = not sys.stderr.isatty()
    with tqdm(total=run.recipe.steps, unit="step", leave=False, disable=quiet) as bar:

        def on_step(step: int, loss: float) -> None:
            run.losses.append(loss)
            if run.recorder is not None:
                scored = run.score_every and step % run.score_every == 0 and step < run.recipe.steps
                score = run.score(model, SCORED).share if scored else None
                run.recorder.step(step, loss, run.recipe.lr * schedule(step - 1), score)
            bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            bar.update()
            if step % SAVE_EVERY == 0:
                run.save_model(model)

        with memory_limit("Use a smaller --batch-size, or a smaller model."):
            train(
                model,
                run.data,
                run.recipe,
                loss=build_loss(run.blueprint),
                schedule=schedule,
                optimizer=build_optimizer(run.blueprint, model, run.recipe),
                device=run.device,
                on_step=on_step,
                threads=run.threads,
            )


def _record(run: Run, score: Score, seconds: float) -> dict[str, Any]:
    return {
        "task": run.task,
        "blueprint": run.blueprint.to_json(),
        "recipe": asdict(run.recipe),
        "device": run.device.type,
        "losses": run.losses,
        "seconds": seconds,
        "correct": score.correct,
        "total": score.total,
        "share": score.share,
        **measures(score),
        "examples": [{**asdict(one), "right": one.right} for one in score.examples[:SHOWN]],
        "saved": None if run.save is None else str(run.save),
    }


def _print(run: Run, score: Score, seconds: float) -> None:
    click.echo(
        f"Trained on {run.task}: {counted(run.recipe.steps, 'step')} of {run.recipe.batch_size}, "
        f"loss {run.losses[-1]:.4f}, {seconds:.1f} s on {run.device.type}."
    )
    what = f"{run.data.scored[0].upper()}{run.data.scored[1:]}"
    click.echo(f"{what}: {score.correct:,} of {score.total:,} right ({score.share:.1%}).")
    found = {} if make_plan(run.blueprint).reads_images else measures(score)
    if found:
        click.echo("; ".join(f"{name.replace('_', ' ')} {value:.3f}" for name, value in found.items()) + ".")
    if score.examples:
        click.echo("\n" + columns([("text", "answer", ""), *map(marked, score.examples[:SHOWN])]))
    if run.save is not None:
        click.echo(f"\nSaved in {run.save}. Use it with {bold(_next_command(run, score))}")


def measures(score: Score) -> dict[str, float]:
    """Measures of a score besides the share: bits per byte and perplexity, where tokens are scored one by one."""
    found = {name: getattr(score, name, None) for name in ("bits_per_byte", "perplexity")}
    return {} if score.examples else {name: value for name, value in found.items() if value is not None}


def _next_command(run: Run, score: Score) -> str:
    """A command that uses what was trained."""
    plan = make_plan(run.blueprint)
    own = any(part.variant.is_file for axis in plan.parts for part in plan.pattern(axis))
    allow = " --allow-code" if own else ""
    saved = shlex.quote(str(run.save))
    if plan.reads_images:
        return f"zoo export {saved} -o model.py{allow}"
    if score.examples:
        texts = [example.text for example in score.examples[:2]]
    elif run.task == "language":
        return f'zoo generate {saved} "Once"{allow}'
    else:
        texts = ["It was [MASK] dream."]
    return f"zoo predict {saved} {shlex.join(texts)}{allow}"


def marked(example: Example) -> tuple[str, str, str]:
    """A row: the text, what the model made of it, and whether that is right."""
    mark = "right" if example.right else f"wrong, expected {example.expected}"
    return example.text, example.got, mark
