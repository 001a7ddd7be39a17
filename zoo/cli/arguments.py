"""Completion of arguments that name an axis, and a variant on it."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem

from zoo.cli.options import PresetType, VariantType
from zoo.core.blueprint import Preset, get_presets
from zoo.core.plugins import get_registry
from zoo.core.registry import Variant

PRESET = "preset"  # may stand in place of an axis


def complete_axes(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Axes that begin so."""
    return [
        CompletionItem(axis.name, help=axis.summary)
        for axis in get_registry().axes
        if axis.name.startswith(incomplete)
    ]


def complete_axes_and_preset(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Axes that begin so, and the word `preset`; where something is typed, variants and presets too."""
    more = [CompletionItem(PRESET, help="a named blueprint")] if PRESET.startswith(incomplete) else []
    named: list[Variant | Preset] = (
        [*get_registry().variants(), *get_presets().values()] if incomplete else []
    )
    more += [CompletionItem(one.name, help=one.summary) for one in named if one.name.startswith(incomplete)]
    return complete_axes(ctx, param, incomplete) + more


def complete_names(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Variants of the axis typed before, or presets, that begin so."""
    axis = str(ctx.params.get("axis"))
    if axis == PRESET:
        return PresetType().shell_complete(ctx, param, incomplete)
    known = [one.name for one in get_registry().axes]
    return VariantType(axis).shell_complete(ctx, param, incomplete) if axis in known else []
