"""The axis `embedding`: token ids to vectors. Metadata only; each variant is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Option, Variant

STD = Option("std", float, 0.1, "standard deviation of the initial table", minimum=0)

VARIANTS = (
    Variant(
        "embedding",
        "scaled",
        "zoo.embeddings.scaled:ScaledEmbeddings",
        "one table a side, times sqrt(D), as in the paper",
        formula="table[token] * sqrt(D)",
        paper="Vaswani et al. 2017, section 3.4, arXiv:1706.03762",
    ),
    Variant(
        "embedding",
        "unscaled",
        "zoo.embeddings.unscaled:UnscaledEmbeddings",
        "one table a side, as it is",
        formula="table[token]",
        paper="Radford et al. 2018 (GPT)",
        options=(STD,),
    ),
    Variant(
        "embedding",
        "shared",
        "zoo.embeddings.shared:SharedEmbeddings",
        "one table for both sides, as it is; needs one vocabulary",
        formula="table[token]",
        paper="Press and Wolf 2017, arXiv:1608.05859",
        options=(STD,),
        capabilities={"one_vocabulary": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
