"""The axis `init`: initial weights. Metadata only; each is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Option, Variant

VARIANTS = (
    Variant(
        "init",
        "xavier",
        "zoo.inits.xavier:XavierInit",
        "uniform matrices after Glorot (Xavier), zero biases",
        formula="U(-a, a), a = sqrt(6 / (fan_in + fan_out))",
        paper="Glorot and Bengio 2010, AISTATS",
        options=(Option("tables", bool, False, "draw the embedding tables so too"),),
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
