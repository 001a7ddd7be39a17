"""The presets that come with the zoo: named blueprints. Metadata only."""

from zoo.core.blueprint import Preset
from zoo.core.hookspecs import hookimpl
from zoo.core.presets import articles, published, small

PRESETS = (
    small.REVERSE,
    published.VASWANI,
    published.MODERN,
    articles.FROM_SCRATCH,
    articles.USING_PYTORCH,
    articles.ASSEMBLED,
    articles.WRITE_YOUR_OWN,
    articles.DEEP_LEARNING,
    published.GPT2,
    published.LLAMA,
    published.GEMMA,
    published.BERT,
    small.GPT_TINY,
    small.BERT_TINY,
    small.MODERNBERT_TINY,
    published.VIT,
    small.VIT_TINY,
)


@hookimpl
def zoo_presets() -> tuple[Preset, ...]:
    return PRESETS
