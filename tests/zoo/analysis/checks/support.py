"""Wrong parts: what each is, and the property that must fail for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from zoo.analysis.checks.part import Part, part_of
from zoo.core.plugins import get_plugins, make_registry
from zoo.core.registry import Variant

T = TypeVar("T", bound=type)


@dataclass(frozen=True)
class Wrong:
    """A class with one thing wrong.

    Attributes:
        title: of the property that must not hold.
        says: what the reason must hold.
        capabilities: what it declares.
    """

    axis: str
    cls: type
    title: str
    says: str
    capabilities: dict[str, Any]

    @property
    def id(self) -> str:
        return f"{self.axis}-{self.cls.__name__}"


WRONG: list[Wrong] = []


def wrong(axis: str, title: str, says: str, **capabilities: Any) -> Callable[[T], T]:
    """A decorator: the class is wrong in such a way that `title` must fail, with `says` in the reason."""

    def add(cls: T) -> T:
        WRONG.append(Wrong(axis, cls, title, says, capabilities))
        return cls

    return add


def part(one: Wrong) -> Part:
    """The wrong part, registered beside all others."""
    registry = make_registry(get_plugins())
    path = f"{one.cls.__module__}:{one.cls.__name__}"
    registry.add(Variant(one.axis, "wrong", path, "wrong", capabilities=one.capabilities), "test")
    return part_of(registry, one.axis, "wrong")
