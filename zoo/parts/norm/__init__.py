"""The axis `norm`: where the layer norm stands. Metadata only; each placement is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

VARIANTS = (
    Variant(
        "norm",
        "post",
        "zoo.parts.norm.post:PostNorm",
        "after the residual sum, as in the paper",
        formula="x = norm(x + dropout(f(x)))",
        paper="Vaswani et al. 2017, section 3.1, arXiv:1706.03762",
        capabilities={"cacheable": True},
    ),
    Variant(
        "norm",
        "pre",
        "zoo.parts.norm.pre:PreNorm",
        "before each sublayer, and at the end of a stack",
        formula="x = x + dropout(f(norm(x)))",
        paper="Xiong et al. 2020, arXiv:2002.04745",
        capabilities={"final_norm": True, "cacheable": True},
    ),
    Variant(
        "norm",
        "res-post",
        "zoo.parts.norm.res_post:ResPostNorm",
        "on the output of the sublayer, before the residual sum",
        formula="x = x + dropout(norm(f(x)))",
        paper="Liu et al. 2021 (Swin V2), section 3.2, arXiv:2111.09883",
        capabilities={"cacheable": True},
    ),
    Variant(
        "norm",
        "sandwich",
        "zoo.parts.norm.sandwich:SandwichNorm",
        "before the sublayer and again on the branch (Peri-LN)",
        formula="x = x + dropout(norm'(f(norm(x))))",
        paper="Ding et al. 2021 (CogView), arXiv:2105.13290; Kim et al. 2025 (Peri-LN), arXiv:2502.02732",
        capabilities={"final_norm": True, "cacheable": True},
    ),
    Variant(
        "norm",
        "deepnorm",
        "zoo.parts.norm.deepnorm:DeepNorm",
        "after the sum; the residual is scaled by a factor that depends on depth",
        formula="x = norm(alpha x + dropout(f(x))), initial weights of values, output and feed-forward times beta\n"
        "encoder: alpha = 0.81 (N^4 M)^(1/16), beta = 0.87 (N^4 M)^(-1/16)\n"
        "decoder: alpha = (3 M)^(1/4), beta = (12 M)^(-1/4), with N encoder and M decoder layers\n"
        "one stack: alpha = (2 N)^(1/4), beta = (8 N)^(-1/4)",
        paper="Wang et al. 2022 (DeepNet), arXiv:2203.00555",
        capabilities={"cacheable": True, "needs": ("num_encoder_layers", "num_decoder_layers")},
    ),
    Variant(
        "norm",
        "parallel",
        "zoo.parts.norm.parallel:ParallelNorm",
        "one norm per layer; all sublayers run in parallel",
        formula="x = x + sum_i dropout(f_i(norm(x)))",
        paper="Chowdhery et al. 2022 (PaLM), section 2, arXiv:2204.02311",
        capabilities={"final_norm": True, "cacheable": True},
    ),
    Variant(
        "norm",
        "rezero",
        "zoo.parts.norm.rezero:ReZero",
        "no norm; each sublayer is scaled by a learned factor that starts at 0",
        formula="x = x + alpha_i dropout(f_i(x)), alpha_i learned, 0 at the start",
        paper="Bachlechner et al. 2020, arXiv:2003.04887",
        options=(Option("start", float, 0.0, "initial value of every alpha"),),
        capabilities={"cacheable": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
