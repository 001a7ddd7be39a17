"""The axis `assembly`: which stacks a model is made of. Metadata only; each assembly is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Variant

VARIANTS = (
    Variant(
        "assembly",
        "encoder-decoder",
        "zoo.models.transformer:Transformer",
        "an encoder, and a decoder with cross-attention, as in the paper",
        formula="p(y[t] | y[<t], x)",
        paper="Vaswani et al. 2017, section 3, arXiv:1706.03762",
        capabilities={"stacks": ("encoder", "decoder")},
    ),
    Variant(
        "assembly",
        "decoder",
        "zoo.models.decoder_only:DecoderOnly",
        "a decoder by itself, without cross-attention: a language model (GPT, Llama)",
        formula="p(x[t] | x[<t])",
        paper="Radford et al. 2018 (GPT)",
        capabilities={"stacks": ("decoder",)},
    ),
    Variant(
        "assembly",
        "encoder",
        "zoo.models.encoder_only:EncoderOnly",
        "an encoder by itself: scores for each position, which sees all others (BERT)",
        formula="p(y[t] | x)",
        paper="Devlin et al. 2018 (BERT), arXiv:1810.04805",
        capabilities={"stacks": ("encoder",)},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
