"""Options that several commands share: a variant for every axis, sizes, preset, device. From the registry."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from dataclasses import asdict, fields
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from zoo.cli.text import output_alone
from zoo.core.blueprint import Blueprint, Preset, Sizes, get_preset, get_presets, make_blueprint
from zoo.core.errors import ZooError
from zoo.core.files import check_writable, reporting_os_errors
from zoo.core.plan import Plan
from zoo.core.plugins import get_registry
from zoo.core.registry import Axis, Variant

if TYPE_CHECKING:
    _TextType = click.ParamType[str]
else:
    _TextType = click.ParamType  # generic for type checkers only, before click 8.5

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The option --json, `as_json` for the command, which then has standard output for `print_json` alone."""

    @click.option("--json", "as_json", is_flag=True, help="Print JSON only.")
    @wraps(command)
    def alone(*args: Any, as_json: bool, **given: Any) -> Any:
        with output_alone() if as_json else nullcontext():
            return command(*args, as_json=as_json, **given)

    return alone


def _seed(_ctx: click.Context, _param: click.Parameter, value: int) -> int:
    if not 0 <= value < 2**63:
        raise click.BadParameter("expected a whole number from 0 to 2^63 - 1.")
    return value


def html_option(text: str) -> Callable[[F], F]:
    """The option --html: a file that can be written, checked before the command runs."""

    def checked(_ctx: click.Context, _param: click.Parameter, value: Path | None) -> Path | None:
        if value is not None and value.is_dir():
            raise click.BadParameter(
                f"'{value}' is a folder. Name a file in it, such as {value / 'page.html'}."
            )
        if value is not None and not value.parent.is_dir():
            raise click.BadParameter(f"there is no folder '{value.parent}'.")
        if value is not None:
            with reporting_os_errors(f"The page cannot be written to '{value}'"):
                check_writable(value)
        return value

    return click.option(
        "--html", type=click.Path(path_type=Path), metavar="FILE", callback=checked, help=text
    )


runs_option = click.option(
    "--runs",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="With a task: record each training in a folder of its own in DIR, for `zoo draw training DIR/*`.",
)
tensorboard_option = click.option(
    "--tensorboard",
    is_flag=True,
    help="Also write TensorBoard event files, to the folder `tensorboard` of the run. Needs the package tensorboard.",
)
seed_option = click.option(
    "--seed", type=int, default=0, show_default=True, callback=_seed, help="Random seed for weights and data."
)


class VariantType(_TextType):
    """A variant as it is typed: "name", "name:option=value", "file.py:Class"; or several, by comma.

    On some axes also several for one model, by layer: "name*3+name:option=value" (`zoo.core.pattern`).

    It only completes: what a name stands for is looked up, and refused, where a blueprint is made.
    """

    def __init__(self, axis: str, several: bool = False) -> None:
        self.name, self.axis, self.several = axis, axis, several

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Variants that begin so, the options of one that is followed by a colon, and files."""
        before, comma, last = incomplete.rpartition(",") if self.several else ("", "", incomplete)
        if get_registry().axis(self.axis).per_layer:
            earlier, plus, last = last.rpartition("+")
            before, comma = before + comma + earlier, plus
        name, colon, rest = last.partition(":")
        variants = get_registry().variants(self.axis)
        if colon:
            found = _options_of((v for v in variants if v.name == name), rest)
        else:
            found = [(v.name, v.summary) for v in variants if v.name.startswith(last)]
        items = [CompletionItem(before + comma + text, help=help_) for text, help_ in found]
        # the file first: bash forgets what came before it, and offers files only if nothing else fits
        return items if colon and items else [CompletionItem(incomplete, type="file"), *items]


def _options_of(variants: Iterable[Variant], typed: str) -> list[tuple[str, str]]:
    """Return what may follow "name:": each option that is not typed yet, as "name:typed:option="."""
    done, colon, last = typed.rpartition(":")
    return [
        (f"{v.name}:{done}{colon}{o.name}=", o.help)
        for v in variants
        for o in v.options
        if o.name.startswith(last)
    ]


def decoding_option(command: F) -> F:
    """Add --decoding to a command that uses a saved model."""
    names = ", ".join(one.name for one in get_registry().variants("decoding"))
    return click.option(
        "--decoding",
        type=VariantType("decoding"),
        metavar="VARIANT",
        help=f"Decoding strategy: {names}.  [default: the model's]",
    )(command)


sampling_seed_option = click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="Random seed for sampling strategies.",
)
allow_code_option = click.option(
    "--allow-code", is_flag=True, help="Allow running the Python files that the model was built from."
)


class PresetType(_TextType):
    """The name of a preset, or several, by comma; it only completes."""

    name = "preset"

    def __init__(self, several: bool = False) -> None:
        self.several = several

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """Presets that begin so."""
        before, comma, last = incomplete.rpartition(",") if self.several else ("", "", incomplete)
        return [
            CompletionItem(before + comma + preset.name, help=preset.summary)
            for preset in get_presets().values()
            if preset.name.startswith(last)
        ]


def axis_options(several: bool = False) -> Callable[[F], F]:
    """An option for every axis that is registered, with its variants in the help and in completion."""

    def add(command: F) -> F:
        for axis in reversed(get_registry().axes):
            click.option(
                f"--{axis.name}",
                _argument(axis),
                type=VariantType(axis.name, several),
                metavar="VARIANT,..." if several else "VARIANT",
                help=f"{axis.summary[0].upper()}{axis.summary[1:]}: {_names(axis)}."
                + (" Per layer: NAME*3+NAME." if axis.per_layer else ""),
            )(command)
        return command

    return add


def size_options(command: F) -> F:
    """An option for every size of a model."""
    for one in reversed(fields(Sizes)):
        kind = float if isinstance(one.default, float) else int
        click.option(
            f"--{one.name.replace('_', '-')}",
            one.name,
            type=kind,
            help=f"{one.metadata['help'][0].upper()}{one.metadata['help'][1:]}.",
        )(command)
    return command


def preset_option(command: F) -> F:
    """--preset."""
    return click.option(
        "--preset",
        type=PresetType(),
        metavar="NAME",
        help=f"Start from a preset: {', '.join(get_presets())}.",
    )(command)


def presets_option(command: F) -> F:
    """--preset, for several."""
    return click.option(
        "--preset",
        type=PresetType(several=True),
        metavar="NAME,...",
        help=f"Presets, one row each: {', '.join(get_presets())}.",
    )(command)


def corrected_option(command: F) -> F:
    """--corrected."""
    return click.option(
        "--corrected", is_flag=True, help="Fix the pitfalls of the preset (see `zoo show preset NAME`)."
    )(command)


def blueprint_options(command: F) -> F:
    """--preset, an option for every axis, an option for every size: what `blueprint_from` takes."""
    return preset_option(corrected_option(axis_options()(size_options(command))))


def device_option(command: F) -> F:
    """--device; see `zoo.models.devices.resolve_device`."""
    return click.option(
        "--device",
        type=click.Choice(["auto", "cpu", "cuda"]),
        default="auto",
        show_default=True,
        help="Device to run on; `auto` uses CUDA if available.",
    )(command)


def accelerate_option(command: F) -> F:
    """--accelerate."""
    return click.option("--accelerate", is_flag=True, help="Apply CPU optimizations (zoo.accelerate).")(
        command
    )


def threads_option(default: int | None) -> Callable[[F], F]:
    """--threads; without a default, as many as torch takes."""
    return click.option(
        "--threads",
        type=click.IntRange(1),
        default=default,
        show_default="as many as torch takes" if default is None else True,
        help="CPU threads.",
    )


def blueprint_from(given: dict[str, Any], default: Preset | None = None) -> Blueprint:
    """Return the blueprint that was asked for; takes its entries out of `given`.

    Args:
        given: the arguments of a command with `blueprint_options`; those that are None were not given.
        default: the preset where no --preset is given; all defaults if None.

    Raises:
        UnknownNameError: no such preset, variant or option.
        ZooError: a value out of range.
    """
    name, corrected = given.pop("preset", None), given.pop("corrected", False)
    if corrected and name is None:
        raise ZooError("--corrected fixes the pitfalls of a preset; name one with --preset.")
    choices = _without_none({axis.name: given.pop(_argument(axis), None) for axis in get_registry().axes})
    sizes = sizes_from(given)
    preset = get_preset(name) if name is not None else default
    if preset is None:
        return make_blueprint(**choices, **sizes)
    return preset.blueprint(corrected, choices, sizes)


def tell_unused(plan: Plan, said: Collection[str]) -> None:
    """Report, on standard error, which of the axes and sizes `said` the model does not use."""
    unused = [name for name in (*plan.unused_axes, *plan.unused_sizes) if name in said]
    if unused:
        options = ", ".join("--" + name.replace("_", "-") for name in unused)
        click.echo(f"Not used by assembly={plan['assembly'].name}: {options}.", err=True)


def sizes_from(given: dict[str, Any]) -> dict[str, Any]:
    """Return the sizes that were asked for; takes them out of `given`."""
    return _without_none({one.name: given.pop(one.name, None) for one in fields(Sizes)})


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if value is not None}


def axis_values(given: dict[str, Any]) -> dict[str, list[str]]:
    """The variants asked for on each axis, with `axis_options(several=True)`; takes them out of `given`.

    Raises:
        ZooError: an axis was given without a variant.
    """
    found: dict[str, list[str]] = {}
    for axis in get_registry().axes:
        text = given.pop(_argument(axis), None)
        if text is None:
            continue
        found[axis.name] = [one.strip() for one in text.split(",") if one.strip()]
        if not found[axis.name]:
            raise ZooError(f"--{axis.name}={text}: expected one or more variants, separated by commas.")
    return found


def defaults_text(given: Sizes | None = None) -> str:
    """One sentence for a command's help: what is taken where no option is given."""
    choices = [f"{axis.name}={axis.default}" for axis in get_registry().axes]
    values = asdict(given or Sizes())
    sizes = [f"{name.replace('_', '-')}={value}" for name, value in values.items()]
    return f"Defaults: {', '.join(choices + sizes)}."


def _argument(axis: Axis) -> str:
    return axis.name.replace("-", "_")


def _names(axis: Axis) -> str:
    return ", ".join([*(variant.name for variant in get_registry().variants(axis.name)), "file.py:Class"])
