"""The axis `mask`: the form in which masks travel. Metadata only; each form is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Variant

VARIANTS = (
    Variant(
        "mask",
        "bool",
        "zoo.parts.mask.bool:BoolMask",
        "bool, True = may be attended to; the default form",
        formula="keep",
    ),
    Variant(
        "mask",
        "additive",
        "zoo.parts.mask.additive:AdditiveMask",
        "float, added to the scores: 0 = may be attended to, -inf = may not",
        formula="log(keep)",
    ),
    Variant(
        "mask",
        "drop",
        "zoo.parts.mask.drop:DropMask",
        "inverted bool, True = may NOT be attended to, as in nn.MultiheadAttention",
        formula="not keep",
    ),
    Variant(
        "mask",
        "int",
        "zoo.parts.mask.int:IntMask",
        "whole numbers, 1 = may be attended to, 0 = may not",
        formula="1 if keep else 0",
    ),
    Variant(
        "mask",
        "lengths",
        "zoo.parts.mask.lengths:LengthsMask",
        "how many keys, counted from the first, each query may attend to",
        formula="sum over keys of keep",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
