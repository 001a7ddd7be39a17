"""The axis `decoding`: how an answer is chosen. Metadata only; each strategy is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

TEMPERATURE = Option(
    "temperature",
    float,
    1.0,
    "divisor of the log-probabilities: below 1 sharper, above 1 flatter",
    minimum=1e-6,
)

VARIANTS = (
    Variant(
        "decoding",
        "greedy",
        "zoo.parts.decoding.greedy:GreedyDecoding",
        "the most probable token at each step",
        formula="y[t] = argmax_v p(v | y[<t], x)",
    ),
    Variant(
        "decoding",
        "beam",
        "zoo.parts.decoding.beam:BeamDecoding",
        "beam search: keeps the best partial answers at each step",
        formula="argmax_y sum_t log p(y[t] | y[<t], x) / ((5 + n) / 6)^length_penalty over the beam, n tokens in y",
        paper="Wu et al. 2016, section 7, arXiv:1609.08144",
        options=(
            Option("size", int, 4, "hypotheses kept at each step; 1 is greedy", minimum=1),
            Option(
                "length_penalty", float, 0.6, "0 favours short answers; 1 is close to the mean", minimum=0
            ),
        ),
    ),
    Variant(
        "decoding",
        "no-repeat",
        "zoo.parts.decoding.no_repeat:NoRepeatDecoding",
        "greedy, but no n-gram is repeated",
        formula="y[t] = argmax_v p(v | y[<t], x) over v that end no run of n tokens in y[<t] again",
        paper="Paulus et al. 2017, section 2.5, arXiv:1705.04304",
        options=(Option("n", int, 3, "length of the n-grams that may not be repeated", minimum=1),),
    ),
    Variant(
        "decoding",
        "sample",
        "zoo.parts.decoding.sample:SampleDecoding",
        "a draw from the model's distribution at each step",
        formula="y[t] ~ softmax(log p(. | y[<t], x) / temperature)",
        options=(TEMPERATURE,),
    ),
    Variant(
        "decoding",
        "top-k",
        "zoo.parts.decoding.top_k:TopKDecoding",
        "a draw from the k most probable tokens",
        formula="y[t] ~ p over the k most probable v",
        paper="Fan et al. 2018, arXiv:1805.04833",
        options=(Option("k", int, 10, "tokens to draw from; 1 is greedy", minimum=1), TEMPERATURE),
    ),
    Variant(
        "decoding",
        "nucleus",
        "zoo.parts.decoding.nucleus:NucleusDecoding",
        "a draw from the smallest set of tokens with total probability p (top-p)",
        formula="y[t] ~ p over the smallest set V_p with sum_{v in V_p} p(v) >= p",
        paper="Holtzman et al. 2020, arXiv:1904.09751",
        options=(
            Option("p", float, 0.9, "total probability that the tokens must reach", minimum=0, maximum=1),
            TEMPERATURE,
        ),
    ),
    Variant(
        "decoding",
        "min-p",
        "zoo.parts.decoding.min_p:MinPDecoding",
        "a draw from tokens with at least a fraction of the top probability",
        formula="y[t] ~ p over all v with p(v) >= p max_w p(w)",
        paper="Nguyen et al. 2024, arXiv:2407.01082",
        options=(
            Option("p", float, 0.1, "smallest share of the highest probability", minimum=0, maximum=1),
            TEMPERATURE,
        ),
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
