"""`--mine`: a Transformer of the learner's own parts, for `zoo build`, `zoo train` and `zoo export`."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import click
from tabulate import tabulate

from zoo.cli.text import wrapped
from zoo.core.errors import ZooError

if TYPE_CHECKING:
    from grader.learner.folder import Folder
    from zoo.models.transformer import Model
    from zoo.training.trainer import Score

HERE, ASKED, BOTH = ".", "grader.mine", "encoder-decoder"
PASSED = 0.99  # share of unseen words
SHOWN = 4
OF_BUILD = (
    "Build from the exercises you have solved (in DIR, default: here) and the zoo's parts for the rest. Once all are "
    "solved, also train the model to spell words backwards. --assembly=decoder makes a GPT of them, "
    "--assembly=encoder a BERT."
)
OF_OTHERS = (
    "Use your own attention, positions, feedforward and norm, those of them that you have solved (in DIR, default: "
    "here), on axes that no other option sets."
)


def add_mine(name: str, command: click.Command) -> None:
    """Give a command the option, once: a program may make its command line several times."""
    run, text = (build_mine, OF_BUILD) if name == "build" else (with_mine, OF_OTHERS)
    if any("--mine" in param.opts for param in command.params):
        return
    command.params.append(
        click.Option(
            ["--mine"],
            is_flag=False,
            flag_value=HERE,
            metavar="[DIR]",
            expose_value=False,
            callback=_note,
            help=text,
        )
    )
    before = command.callback
    assert before is not None

    @wraps(before)
    def called(*args: Any, **given: Any) -> Any:
        asked = click.get_current_context().meta.get(ASKED)
        if asked is None:
            return before(*args, **given)
        return run(None if asked == HERE else Path(asked), before, *args, **given)

    command.callback = called


def _note(ctx: click.Context, _param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[ASKED] = value


def build_mine(start: Path | None, _build: Callable[..., Any], assembly: str | None = None, **_: Any) -> None:
    """Run `zoo build --mine`."""
    click.get_current_context().exit(0 if mine(start, assembly=assembly or BOTH) else 1)


def with_mine(start: Path | None, command: Callable[..., Any], *args: Any, **given: Any) -> Any:
    """Run a command with the learner's parts on all axes on which nothing else is asked for."""
    from grader.learner.assembly import AXES

    folder, solved = _solved(start, AXES)
    if not solved:
        raise ZooError(
            f"You have not solved any exercise whose part can be chosen: {', '.join(AXES)}. Grade the next one with "
            "`zoo grade`."
        )
    own = {AXES[name][0].replace("-", "_"): name for name in solved}
    own = {axis: name for axis, name in own.items() if given[axis] is None}
    for axis, name in own.items():
        given[axis] = f"{os.path.relpath(folder.path / solved[name])}:{AXES[name][1]}"
    yours, rest = [*own.values()], [name for name in AXES if name not in own.values()]
    text = f"Your parts: {', '.join(yours) or 'none'}." + (f" Not yours: {', '.join(rest)}." * bool(rest))
    click.echo(wrapped(text), err=True)
    return command(*args, **given)


def _solved(start: Path | None, among: Collection[str]) -> tuple[Folder, dict[str, str]]:
    """The learner's folder, and the files of the exercises that are solved in it."""
    from grader.catalog import get_exercises
    from grader.learner.folder import need_folder

    folder = need_folder(start)
    record, known = folder.record(), {n: e for n, e in get_exercises().items() if n in among}
    return folder, {
        n: e.file for n, e in known.items() if record.entry(n).state == "solved" and folder.has(e)
    }


def mine(start: Path | None, seed: int = 0, assembly: str = BOTH) -> bool:
    """Assemble, and train if all is solved; whether it went well.

    Raises:
        ZooError: there are no exercises here, none is solved, a file fails, or there is no such assembly.
    """
    from grader.catalog import get_exercises
    from grader.learner.assembly import places

    where = places(assembly)
    known = [name for name in where if name in get_exercises()]
    folder, solved = _solved(start, known)
    _table(solved, {name: where[name] for name in known})
    if not solved:
        which = "exercise" if assembly == BOTH else "exercise of these"
        raise ZooError(f"You have not solved any {which} yet. Grade the next one with `zoo grade`.")
    from grader.learner.assembly import assemble, load_own

    own = load_own(folder.path, solved)
    try:
        model = assemble(folder.path, own, seed, assembly)
        numbers = sum(p.numel() for p in model.parameters())
        click.echo(
            wrapped(
                f"\nAssembled: {numbers:,} trainable parameters; {len(solved)} of {len(known)} parts are yours."
            )
        )
        if len(solved) < len(known) and "decoder" in model.stacks:
            click.echo(wrapped("Once all exercises are solved, this command also trains the model."))
            return True
        if "decoder" not in model.stacks:
            click.echo(wrapped("It generates nothing, so it is not trained to spell words."))
            return True
        return _perform(model, own, seed)
    except ZooError:
        raise
    except Exception as error:
        raise _describe(error, folder.path) from error


def _table(solved: Mapping[str, str], where: Mapping[str, str]) -> None:
    rows = [
        (name, click.style("yours", fg="green") if name in solved else "zoo", place)
        for name, place in where.items()
    ]
    click.echo(tabulate(rows, headers=("part", "from", "place"), tablefmt="simple"))


def _perform(model: Model, own: Mapping[str, ModuleType], seed: int) -> bool:
    from tqdm import tqdm

    from grader.learner.assembly import recipe_of
    from grader.learner.rehearsal import recital, rehearse, with_cache
    from grader.training.training import TASK
    from zoo.training.trainer import load_task

    task, recipe = load_task(TASK), recipe_of(model, seed)
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
