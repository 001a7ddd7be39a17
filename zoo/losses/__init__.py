"""The axis `loss`: what training minimises. Metadata only; each loss is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Variant

VARIANTS = (
    Variant(
        "loss",
        "cross-entropy",
        "zoo.losses.cross_entropy:CrossEntropyLoss",
        "of the next token, padding left out",
        formula="-mean over y != pad of log softmax(z)[y]",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
