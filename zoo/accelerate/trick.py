"""The base of all tricks: another class for a module, which keeps everything else."""

from __future__ import annotations

from typing import Any

from torch import nn


class Trick(nn.Module):
    """Stands before the plain class of a module and overrides its `forward`: names, weights and hooks stay.

    A copy and a pickle of such a module are plain again: they may go where the trick does not work.
    """

    title = ""
    """What the trick does, in words."""

    def __reduce_ex__(self, _protocol: Any) -> tuple[Any, ...]:
        return _empty, (plain_class(self),), self.__dict__


def _empty(plain: type[nn.Module]) -> nn.Module:
    """A module of this class, to be filled."""
    return plain.__new__(plain)


_MADE: dict[tuple[type, type], type[nn.Module]] = {}


def with_trick(trick: type[Trick], plain: type[nn.Module]) -> type[nn.Module]:
    """The class of a module of class `plain` with this trick; the same whenever asked."""
    if (trick, plain) not in _MADE:
        own = {"__module__": plain.__module__, "__doc__": plain.__doc__}
        _MADE[trick, plain] = type(plain.__name__, (trick, plain), own)
    return _MADE[trick, plain]


def plain_class(module: nn.Module) -> type[nn.Module]:
    """The class that a module has without a trick."""
    return type(module).__bases__[1] if isinstance(module, Trick) else type(module)
