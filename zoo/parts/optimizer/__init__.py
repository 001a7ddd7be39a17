"""The axis `optimizer`: how a gradient changes the weights. Metadata only; each optimizer is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

BETA1 = Option("beta1", float, None, "decay of the mean gradient; the recipe's if not given", 0, 0.999999)
BETA2 = Option("beta2", float, None, "decay of the mean squared gradient; the recipe's", 0, 0.999999)
EPS = Option("eps", float, None, "added to the root of the mean square; the recipe's", minimum=0)
WEIGHT_DECAY = Option(
    "weight_decay",
    float,
    None,
    "share of the weights removed per step, times the rate; the recipe's",
    minimum=0,
)
ADAMS = (BETA1, BETA2, EPS, WEIGHT_DECAY)
NAMES = ("beta1", "beta2", "eps", "weight_decay")

VARIANTS = (
    Variant(
        "optimizer",
        "adamw",
        "zoo.parts.optimizer.adamw:AdamW",
        "Adam with weight decay apart from the gradient",
        formula="w - lr (m / (sqrt(v) + eps) + weight_decay w), m and v the mean gradient and its mean square",
        paper="Loshchilov and Hutter 2019, arXiv:1711.05101",
        options=ADAMS,
        capabilities={"recipe": NAMES},
    ),
    Variant(
        "optimizer",
        "adam",
        "zoo.parts.optimizer.adam:Adam",
        "steps of about the same size for every weight; no weight decay by default",
        formula="w - lr m / (sqrt(v) + eps), m and v the mean of g + weight_decay w and its mean square",
        paper="Kingma and Ba 2015, arXiv:1412.6980",
        options=(
            BETA1,
            BETA2,
            EPS,
            Option("weight_decay", float, 0.0, "share of the weights that is added to the gradient", 0),
        ),
        capabilities={"recipe": NAMES[:3]},
    ),
    Variant(
        "optimizer",
        "sgd",
        "zoo.parts.optimizer.sgd:SGD",
        "stochastic gradient descent with momentum",
        formula="b = momentum b + g; w - lr_factor lr b (nesterov: g + momentum b in place of b)",
        paper="Robbins and Monro 1951, with momentum after Sutskever et al. 2013",
        options=(
            Option("momentum", float, 0.9, "share of the previous step that is kept", 0, 0.999999),
            Option("nesterov", bool, True, "whether to use Nesterov momentum"),
            Option("weight_decay", float, 0.0, "share of the weights that is added to the gradient", 0),
            Option(
                "lr_factor", float, 10.0, "factor on the learning rate, which recipes choose for AdamW", 1e-6
            ),
        ),
    ),
    Variant(
        "optimizer",
        "muon",
        "zoo.parts.optimizer.muon:Muon",
        "orthogonal steps for the matrices of the layers, AdamW for all else",
        formula="B = momentum B + G; W - 0.2 sqrt(max(out, in)) lr U V^T, where U S V^T = G + momentum B, nearly",
        paper="Jordan et al. 2024; the size of the steps: Liu et al. 2025, section 2.2, arXiv:2502.16982",
        options=(
            *ADAMS,
            Option("momentum", float, 0.95, "share of a matrix's previous step that is kept", 0, 0.999999),
            Option("ns_steps", int, 5, "Newton-Schulz steps towards the orthogonal matrix", 1, 99),
            Option("lr_factor", float, 1.0, "factor on the learning rate of the matrices", 1e-6),
        ),
        capabilities={"recipe": NAMES, "matrices": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
