"""The axis `norm-type`: which norm. Metadata only; each norm is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

EPS = Option("eps", float, 1e-5, "added to the variance, under the root", minimum=0)

VARIANTS = (
    Variant(
        "norm-type",
        "torch-layernorm",
        "zoo.parts.norm_type.torch_layernorm:TorchLayerNorm",
        "nn.LayerNorm, in one kernel",
        formula="gain * (x - mean(x)) / sqrt(var(x) + eps) + bias",
        paper="Ba et al. 2016, arXiv:1607.06450",
        options=(EPS,),
    ),
    Variant(
        "norm-type",
        "layernorm",
        "zoo.parts.norm_type.layernorm:LayerNorm",
        "layer norm written out, operation by operation",
        formula="gain * (x - mean(x)) / sqrt(var(x) + eps) + bias",
        paper="Ba et al. 2016, arXiv:1607.06450",
        options=(EPS,),
    ),
    Variant(
        "norm-type",
        "rmsnorm",
        "zoo.parts.norm_type.rmsnorm:RMSNorm",
        "divides by the root mean square; no mean, no bias",
        formula="gain * x / sqrt(mean(x^2) + eps)",
        paper="Zhang and Sennrich 2019, arXiv:1910.07467",
        options=(Option("eps", float, 1e-5, "added to the mean square, under the root", minimum=0),),
    ),
    Variant(
        "norm-type",
        "scalenorm",
        "zoo.parts.norm_type.scalenorm:ScaleNorm",
        "scales every vector to one learned length",
        formula="g x / max(||x||, eps), g learned, sqrt(D) at the start",
        paper="Nguyen and Salazar 2019, arXiv:1910.05895",
        options=(Option("eps", float, 1e-5, "smallest length to divide by", minimum=0),),
    ),
    Variant(
        "norm-type",
        "dyt",
        "zoo.parts.norm_type.dyt:DynamicTanh",
        "dynamic tanh: element by element, no statistics",
        formula="gain * tanh(alpha x) + bias, alpha one learned number",
        paper="Zhu et al. 2025, arXiv:2503.10622",
        options=(Option("alpha", float, 0.5, "initial value of alpha"),),
    ),
    Variant(
        "norm-type",
        "none",
        "zoo.parts.norm_type.none:NoNorm",
        "no norm, for comparison",
        formula="x",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
