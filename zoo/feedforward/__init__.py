"""The axis `feedforward`. Metadata only; each network is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Variant

VARIANTS = (
    Variant(
        "feedforward",
        "relu",
        "zoo.feedforward.relu:ReluFeedForward",
        "two matrices with a ReLU between, as in the paper",
        formula="max(0, x W_1 + b_1) W_2 + b_2",
        paper="Vaswani et al. 2017, section 3.3, arXiv:1706.03762",
    ),
    Variant(
        "feedforward",
        "gelu",
        "zoo.feedforward.gelu:GeluFeedForward",
        "two matrices with a (exact) GELU between",
        formula="gelu(x W_1 + b_1) W_2 + b_2, gelu(x) = x Phi(x)",
        paper="Hendrycks and Gimpel 2016, arXiv:1606.08415",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
