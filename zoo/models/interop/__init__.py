"""Weights from torch's own Transformer parts, and back."""

from zoo.models.interop.convert import from_torch, load_torch, to_torch
from zoo.models.interop.stacks import Stacks

__all__ = ["Stacks", "from_torch", "load_torch", "to_torch"]
