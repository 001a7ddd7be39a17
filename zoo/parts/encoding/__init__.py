"""The axis `encoding`: how positions are told apart. Metadata only; each encoding is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

VARIANTS = (
    Variant(
        "encoding",
        "sinusoidal",
        "zoo.parts.encoding.sinusoidal:SinusoidalPositions",
        "fixed sines and cosines, added to the embedding",
        formula="PE[t, 2i] = sin(t / base^(2i/D)), PE[t, 2i+1] = cos(t / base^(2i/D))",
        paper="Vaswani et al. 2017, section 3.5, arXiv:1706.03762",
        options=(Option("base", float, 10000.0, "wavelengths run from 2 pi to base * 2 pi", minimum=1),),
        capabilities={"cacheable": True},
    ),
    Variant(
        "encoding",
        "sinusoidal-concat",
        "zoo.parts.encoding.sinusoidal_concat:ConcatSinusoidalPositions",
        "like sinusoidal, but all sines first, then all cosines (not interleaved)",
        formula="PE[t, i] = sin(t / base^(2i/D)), PE[t, D/2 + i] = cos(t / base^(2i/D))",
        paper="Vaswani et al. 2017, section 3.5, arXiv:1706.03762; the layout of tensor2tensor",
        options=(Option("base", float, 10000.0, "wavelengths run from 2 pi to base * 2 pi", minimum=1),),
        capabilities={"cacheable": True},
    ),
    Variant(
        "encoding",
        "learned",
        "zoo.parts.encoding.learned:LearnedPositions",
        "one learned vector per position, up to max_len",
        formula="x[t] + table[t]",
        paper="Gehring et al. 2017, section 3.1, arXiv:1705.03122",
        options=(Option("std", float, 0.02, "standard deviation of the initial table", minimum=0),),
        capabilities={"cacheable": True},
    ),
    Variant(
        "encoding",
        "none",
        "zoo.parts.encoding.none:NoPositions",
        "none: only the causal mask distinguishes positions",
        formula="x",
        paper="Kazemnejad et al. 2023, arXiv:2305.19466",
        capabilities={"positional": False, "cacheable": True},
    ),
    Variant(
        "encoding",
        "rotary",
        "zoo.parts.encoding.rotary:RotaryPositions",
        "queries and keys rotated by their position; scores depend on distance",
        formula="(q R^t) . (k R^s), pair i rotated by t / base^(2i/d)",
        paper="Su et al. 2021 (RoFormer), section 3.2.2, arXiv:2104.09864",
        options=(
            Option("base", float, 10000.0, "wavelengths run from 2 pi to base * 2 pi", minimum=1),
            Option("fraction", float, 1.0, "share of each head that is rotated", minimum=0, maximum=1),
            Option(
                "scaling",
                str,
                "none",
                "how frequencies are lowered for longer texts",
                choices=("none", "linear", "ntk", "yarn", "llama3"),
            ),
            Option("factor", float, 1.0, "how many times longer the texts are than in training", minimum=1),
            Option(
                "original", int, None, "longest text in training; max_len / factor if not given", minimum=1
            ),
        ),
        capabilities={
            "acts_on": "queries-keys",
            "cacheable": True,
            "head_multiple": 2,
            "needs": ("head_dim",),
        },
    ),
    Variant(
        "encoding",
        "alibi",
        "zoo.parts.encoding.alibi:AlibiPositions",
        "scores decrease with distance, with a fixed slope per head",
        formula="scores[i, j] - m_h |i - j|, m_h = 2^(-8h/H)",
        paper="Press et al. 2022, section 3, arXiv:2108.12409",
        capabilities={"acts_on": "scores", "cacheable": True, "needs": ("num_heads",)},
    ),
    Variant(
        "encoding",
        "t5",
        "zoo.parts.encoding.t5:T5Positions",
        "a learned bias on the scores for each distance, far ones in buckets",
        formula="scores[i, j] + table[bucket(j - i), h]",
        paper="Raffel et al. 2020 (T5), section 2.1, arXiv:1910.10683",
        options=(
            Option("buckets", int, 32, "number of distance buckets; even", minimum=4),
            Option("max_distance", int, 128, "distance from which all share one bucket", minimum=5),
            Option("std", float, 0.02, "standard deviation of the initial table", minimum=0),
        ),
        capabilities={"acts_on": "scores", "cacheable": True, "needs": ("num_heads", "causal")},
    ),
    Variant(
        "encoding",
        "shaw",
        "zoo.parts.encoding.shaw:ShawPositions",
        "a learned key vector per relative distance, clipped to a maximum",
        formula="scores[i, j] + q_i . a[clip(j - i)] / sqrt(d)",
        paper="Shaw et al. 2018, section 3, arXiv:1803.02155",
        options=(
            Option("clip", int, 16, "distance from which all share one vector", minimum=1),
            Option("std", float, 0.02, "standard deviation of the initial vectors", minimum=0),
        ),
        capabilities={"acts_on": "scores", "cacheable": True, "needs": ("head_dim",)},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
