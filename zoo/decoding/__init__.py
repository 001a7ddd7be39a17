"""The axis `decoding`: how an answer is chosen. Metadata only; each strategy is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Variant

VARIANTS = (
    Variant(
        "decoding",
        "greedy",
        "zoo.decoding.greedy:GreedyDecoding",
        "the most probable token at each step",
        formula="y[t] = argmax_v p(v | y[<t], x)",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
