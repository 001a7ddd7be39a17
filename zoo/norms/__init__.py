"""The axis `norm`: where the layer norm stands. Metadata only; each placement is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Variant

VARIANTS = (
    Variant(
        "norm",
        "post",
        "zoo.norms.post:PostNorm",
        "after the residual sum, as in the paper",
        formula="x = norm(x + dropout(f(x)))",
        paper="Vaswani et al. 2017, section 3.1, arXiv:1706.03762",
        capabilities={"cacheable": True},
    ),
    Variant(
        "norm",
        "pre",
        "zoo.norms.pre:PreNorm",
        "before the sublayer, and once more at the end of a stack",
        formula="x = x + dropout(f(norm(x)))",
        paper="Xiong et al. 2020, arXiv:2002.04745",
        capabilities={"final_norm": True, "cacheable": True},
    ),
    Variant(
        "norm",
        "res-post",
        "zoo.norms.res_post:ResPostNorm",
        "on the branch, before it joins the stream",
        formula="x = x + dropout(norm(f(x)))",
        paper="Liu et al. 2021 (Swin V2), section 3.2, arXiv:2111.09883",
        capabilities={"cacheable": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
