"""The axis `feedforward`. Metadata only; each network is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

DROPOUT = Option(
    "dropout", float, None, "probability after the activation; the model's if not given", minimum=0, maximum=1
)
BIAS = Option("bias", bool, False, "whether the three maps have biases; the paper's have none")
TANH = Option("tanh", bool, False, "whether GELU is approximated by a hyperbolic tangent, as in GPT-2")
SHAZEER = "Shazeer 2020, arXiv:2002.05202"

VARIANTS = (
    Variant(
        "feedforward",
        "relu",
        "zoo.parts.feedforward.relu:ReluFeedForward",
        "two matrices with a ReLU between, as in the paper",
        formula="max(0, x W_1 + b_1) W_2 + b_2",
        paper="Vaswani et al. 2017, section 3.3, arXiv:1706.03762",
        options=(DROPOUT,),
    ),
    Variant(
        "feedforward",
        "gelu",
        "zoo.parts.feedforward.gelu:GeluFeedForward",
        "two matrices with a GELU between",
        formula="gelu(x W_1 + b_1) W_2 + b_2, gelu(x) = x Phi(x)",
        paper="Hendrycks and Gimpel 2016, arXiv:1606.08415",
        options=(DROPOUT, TANH),
    ),
    Variant(
        "feedforward",
        "relu2",
        "zoo.parts.feedforward.relu2:SquaredReluFeedForward",
        "two matrices with a squared ReLU between (Primer)",
        formula="max(0, x W_1 + b_1)^2 W_2 + b_2",
        paper="So et al. 2021 (Primer), arXiv:2109.08668",
        options=(DROPOUT,),
    ),
    Variant(
        "feedforward",
        "glu",
        "zoo.parts.feedforward.glu:GluFeedForward",
        "three matrices, gated by a sigmoid",
        formula="(sigmoid(x W) * (x V)) W_2",
        paper=SHAZEER,
        options=(DROPOUT, BIAS),
    ),
    Variant(
        "feedforward",
        "reglu",
        "zoo.parts.feedforward.reglu:RegluFeedForward",
        "three matrices, gated by a ReLU",
        formula="(max(0, x W) * (x V)) W_2",
        paper=SHAZEER,
        options=(DROPOUT, BIAS),
    ),
    Variant(
        "feedforward",
        "geglu",
        "zoo.parts.feedforward.geglu:GegluFeedForward",
        "three matrices, gated by a GELU",
        formula="(gelu(x W) * (x V)) W_2, gelu(x) = x Phi(x)",
        paper=SHAZEER,
        options=(DROPOUT, BIAS, TANH),
    ),
    Variant(
        "feedforward",
        "swiglu",
        "zoo.parts.feedforward.swiglu:SwigluFeedForward",
        "three matrices, gated by Swish (SiLU)",
        formula="(swish(x W) * (x V)) W_2, swish(x) = x sigmoid(x)",
        paper=SHAZEER,
        options=(DROPOUT, BIAS),
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
