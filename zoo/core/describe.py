"""Variants, presets and tasks as JSON objects, and their capabilities in a few words."""

from __future__ import annotations

from typing import Any

from zoo.core.blueprint import Choice, Preset
from zoo.core.pattern import format_pattern
from zoo.core.plan import plan_part
from zoo.core.registry import Axis, Variant
from zoo.core.tasks import Task


def variant_json(variant: Variant, axis: Axis) -> dict[str, Any]:
    """All that a variant says about itself."""
    return {
        "axis": variant.axis,
        "name": variant.name,
        "default": variant.name == axis.default,
        "summary": variant.summary,
        "formula": variant.formula,
        "paper": variant.paper,
        "options": [
            {
                "name": option.name,
                "type": option.type.__name__,
                "default": option.default,
                "help": option.help,
                "minimum": option.minimum,
                "maximum": option.maximum,
                "choices": list(option.choices),
            }
            for option in variant.options
        ],
        "capabilities": {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in variant.capabilities.items()
        },
        "path": variant.path,
        "origin": variant.origin,
    }


def preset_json(preset: Preset) -> dict[str, Any]:
    """All that a preset says about itself."""
    return {
        "name": preset.name,
        "summary": preset.summary,
        "choices": dict(preset.choices),
        "sizes": dict(preset.sizes),
        "source": preset.source,
        "recipe": dict(preset.recipe),
        "tasks": {task: dict(settings) for task, settings in preset.tasks.items()},
        "corrected": dict(preset.corrected),
        "notes": list(preset.notes),
    }


def task_json(task: Task) -> dict[str, Any]:
    """All that a task says about itself."""
    return {
        "name": task.name,
        "summary": task.summary,
        "preset": task.preset,
        "path": task.path,
        "commands": dict(task.commands),
    }


def in_words(value: object) -> str:
    """A capability's or an option's value: "yes", "bool, additive", "none"."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (tuple, list)):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None or value == "" else str(value)


def remarkable(variant: Variant, axis: Axis) -> str:
    """The capabilities in which a variant differs from what its axis takes for granted."""
    words = []
    for capability in axis.capabilities:
        value = variant.capabilities[capability.name]
        if value == capability.default:
            continue
        name = capability.name.replace("_", " ")
        if isinstance(value, bool):
            words.append(name if value else f"not {name}")
        else:
            words.append(f"{name}: {in_words(value)}")
    return "; ".join(words)


def typed(value: object) -> str:
    """An option's value as it is typed: "true", "0.1"."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def options_text(variant: Variant) -> str:
    """A variant's options with their defaults: "options: bias=true, dropout"; "" where there are none."""
    shown = (
        option.name if option.default is None else f"{option.name}={typed(option.default)}"
        for option in variant.options
    )
    return f"options: {', '.join(shown)}" if variant.options else ""


def brief(axis: str, choice: Choice) -> str:
    """The choice with those of its options that are not the default; of a file only the name."""
    if choice.then:
        return format_pattern(brief(axis, one) for one in choice.layers)
    defaults = {option.name: option.default for option in plan_part(axis, choice).variant.options}
    given = {name: value for name, value in choice.options.items() if value != defaults[name]}
    return str(Choice(choice.name.rpartition("/")[2], given))
