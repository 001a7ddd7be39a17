"""`zoo build --mine`: a Transformer of the learner's own parts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
from tabulate import tabulate

from zoo.cli.text import wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from zoo.models.transformer import Transformer
    from zoo.training.trainer import Score

HERE = "."
PASSED = 0.99  # share of unseen words
SHOWN = 4


def add_to(build: click.Command) -> None:
    """Give `zoo build` the option, once: a program may make its command line several times."""
    if any(param.name == "mine" for param in build.params):
        return
    if any("--mine" in param.opts for param in build.params):
        return
    build.params.append(
        click.Option(
            ["--mine"],
            is_flag=False,
            flag_value=HERE,
            metavar="[DIR]",
            is_eager=True,
            expose_value=False,
            callback=_build,
            help="Build from the exercises you have solved (in DIR, default: here) and the zoo's parts for the "
            "rest. Once all are solved, also train the model to spell words backwards.",
        )
    )


def _build(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None and not ctx.resilient_parsing:
        ctx.exit(0 if mine(None if value == HERE else Path(value)) else 1)


def mine(start: Path | None, seed: int = 0) -> bool:
    """Assemble, and train if all is solved; whether it went well.

    Raises:
        ZooError: there are no exercises here, none is solved, or a file fails.
    """
    from grader.catalog import get_exercises
    from grader.learner.assembly import PLACES
    from grader.learner.folder import need_folder

    folder = need_folder(start)
    record, known = folder.record(), {n: e for n, e in get_exercises().items() if n in PLACES}
    solved = {n: e.file for n, e in known.items() if record.entry(n).state == "solved" and folder.has(e)}
    _table(solved, known)
    if not solved:
        raise ZooError("You have not solved any exercise yet. Grade the next one with `zoo grade`.")
    from grader.learner.assembly import assemble, load_own

    own = load_own(folder.path, solved)
    try:
        model = assemble(folder.path, own, seed)
        numbers = sum(p.numel() for p in model.parameters())
        click.echo(
            wrapped(
                f"\nAssembled: {numbers:,} trainable parameters; {len(solved)} of {len(known)} parts are yours."
            )
        )
        if len(solved) < len(known):
            click.echo(wrapped("Once all exercises are solved, this command also trains the model."))
            return True
        return _perform(model, own, seed)
    except ZooError:
        raise
    except Exception as error:
        raise _describe(error, folder.path) from error


def _table(solved: Mapping[str, str], known: Mapping[str, Any]) -> None:
    from grader.learner.assembly import PLACES

    rows = [
        (name, click.style("yours", fg="green") if name in solved else "zoo", place)
        for name, place in PLACES.items()
        if name in known
    ]
    click.echo(tabulate(rows, headers=("part", "from", "place"), tablefmt="simple"))


def _perform(model: Transformer, own: Mapping[str, ModuleType], seed: int) -> bool:
    from tqdm import tqdm

    from grader.learner.rehearsal import recital, rehearse, with_cache
    from grader.training.training import TASK
    from zoo.training.trainer import Recipe, load_task

    task, recipe = load_task(TASK), Recipe(seed=seed)
    with tqdm(total=recipe.steps, disable=None, leave=False, desc="training", unit="step") as bar:

        def on_step(_step: int, loss: float) -> None:
            bar.set_postfix_str(f"loss {loss:.3f}")
            bar.update()

        rehearse(model, own, task, recipe, on_step)
    score = recital(model, own, task)
    _print_score("After training", score)
    for example in score.examples[:SHOWN]:
        click.echo(f"  {example.text} -> {example.got}")
    if "kv_cache" not in own:
        return score.share >= PASSED
    cached = with_cache(model, own)
    if cached is None:
        click.echo(
            wrapped(
                "Your cached attention was not tested in the model: its weights do not match your attention's."
            )
        )
        return score.share >= PASSED
    again = recital(cached, own, task)
    _print_score("With your cache, position by position", again)
    return min(score.share, again.share) >= PASSED


def _print_score(when: str, score: Score) -> None:
    text = (
        f"{when}, it spells {score.correct:,} of {score.total:,} unseen words backwards ({score.share:.1%})."
    )
    click.echo(click.style(wrapped(text), fg="green" if score.share >= PASSED else "red"))


def _describe(error: Exception, folder: Path) -> ZooError:
    """Return what went wrong in the learner's code, with the line."""
    import traceback

    own = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if Path(f.filename).parent.resolve() == folder.resolve()
    ]
    where = f" in {own[-1].filename}, line {own[-1].lineno}: {own[-1].line}" if own else ""
    return ZooError(f"{type(error).__name__}{where}\n  {error}")
