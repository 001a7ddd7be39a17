"""The page of a training: what was trained, its curves, what it answers, and how to do it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zoo.core.describe import in_words
from zoo.pages.curves import charts, norms_chart
from zoo.pages.rendering import render
from zoo.training.record import Record


def run_page(record: Record) -> str:
    """A page of the training with this record, finished or not."""
    about, count = record.about, len(record.steps)
    blueprint = about.get("blueprint", {})
    return render(
        "zoo.pages/run.html",
        styles=["zoo.pages/curves.css"],
        name=record.name,
        problem=str(about.get("problem", "")),
        command=str(about.get("command", "")),
        task=str(about.get("task", "")),
        state=str(about.get("state", "")),
        facts=_facts(record),
        choices=[
            (axis, one["name"], _options(one["options"]))
            for axis, one in blueprint.get("choices", {}).items()
        ],
        sizes=_pairs(blueprint.get("sizes", {})),
        recipe=_pairs(about.get("recipe", {})),
        machine=_pairs(about.get("machine", {})),
        charts=charts([record]),
        norms=norms_chart(record),
        examples=about.get("examples", []),
        values=[
            (record.steps[i], record.losses[i], record.rates[i])
            for i in range(count)
            if i % max(1, count // 20) == 0 or i == count - 1
        ],
    )


def _facts(record: Record) -> list[tuple[str, str]]:
    """Return what the training came to."""
    about = record.about
    found = [("Steps", f"{record.steps[-1]:,}"), ("Loss of the last step", f"{record.losses[-1]:.4f}")]
    score = about.get("score")
    if score:
        name = str(about.get("score_name", "score")).removesuffix(" (%)")
        right = f"{score['correct']:,} of {score['total']:,} ({score['share']:.1%})"
        found.append((f"{name[:1].upper()}{name[1:]}", right))
        more = {key: value for key, value in score.items() if key not in ("share", "correct", "total")}
        found += [
            (key.replace("_", " ").capitalize(), in_words(value)) for key, value in more.items() if value
        ]
    elif record.scores:
        found.append((record.score_name, f"{record.scores[-1][1]:.2f}"))
    if "parameters" in about:
        found.append(("Trainable parameters", f"{about['parameters']:,}"))
    if "seconds" in about:
        found.append(("Time", f"{about['seconds']:.1f} s on {about['machine']['device']}"))
    if "began" in about:
        found.append(("Began", str(about["began"]).replace("T", " ").replace("+00:00", " UTC")))
    return found


def _options(options: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={in_words(value)}" for name, value in options.items())


def _pairs(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, in_words(value)) for name, value in values.items()]
