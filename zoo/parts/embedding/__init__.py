"""The axis `embedding`: token ids to vectors. Metadata only; each variant is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

STD = Option("std", float, 0.1, "standard deviation of the initial table", minimum=0)
OWN_STD = Option(
    "std", float, None, "standard deviation of the initial table; 1/sqrt(D) if not given", minimum=0
)
SCALE = Option(
    "scale", float, None, "factor on embedded vectors, not on the head; sqrt(D) if not given", minimum=0
)

VARIANTS = (
    Variant(
        "embedding",
        "scaled",
        "zoo.parts.embedding.scaled:ScaledEmbeddings",
        "one table per side, times sqrt(D), as in the paper",
        formula="table[token] * sqrt(D)",
        paper="Vaswani et al. 2017, section 3.4, arXiv:1706.03762",
        options=(OWN_STD,),
    ),
    Variant(
        "embedding",
        "unscaled",
        "zoo.parts.embedding.unscaled:UnscaledEmbeddings",
        "one table per side, unscaled",
        formula="table[token]",
        paper="Radford et al. 2018 (GPT)",
        options=(STD,),
    ),
    Variant(
        "embedding",
        "shared",
        "zoo.parts.embedding.shared:SharedEmbeddings",
        "one table for both sides, unscaled; needs one vocabulary",
        formula="table[token]",
        paper="Press and Wolf 2017, arXiv:1608.05859",
        options=(STD,),
        capabilities={"one_vocabulary": True},
    ),
    Variant(
        "embedding",
        "tied",
        "zoo.parts.embedding.tied:TiedEmbeddings",
        "times sqrt(D); the head shares the target table",
        formula="table[token] * sqrt(D); head: x table_tgt^T + b",
        paper="Press and Wolf 2017, arXiv:1608.05859",
        options=(OWN_STD, SCALE),
        capabilities={"tied": True},
    ),
    Variant(
        "embedding",
        "three-way",
        "zoo.parts.embedding.three_way:ThreeWayEmbeddings",
        "one table for both sides and the head, as in the paper",
        formula="table[token] * sqrt(D); head: x table^T + b",
        paper="Vaswani et al. 2017, section 3.4, arXiv:1706.03762; Press and Wolf 2017, arXiv:1608.05859",
        options=(OWN_STD, SCALE),
        capabilities={"one_vocabulary": True, "tied": True},
    ),
    Variant(
        "embedding",
        "scaled-encoder",
        "zoo.parts.embedding.scaled_encoder:ScaledEncoderEmbeddings",
        "one table per side, times sqrt(D) on the source's only",
        formula="src: table[token] * sqrt(D); tgt: table[token]",
        options=(STD,),
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
