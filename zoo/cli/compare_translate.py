"""`zoo compare translate`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from zoo.cli.options import (
    axis_options,
    axis_values,
    device_option,
    html_option,
    json_option,
    preset_option,
    runs_option,
    size_options,
    sizes_from,
    tensorboard_option,
)
from zoo.cli.sources import FILE, source_files, source_options
from zoo.cli.task_group import TYPED
from zoo.cli.text import counted, print_json, wrapped
from zoo.cli.train_translate import TASK, check_sizes_asked, settings_options
from zoo.core.blueprint import Blueprint, get_preset
from zoo.core.errors import CombinationError, ZooError
from zoo.core.tasks import get_task
from zoo.training.translation.settings import settings_from

if TYPE_CHECKING:
    import torch

    from zoo.training.recorder import Recorder
    from zoo.training.trainer import Trainer
    from zoo.training.translation.ablation import Outcome
    from zoo.training.translation.settings import Settings
    from zoo.training.translation.work import TranslationWork

    Trainers = Sequence[tuple[Blueprint, Trainer[TranslationWork]]]

MISMATCH = "loss-and-head"
CURVE = 6  # epochs of a loss curve that are shown


@click.command(name=TASK)
@source_options("train", "valid")
@click.option("--tokenizer", type=FILE, metavar="FILE", help="A `tokenizer.json` for both languages.")
@settings_options
@preset_option
@axis_options(several=True)
@size_options
@click.option("--allow-mismatch", is_flag=True, help="Allow a loss that does not fit the head.")
@device_option
@click.option(
    "--csv", "csv_path", type=FILE, metavar="FILE", help="Also write a CSV, one row per training and epoch."
)
@runs_option
@tensorboard_option
@html_option("Also write a page to FILE: a table that sorts, bars, and the curves of the trainings.")
@json_option
@click.pass_context
def compare_translate(
    ctx: click.Context,
    /,
    csv_path: Path | None,
    runs: Path | None,
    tensorboard: bool,
    html: Path | None,
    as_json: bool,
    allow_mismatch: bool,
    device: str,
    **given: Any,
) -> None:
    """Train several Transformers to translate the same text, and compare their scores.

    Each axis takes several variants, separated by commas (options after a colon). Each combination is trained with
    the same tokenizer, batches and seed, and gets one row: trainable parameters, seconds, validation loss and BLEU
    of greedy translations after the last epoch; a second table shows the training loss by epoch. Losses of different
    kinds cannot be compared; BLEU can. Without files, the models learn two small made-up languages. Models are not
    saved; --runs records losses, learning rates, gradient norms and scores.

    \b
    Examples:
      zoo compare translate --norm=pre,post --lr 4e-3
      zoo compare translate --loss=label-smoothing,cross-entropy
      zoo compare translate --head=log-softmax,softmax --loss=kl --allow-mismatch
    """
    from zoo.analysis.records import check_csv, write_csv
    from zoo.models.devices import machine

    if csv_path is not None:
        check_csv(csv_path)
    if tensorboard and runs is None:
        raise ZooError("--tensorboard writes to the folders of --runs DIR: give that too.")
    trainers, columns, settings = _prepared(given, device, (MISMATCH,) if allow_mismatch else ())
    if html is not None and runs is None:
        runs = Path(ctx.with_resource(TemporaryDirectory(prefix="zoo-")))  # for the curves
    command = str(ctx.meta[TYPED])
    recorders = _recorders(runs, trainers, settings, command, tensorboard)
    outcomes = _trained(trainers, recorders)
    flat = [
        {axis: str(one.blueprint[axis]) for axis in one.blueprint.choices}
        | {"parameters": one.parameters, **asdict(epoch), **machine(trainers[0][1].device)}
        for one in outcomes
        for epoch in one.epochs
    ]
    if as_json:
        print_json([_record(one) for one in outcomes])
    else:
        click.echo(_table(outcomes, columns))
    if csv_path is not None and flat:
        write_csv(csv_path, flat)
    if html is not None:
        _write_page(html, outcomes, columns, recorders, command, trainers[0][1].device)


def _record(outcome: Outcome) -> dict[str, Any]:
    return {
        "blueprint": outcome.blueprint.to_json(),
        "parameters": outcome.parameters,
        "epochs": [asdict(epoch) for epoch in outcome.epochs],
        "note": outcome.note,
    }


def _recorders(
    runs: Path | None, trainers: Trainers, settings: Settings, command: str, boards: bool
) -> list[Recorder | None]:
    """Return the recorders of the trainings, one per folder of `runs`; None where that is None. Raises ZooError."""
    if runs is None:
        return [None] * len(trainers)
    from zoo.analysis.compare import Candidate, run_names
    from zoo.cli.compare import check_folders
    from zoo.training.translation.ablation import recorder_in

    folders = [runs / name for name in run_names([Candidate(one) for one, _ in trainers], TASK)]
    check_folders(runs, folders, boards)
    return [
        recorder_in(folder, trainer, blueprint, settings, command, boards)
        for folder, (blueprint, trainer) in zip(folders, trainers, strict=True)
    ]


def _write_page(
    path: Path,
    outcomes: Sequence[Outcome],
    columns: Sequence[str],
    recorders: Sequence[Recorder | None],
    command: str,
    device: torch.device,
) -> None:
    """The page of these trainings; those without a single step have no curve."""
    from zoo.cli.compare_tables import page_of_rows
    from zoo.models.devices import machine
    from zoo.pages.rendering import write
    from zoo.training.record import LOG, read_record

    rows = []
    for one in outcomes:
        labels, last = [str(one.blueprint[axis]) for axis in columns], one.epochs[-1] if one.epochs else None
        numbers: dict[str, tuple[str, float | None]] = {"parameters": (f"{one.parameters:,}", one.parameters)}
        for name, digits, attribute in (
            ("seconds", 0, "seconds"),
            ("valid. loss", 3, "valid_loss"),
            ("valid. BLEU", 2, "bleu"),
        ):
            value = None if last is None else float(getattr(last, attribute))
            numbers[name] = "-" if value is None else f"{value:.{digits}f}", value
        rows.append((labels, numbers, one.note))
    bars = {
        name: max((row[1][name][1] or 0.0 for row in rows), default=0.0) for name in ("parameters", "seconds")
    }
    folders = [one.folder for one in recorders if one is not None and (one.folder / LOG).is_file()]
    epochs = max(len(one.epochs) for one in outcomes)
    under = [
        f"Trained to translate for {counted(epochs, 'epoch')}, with the same tokenizer, batches and seed. Loss and "
        "BLEU: of the validation text, greedily translated, after the last epoch. Losses of different kinds cannot "
        "be compared; BLEU can."
    ]
    page = page_of_rows(
        columns,
        rows,
        {**{name: top for name, top in bars.items() if top}, "valid. BLEU": 100.0},
        under,
        [read_record(one) for one in folders],
        command,
        machine(device),
    )
    write(path, page)
    click.echo(wrapped(f"Wrote {path}."), err=True)


def _prepared(
    given: dict[str, Any], device: str, allow: Sequence[str]
) -> tuple[Trainers, list[str], Settings]:
    """Return a trainer for each combination, the axes that differ between them, and the settings of all."""
    from zoo.analysis.compare import Candidate, combinations
    from zoo.models.devices import resolve_device
    from zoo.training.translation.ablation import prepare
    from zoo.training.translation.run import check_vocabulary, make_tokenizers
    from zoo.training.translation.sources import Sources

    sources, where = (
        Sources(*(source_files(given, part) for part in ("train", "valid"))),
        resolve_device(device),
    )
    preset = get_preset(given.pop("preset") or get_task(TASK).preset)
    check_sizes_asked(given)
    path, choices = given.pop("tokenizer"), axis_values(given)
    sizes = sizes_from(given)
    settings = settings_from(preset.recipe, preset.tasks.get(TASK, {}), given)
    corpora = sources.read()
    tokenizers = make_tokenizers(corpora, settings, path)
    sizes |= {"src_vocab": tokenizers.src.vocab_size, "tgt_vocab": tokenizers.tgt.vocab_size}
    base = preset.blueprint(sizes=sizes)
    blueprints = [one.blueprint for one in combinations([Candidate(base)], choices)]
    trainers = []
    for blueprint in blueprints:
        check_vocabulary(blueprint, tokenizers)
        try:
            trainers.append((blueprint, prepare(blueprint, settings, corpora, tokenizers, where, allow)))
        except CombinationError as error:
            if f"(rule {MISMATCH})" not in str(error):
                raise
            raise CombinationError(f"{error} To train it anyway, give --allow-mismatch.") from error
    varied = [axis for axis, texts in choices.items() if len(set(texts)) > 1]
    return trainers, varied or list(choices) or ["attention"], settings


def _trained(trainers: Trainers, recorders: Sequence[Recorder | None]) -> list[Outcome]:
    from tqdm import tqdm

    from zoo.training.translation.ablation import outcome

    total = sum(trainer.steps for _, trainer in trainers)
    with tqdm(total=total, unit="step", leave=False, disable=not sys.stderr.isatty()) as bar:

        def on_step() -> None:
            bar.update()

        return [
            outcome(trainer, blueprint, on_step, recorder)
            for (blueprint, trainer), recorder in zip(trainers, recorders, strict=True)
        ]


def _table(outcomes: Sequence[Outcome], columns: Sequence[str]) -> str:
    """Return what the trainings came to, and their loss curves."""
    from tabulate import tabulate

    labels = [[str(one.blueprint[axis]) for axis in columns] for one in outcomes]
    ends = []
    for one in outcomes:
        last = one.epochs[-1] if one.epochs else None
        numbers = (
            ["-"] * 3
            if last is None
            else [f"{last.seconds:.0f}", f"{last.valid_loss:.3f}", f"{last.bleu:.2f}"]
        )
        ends.append([f"{one.parameters:,}", *numbers])
    most = max(len(one.epochs) for one in outcomes)
    shown = sorted({round(1 + (most - 1) * n / (CURVE - 1)) for n in range(CURVE)}) if most else []
    curves = [
        [f"{one.epochs[n - 1].train_loss:.3f}" if n <= len(one.epochs) else "-" for n in shown]
        for one in outcomes
    ]
    blocks = [
        tabulate(
            [[*label, *cells] for label, cells in zip(labels, rows, strict=True)],
            [*columns, *headers],
            tablefmt="plain",
            colalign=["left"] * len(columns) + ["right"] * len(headers),
            disable_numparse=True,
        )
        for headers, rows in (
            (["parameters", "seconds", "valid. loss", "valid. BLEU"], ends),
            ([f"epoch {n}" for n in shown], curves),
        )
    ]
    notes = [
        wrapped(f"{', '.join(label)}: {one.note}")
        for label, one in zip(labels, outcomes, strict=True)
        if one.note
    ]
    title = "Training loss by epoch (with dropout, by each row's own loss function):"
    return "\n\n".join([blocks[0], f"{title}\n\n{blocks[1]}", *notes])
