"""`zoo train`."""

from __future__ import annotations

import platform
import sys
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from zoo.cli.options import (
    accelerate_option,
    blueprint_from,
    blueprint_options,
    device_option,
    json_option,
    threads_option,
)
from zoo.cli.root import INTERRUPTED, report
from zoo.cli.task_group import TaskGroup
from zoo.cli.text import bold, columns, counted, print_json, wrapped
from zoo.core.blueprint import Blueprint, Preset, get_preset
from zoo.core.recipe import Recipe
from zoo.core.tasks import get_task, get_tasks

if TYPE_CHECKING:
    import torch

    from zoo.models.transformer import Transformer
    from zoo.training.tasks.base import TaskData
    from zoo.training.trainer import Example, Score

    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # generic for type checkers only, before click 8.5

SAVE_EVERY = 50  # steps
SHOWN = 10  # examples
LOG = "log.csv"  # beside the model: step, loss, rate and gradient norms
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
    """One training: what is trained on what, and where it is saved; how many steps it has done and saved."""

    task: str
    blueprint: Blueprint
    recipe: Recipe
    device: torch.device
    save: Path | None
    threads: int = 1
    losses: list[float] = field(default_factory=list)
    saved: int = 0
    log: list[str] = field(default_factory=list)

    def save_model(self, model: Transformer, **extra: Any) -> None:
        """Save the model as it is, if it is to be saved and has learned anything."""
        if self.save is None or not self.losses:
            return
        import torch

        from zoo.core.files import reporting_os_errors, write_whole
        from zoo.models.checkpoint import save_checkpoint

        notes = {"task": self.task, "recipe": asdict(self.recipe), "steps": len(self.losses)}
        versions = {"python": platform.python_version(), "torch": str(torch.__version__)}
        save_checkpoint(self.save, model, self.blueprint, **notes, versions=versions, **extra)
        with reporting_os_errors(f"The log of the steps cannot be written to '{self.save}'"):
            write_whole(self.save / LOG, "".join(self.log).encode())
        self.saved = len(self.losses)

    def describe_save(self) -> str:
        """Return where the last checkpoint is, in words."""
        if self.saved:
            return f" Step {self.saved} of {self.recipe.steps} is saved in {self.save}."
        return (
            " Nothing new is saved." if self.save else " Nothing is saved; use --save DIR to save the model."
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
    help=f"Save the model and a log of its steps to DIR every {SAVE_EVERY} steps and at the end "
    "(replaces a checkpoint).",
)
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
    as_json: bool,
    **given: Any,
) -> None:
    """Train a Transformer on a task and score it.

    The score is the share of 1,000 unseen texts answered exactly right. Variants, sizes and training settings default
    to those of the task's preset. Ctrl-C saves the model if --save was given and exits with 130; a loss that is not
    finite exits with 1.

    \b
    Examples:
      zoo train reverse --save reverser
      zoo train --attention=fused --norm=post --seed 3
      zoo train --attention=exercises/attention.py:MultiHeadAttention --steps 100
      zoo train translate toys
    """
    if ctx.invoked_subcommand is not None:
        return
    preset = get_preset(given["preset"] or get_task(task).preset)
    recipe = _recipe(preset, {name: given.pop(name) for name in ASKED})
    blueprint = blueprint_from(given, preset)

    from zoo.models.builder import build_decoding
    from zoo.models.checkpoint import check_directory
    from zoo.models.devices import resolve_device
    from zoo.models.trial import build_on
    from zoo.training.trainer import DivergedError, check_model, exact_match, load_task

    if save is not None:
        check_directory(save)
    run = Run(task, blueprint, recipe, resolve_device(device), save, threads)
    data = load_task(task)
    check_model(blueprint, data)
    model = build_on(blueprint, run.device, recipe.seed)
    if accelerate:
        from zoo.accelerate import accelerate as make_faster

        make_faster(model)
    try:
        start = time.perf_counter()
        _train(run, model, data)
        seconds = time.perf_counter() - start
        run.save_model(model)
        score = exact_match(
            model,
            data,
            decoding=build_decoding(blueprint),
            seed=recipe.seed,
            device=run.device,
            threads=threads,
        )
    except DivergedError as error:
        report(DivergedError(f"{error}{run.describe_save()}"))
        ctx.exit(1)
    except KeyboardInterrupt:
        run.save_model(model)
        click.echo(
            wrapped(f"\nInterrupted after {counted(len(run.losses), 'step')}.{run.describe_save()}"), err=True
        )
        ctx.exit(INTERRUPTED)
    run.save_model(model, correct=score.correct, total=score.total)
    print_json(_record(run, score, seconds)) if as_json else _print(run, score, seconds)


def _recipe(preset: Preset, asked: dict[str, Any]) -> Recipe:
    """The preset's recipe, with what was asked for in its place."""
    return Recipe(**{**preset.recipe, **{name: value for name, value in asked.items() if value is not None}})


def _train(run: Run, model: Transformer, data: TaskData) -> None:
    """Train `model`, with a progress bar where standard error is a terminal."""
    from tqdm import tqdm

    from zoo.models.builder import build_loss, build_schedule
    from zoo.models.devices import memory_limit
    from zoo.training.gradients import GradientNorms
    from zoo.training.trainer import train

    schedule = build_schedule(run.blueprint, run.recipe.steps, run.recipe.warmup)
    norms = GradientNorms(model)
    run.log.append(",".join(("step", "loss", "lr", *norms.columns)) + "\n")
    quiet = not sys.stderr.isatty()
    with tqdm(total=run.recipe.steps, unit="step", leave=False, disable=quiet) as bar:

        def on_step(step: int, loss: float) -> None:
            run.losses.append(loss)
            if run.save is not None:
                row = (loss, run.recipe.lr * schedule(step - 1), *norms())
                run.log.append(",".join([str(step), *(f"{one:.6g}" for one in row)]) + "\n")
            bar.set_postfix(loss=f"{loss:.4f}", refresh=False)
            bar.update()
            if step % SAVE_EVERY == 0:
                run.save_model(model)

        with memory_limit("Use a smaller --batch-size, or a smaller model."):
            train(
                model,
                data,
                run.recipe,
                loss=build_loss(run.blueprint),
                schedule=schedule,
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
        "examples": [{**asdict(one), "right": one.right} for one in score.examples[:SHOWN]],
        "saved": None if run.save is None else str(run.save),
    }


def _print(run: Run, score: Score, seconds: float) -> None:
    click.echo(
        f"Trained on {run.task}: {counted(run.recipe.steps, 'step')} of {run.recipe.batch_size}, "
        f"loss {run.losses[-1]:.4f}, {seconds:.1f} s on {run.device.type}."
    )
    click.echo(f"Unseen texts: {score.correct:,} of {score.total:,} right ({score.share:.1%}).\n")
    click.echo(columns([("text", "answer", ""), *map(marked, score.examples[:SHOWN])]))
    if run.save is not None:
        texts = " ".join(example.text for example in score.examples[:2])
        click.echo(f"\nSaved in {run.save}. Use it with {bold(f'zoo predict {run.save} {texts}')}")


def marked(example: Example) -> tuple[str, str, str]:
    """A row: the text, what the model made of it, and whether that is right."""
    mark = "right" if example.right else f"wrong, expected {example.expected}"
    return example.text, example.got, mark
