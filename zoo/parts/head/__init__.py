"""The axis `head`: hidden vectors to scores of the next token. Metadata only; each head is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

BIAS = Option("bias", bool, True, "whether the map has a bias")

SOFTCAP = Option(
    "softcap", float, None, "c, where scores x become c tanh(x / c), as in Gemma 2", minimum=0.001
)

VARIANTS = (
    Variant(
        "head",
        "logits",
        "zoo.parts.head.logits:LogitsHead",
        "one linear map; what cross-entropy takes",
        formula="x W^T + b",
        paper="Vaswani et al. 2017, section 3.4, arXiv:1706.03762",
        options=(BIAS, SOFTCAP),
    ),
    Variant(
        "head",
        "log-softmax",
        "zoo.parts.head.log_softmax:LogSoftmaxHead",
        "a linear map and a log-softmax: log-probabilities, which the KL loss takes",
        formula="log softmax(x W^T + b)",
        options=(BIAS, SOFTCAP),
        capabilities={"output": "log-probs"},
    ),
    Variant(
        "head",
        "softmax",
        "zoo.parts.head.softmax:SoftmaxHead",
        "a linear map and a softmax: probabilities, which no loss accepts; a common mistake",
        formula="softmax(x W^T + b)",
        options=(BIAS, SOFTCAP),
        capabilities={"output": "probs"},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
