"""The axis `assembly`: which stacks a model is made of. Metadata only; each assembly is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

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
    Variant(
        "assembly",
        "vision",
        "zoo.models.vision:VisionEncoder",
        "an encoder of the patches of an image: scores of its classes (ViT)",
        formula="p(y | x), x = [x_class; x_p^1 E; ...; x_p^N E]",
        paper="Dosovitskiy et al. 2020, section 3.1, arXiv:2010.11929",
        options=(
            Option("image_size", int, 32, "height and width of images, in pixels", minimum=1, maximum=4096),
            Option("patch_size", int, 16, "height and width of patches; divides image_size", minimum=1),
            Option("channels", int, 3, "channels of images", minimum=1),
            Option("pool", str, "class-token", "what the head reads", choices=("class-token", "mean")),
        ),
        capabilities={"stacks": ("encoder",), "reads": "images"},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
