"""The axis `init`: initial weights. Metadata only; each is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

VARIANTS = (
    Variant(
        "init",
        "xavier",
        "zoo.parts.init.xavier:XavierInit",
        "uniform matrices after Glorot (Xavier), zero biases",
        formula="U(-a, a), a = sqrt(6 / (fan_in + fan_out))",
        paper="Glorot and Bengio 2010, AISTATS",
        options=(Option("tables", bool, False, "also draw the embedding tables like this"),),
    ),
    Variant(
        "init",
        "gpt2",
        "zoo.parts.init.gpt2:Gpt2Init",
        "small normal weights; smaller in the last layer of each sublayer",
        formula="N(0, std^2), std = 0.02; out_proj and down_proj: std / sqrt(2 N), N layers in the stack; biases 0",
        paper="Radford et al. 2019 (GPT-2), section 2.3",
        options=(
            Option("std", float, 0.02, "standard deviation", minimum=0),
            Option("tables", bool, True, "also draw the embedding tables like this"),
            Option("by_depth", bool, True, "scale the last matrix of each sublayer down with depth"),
        ),
        capabilities={"needs": ("num_encoder_layers", "num_decoder_layers")},
    ),
    Variant(
        "init",
        "small-normal",
        "zoo.parts.init.small_normal:SmallNormalInit",
        "normal matrices of one small size, zero biases",
        formula="N(0, 2 / (5 D))",
        paper="Nguyen and Salazar 2019 (SmallInit), arXiv:1910.05895",
        capabilities={"needs": ("d_model",)},
    ),
    Variant(
        "init",
        "torch",
        "zoo.parts.init.torch:TorchInit",
        "uniform matrices and biases, as nn.Linear draws them",
        formula="U(-a, a), a = 1 / sqrt(fan_in)",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
