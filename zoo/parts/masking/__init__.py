"""The axis `masking`: which positions are hidden. Metadata only; each policy is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Variant

VARIANTS = (
    Variant(
        "masking",
        "full",
        "zoo.parts.masking.full:FullMasking",
        "padding on both sides, and later positions on the target side",
        formula="src[k] != pad;  tgt[k] != pad and k <= q",
        paper="Vaswani et al. 2017, section 3.2.3, arXiv:1706.03762",
    ),
    Variant(
        "masking",
        "causal-only",
        "zoo.parts.masking.causal_only:CausalOnlyMasking",
        "only later positions on the target side; padding is attended to",
        formula="k <= q",
    ),
    Variant(
        "masking",
        "blank-rows",
        "zoo.parts.masking.blank_rows:BlankRowsMasking",
        "like full, but on the target side padding is masked as a query (whole row), not as a key",
        formula="src[k] != pad;  tgt[q] != pad and k <= q",
        capabilities={"blank_rows": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
