"""The axis `encoding`: how positions are told apart. Metadata only; each encoding is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Option, Variant

VARIANTS = (
    Variant(
        "encoding",
        "sinusoidal",
        "zoo.encodings.sinusoidal:SinusoidalPositions",
        "fixed sines and cosines, added to the embedding",
        formula="PE[t, 2i] = sin(t / base^(2i/D)), PE[t, 2i+1] = cos(t / base^(2i/D))",
        paper="Vaswani et al. 2017, section 3.5, arXiv:1706.03762",
        options=(Option("base", float, 10000.0, "wavelengths run from 2 pi to base * 2 pi", minimum=1),),
        capabilities={"cacheable": True},
    ),
    Variant(
        "encoding",
        "learned",
        "zoo.encodings.learned:LearnedPositions",
        "one learned vector a position, up to max_len",
        formula="x[t] + table[t]",
        paper="Gehring et al. 2017, section 3.1, arXiv:1705.03122",
        options=(Option("std", float, 0.02, "standard deviation of the initial table", minimum=0),),
        capabilities={"cacheable": True},
    ),
    Variant(
        "encoding",
        "none",
        "zoo.encodings.none:NoPositions",
        "nothing: only the causal mask tells positions apart",
        formula="x",
        paper="Kazemnejad et al. 2023, arXiv:2305.19466",
        capabilities={"positional": False, "cacheable": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
