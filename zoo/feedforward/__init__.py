"""The axis `feedforward`. Metadata only; each network is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Option, Variant

DROPOUT = Option(
    "dropout", float, None, "probability after the activation; the model's if not given", minimum=0, maximum=1
)

VARIANTS = (
    Variant(
        "feedforward",
        "relu",
        "zoo.feedforward.relu:ReluFeedForward",
        "two matrices with a ReLU between, as in the paper",
        formula="max(0, x W_1 + b_1) W_2 + b_2",
        paper="Vaswani et al. 2017, section 3.3, arXiv:1706.03762",
        options=(DROPOUT,),
    ),
    Variant(
        "feedforward",
        "gelu",
        "zoo.feedforward.gelu:GeluFeedForward",
        "two matrices with a (exact) GELU between",
        formula="gelu(x W_1 + b_1) W_2 + b_2, gelu(x) = x Phi(x)",
        paper="Hendrycks and Gimpel 2016, arXiv:1606.08415",
        options=(DROPOUT,),
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
