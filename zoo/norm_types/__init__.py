"""The axis `norm-type`: which norm. Metadata only; each norm is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Option, Variant

EPS = Option("eps", float, 1e-5, "added to the variance, under the root", minimum=0)

VARIANTS = (
    Variant(
        "norm-type",
        "torch-layernorm",
        "zoo.norm_types.torch_layernorm:TorchLayerNorm",
        "nn.LayerNorm, in one kernel",
        formula="gain * (x - mean(x)) / sqrt(var(x) + eps) + bias",
        paper="Ba et al. 2016, arXiv:1607.06450",
        options=(EPS,),
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
