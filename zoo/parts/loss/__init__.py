"""The axis `loss`: what training minimizes. Metadata only; each loss is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

SMOOTHING = Option(
    "smoothing", float, 0.1, "probability moved from the label to the other tokens", minimum=0, maximum=0.999
)
SMOOTHED_LABELS = "q(y) = 1 - smoothing, q(pad) = 0, q(k) = smoothing / (V - 2) for all others"

VARIANTS = (
    Variant(
        "loss",
        "cross-entropy",
        "zoo.parts.loss.cross_entropy:CrossEntropyLoss",
        "of the next token, padding left out",
        formula="-mean over y != pad of log softmax(z)[y]",
    ),
    Variant(
        "loss",
        "z-loss",
        "zoo.parts.loss.z_loss:ZLoss",
        "cross-entropy plus a small penalty on log(Z)^2",
        formula="mean over y != pad of -log softmax(z)[y] + weight (log sum_v exp(z[v]))^2",
        paper="Chowdhery et al. 2022 (PaLM), section 5, arXiv:2204.02311",
        options=(Option("weight", float, 1e-4, "weight of the penalty; 0 gives cross-entropy", minimum=0),),
    ),
    Variant(
        "loss",
        "label-smoothing",
        "zoo.parts.loss.label_smoothing:LabelSmoothingLoss",
        "cross-entropy with smoothed labels",
        formula=f"-mean over y != pad of sum_k q(k) log softmax(z)[k]\n{SMOOTHED_LABELS}",
        paper="Szegedy et al. 2016, section 7, arXiv:1512.00567; Vaswani et al. 2017, section 5.4, arXiv:1706.03762",
        options=(SMOOTHING,),
    ),
    Variant(
        "loss",
        "kl",
        "zoo.parts.loss.kl:KLLoss",
        "divergence of log-probabilities from smoothed labels",
        formula=f"mean over y != pad of sum_k q(k) (log q(k) - log p(k))\n{SMOOTHED_LABELS}",
        paper="Szegedy et al. 2016, section 7, arXiv:1512.00567",
        options=(SMOOTHING,),
        capabilities={"takes": "log-probs"},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
