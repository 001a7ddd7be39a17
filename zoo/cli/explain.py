"""The output of `zoo build --explain`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zoo.analysis.explain import Alternative, AxisReport, Explanation
from zoo.cli.text import bold, columns, wrapped
from zoo.core.describe import brief

FITS, IDLE = "would fit", "still rejected with"


def explanation_json(found: Explanation) -> dict[str, Any]:
    """An explanation as a JSON object."""
    return {
        "possible": found.possible,
        "broken": dict(found.broken),
        "axes": [
            {
                "axis": one.axis,
                "choice": str(one.choice),
                "to_blame": list(one.to_blame),
                "alternatives": [
                    {"name": other.name, "possible": not other.broken, "broken": dict(other.broken)}
                    for other in one.alternatives
                ],
            }
            for one in found.axes
        ],
        "rules": [
            {"name": name, "text": text, "kept": name not in found.broken}
            for name, text in found.rules.items()
        ],
    }


def explanation_text(found: Explanation) -> str:
    """The verdict, then axis by axis what else would fit and what would not, then the rules."""
    verdict = "\n".join(wrapped(f"{sentence} (rule {name})") for name, sentence in found.broken.items())
    good = wrapped(
        "No rule rejects this combination. A part may still reject its own arguments when it is built."
    )
    first = f"{bold('Rejected')}\n{verdict}" if found.broken else good
    axes = "\n".join(line for one in found.axes for line in _axis(one, found.broken))
    rules = [
        ("violated" if name in found.broken else "satisfied", name, text)
        for name, text in found.rules.items()
    ]
    return f"{first}\n\n{bold('Axis by axis')}\n{axes}\n\n{bold('Rules')}\n{columns(rules)}"


def _axis(report: AxisReport, broken: Mapping[str, str]) -> Iterator[str]:
    """The choice and whether it fits; then what every other variant would change."""
    verdict = f"does not fit: {_rules(report.to_blame)}" if report.to_blame else "fits"
    yield f"  {bold(f'{report.axis}={brief(report.axis, report.choice)}')} {verdict}"
    groups: dict[str, list[str]] = {}
    worse = []
    for one in report.alternatives:
        if one.broken.keys() <= broken.keys():
            groups.setdefault(_effect(one, broken), []).append(one.name)
        else:
            worse.append(one)
    for effect in sorted(groups, key=lambda text: (text != FITS, text == IDLE)):
        yield wrapped(f"{effect}: {', '.join(groups[effect])}", "    ")
    if worse:
        yield "    would violate another rule:"
        yield columns((f"    {one.name}", text) for one in worse for text in _why(one, broken))


def _effect(one: Alternative, broken: Mapping[str, str]) -> str:
    """Return what a variant that breaks nothing new would change."""
    if not one.broken:
        return FITS
    fixed = [rule for rule in broken if rule not in one.broken]
    return f"would fix only {_rules(fixed)}" if fixed else IDLE


def _why(one: Alternative, broken: Mapping[str, str]) -> Iterator[str]:
    """Return what speaks against it, beyond what speaks against the combination as it is."""
    return (f"{sentence} (rule {name})" for name, sentence in one.broken.items() if name not in broken)


def _rules(names: Sequence[str]) -> str:
    return ", ".join(f"rule {name}" for name in names)
