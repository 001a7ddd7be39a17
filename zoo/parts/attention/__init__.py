"""The axis `attention`. Metadata only; each variant is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

BIAS = Option("bias", bool, True, "whether the four projections have a bias")
DROPOUT = Option(
    "dropout", float, None, "probability on the weights; the model's if not given", minimum=0, maximum=1
)
COMMON = (BIAS, DROPOUT)
KV_HEADS = Option(
    "num_kv_heads",
    int,
    None,
    "key and value heads, a divisor of num_heads; about a quarter if not given",
    minimum=1,
)
ALL_KV_HEADS = Option(
    "num_kv_heads",
    int,
    None,
    "key and value heads, a divisor of num_heads; num_heads if not given",
    minimum=1,
)
HEAD_DIM = Option("head_dim", int, None, "width of a head; d_model / num_heads if not given", minimum=1)
QK_NORM = Option(
    "qk_norm", bool, False, "whether queries and keys are normalized by their RMS before the scores"
)
HEADS = (HEAD_DIM, QK_NORM)
POSITIONS = ("queries-keys", "scores")
FULL = {"positions": POSITIONS, "cacheable": True, "packs": True}
BLOCKS = {"open_lengths": False}  # a Python loop over blocks of the sequence
WITH_WEIGHTS = {**FULL, "exact": True, "returns_weights": True}

VARIANTS = (
    Variant(
        "attention",
        "eager",
        "zoo.parts.attention.eager:EagerAttention",
        "multi-head attention step by step; the reference for all exact variants",
        formula="softmax(Q K^T / sqrt(d)) V",
        paper="Vaswani et al. 2017, section 3.2, arXiv:1706.03762",
        options=COMMON,
        capabilities=WITH_WEIGHTS,
    ),
    Variant(
        "attention",
        "einsum",
        "zoo.parts.attention.einsum:EinsumAttention",
        "the same, written with einsum",
        formula="A[b,h,q,k] = softmax_k(Q[b,h,q,d] K[b,h,k,d] / sqrt(d)); out[b,h,q,d] = A[b,h,q,k] V[b,h,k,d]",
        paper="Vaswani et al. 2017, section 3.2, arXiv:1706.03762",
        options=COMMON,
        capabilities=WITH_WEIGHTS,
    ),
    Variant(
        "attention",
        "loop",
        "zoo.parts.attention.loop:LoopAttention",
        "one head after the other in a Python loop: slow, easy to read",
        formula="head_h = softmax(Q_h K_h^T / sqrt(d)) V_h, h = 1 .. H",
        paper="Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762",
        options=COMMON,
        capabilities=WITH_WEIGHTS,
    ),
    Variant(
        "attention",
        "fused",
        "zoo.parts.attention.fused:FusedAttention",
        "torch's fused kernel (SDPA); fast, never stores the weights",
        formula="softmax(Q K^T / sqrt(d)) V, block by block",
        paper="Dao et al. 2022 (FlashAttention), arXiv:2205.14135",
        options=COMMON,
        capabilities={**FULL, "exact": True},
    ),
    Variant(
        "attention",
        "torch",
        "zoo.parts.attention.torch:TorchAttention",
        "nn.MultiheadAttention with an inverted mask; safe for fully masked rows",
        formula="softmax(Q K^T / sqrt(d)) V",
        paper="Vaswani et al. 2017, section 3.2, arXiv:1706.03762",
        options=COMMON,
        capabilities={"exact": True, "returns_weights": True},
    ),
    Variant(
        "attention",
        "chunked",
        "zoo.parts.attention.chunked:ChunkedAttention",
        "processes keys in chunks, forward and backward; never stores all scores",
        formula="m' = max(m, max s); l' = e^(m-m') l + sum e^(s-m'); o' = e^(m-m') o + e^(s-m') V; out = o / l",
        paper="Rabe and Staats 2021, arXiv:2112.05682",
        options=(*COMMON, Option("chunk", int, 256, "number of keys processed together", minimum=1)),
        capabilities={**FULL, **BLOCKS, "exact": True},
    ),
    Variant(
        "attention",
        "flex",
        "zoo.parts.attention.flex:FlexAttention",
        "torch's FlexAttention; when training on CPU it materializes the weights",
        formula="softmax(score_mod(Q K^T / sqrt(d), b, h, q, k)) V",
        paper="Dong et al. 2024 (FlexAttention), arXiv:2412.05496",
        options=COMMON,
        capabilities={**FULL, "exact": True},
    ),
    Variant(
        "attention",
        "filled",
        "zoo.parts.attention.filled:FilledAttention",
        "masks with a large negative number; a fully masked row attends to all keys equally",
        formula="softmax(fill where masked, else Q K^T / sqrt(d)) V",
        paper="Rush 2018 (The Annotated Transformer)",
        options=(*COMMON, Option("fill", float, -1e9, "score of masked positions", maximum=-1)),
        capabilities={**FULL, "packs": False, "returns_weights": True, "blanks_rows": False},
    ),
    Variant(
        "attention",
        "gqa",
        "zoo.parts.attention.gqa:GroupedQueryAttention",
        "grouped queries: several query heads share one head of keys and values",
        formula="head_h = softmax(Q_h K_g^T / sqrt(d)) V_g, g = floor(h Hk / H)",
        paper="Ainslie et al. 2023, section 2.2, arXiv:2305.13245",
        options=(*COMMON, KV_HEADS, *HEADS),
        capabilities={**FULL, "returns_weights": True},
    ),
    Variant(
        "attention",
        "mqa",
        "zoo.parts.attention.mqa:MultiQueryAttention",
        "multi-query: all query heads share one head of keys and values",
        formula="head_h = softmax(Q_h K^T / sqrt(d)) V",
        paper="Shazeer 2019, section 3, arXiv:1911.02150",
        options=COMMON,
        capabilities={**FULL, "returns_weights": True},
    ),
    Variant(
        "attention",
        "sliding",
        "zoo.parts.attention.sliding:SlidingAttention",
        "a window around each position; cost grows with T * window",
        formula="softmax(Q K^T / sqrt(d) where |i - j| <= window) V",
        paper="Beltagy et al. 2020 (Longformer), section 3.1, arXiv:2004.05150",
        options=(
            *COMMON,
            Option(
                "window", int, 64, "number of positions on either side that a query attends to", minimum=1
            ),
            ALL_KV_HEADS,
            *HEADS,
        ),
        capabilities={**FULL, **BLOCKS, "returns_weights": True, "roles": ("self",), "cross": "eager"},
    ),
    Variant(
        "attention",
        "linear",
        "zoo.parts.attention.linear:LinearAttention",
        "a feature map in place of the softmax; linear cost where all queries see the same keys",
        formula="f(Q) (f(K)^T V) / (f(Q) sum_k f(K)), f(x) = elu(x) + 1",
        paper="Katharopoulos et al. 2020, section 3.2, arXiv:2006.16236",
        options=(
            BIAS,
            Option(
                "dropout",
                float,
                None,
                "probability on the heads; the model's if not given",
                minimum=0,
                maximum=1,
            ),
        ),
        capabilities={
            "mask_forms": ("bool",),
            "returns_weights": True,
            "positions": ("queries-keys",),
            "cacheable": True,
            "packs": True,
        },
    ),
    Variant(
        "attention",
        "talking",
        "zoo.parts.attention.talking:TalkingHeadsAttention",
        "talking heads: scores and weights are mixed across heads",
        formula="W = softmax(sum_h P_l[h,g] Q_h K_h^T / sqrt(d)); head_g = (sum_h P_w[h,g] W_h) V_g",
        paper="Shazeer et al. 2020, arXiv:2003.02436",
        options=COMMON,
        capabilities={**FULL, "returns_weights": True},
    ),
    Variant(
        "attention",
        "qknorm",
        "zoo.parts.attention.qknorm:QKNormAttention",
        "cosine similarity of queries and keys, times a learned scalar",
        formula="softmax(g Q' K'^T) V, q' = q / |q|, k' = k / |k|; g = log2(L^2 - L) at first",
        paper="Henry et al. 2020, arXiv:2010.04245",
        options=(*COMMON, Option("length", int, 128, "typical length L of the sequences", minimum=2)),
        capabilities={**FULL, "returns_weights": True},
    ),
    Variant(
        "attention",
        "differential",
        "zoo.parts.attention.differential:DifferentialAttention",
        "the difference of two attention maps, to cancel common noise",
        formula="(1 - l_init) RMSNorm((softmax(Q_1 K_1^T / sqrt(d/2)) - l softmax(Q_2 K_2^T / sqrt(d/2))) V)",
        paper="Ye et al. 2024, section 2.1, arXiv:2410.05258",
        options=(
            *COMMON,
            Option("lambda_init", float, 0.8, "initial value of lambda l", minimum=0, maximum=0.999),
        ),
        capabilities={**FULL, "returns_weights": True, "head_multiple": 2},
    ),
    Variant(
        "attention",
        "gated",
        "zoo.parts.attention.gated:GatedAttention",
        "a sigmoid gate on the output of each head, from the queries' input",
        formula="head_h = sigmoid(x W_g)_h * softmax(Q_h K_h^T / sqrt(d)) V_h",
        paper="Qiu et al. 2025, section 2.2, arXiv:2505.06708",
        options=(
            *COMMON,
            Option("headwise", bool, False, "whether each head has one gate, instead of one per feature"),
            ALL_KV_HEADS,
            *HEADS,
        ),
        capabilities={**FULL, "packs": False, "returns_weights": True},
    ),
    Variant(
        "attention",
        "sinks",
        "zoo.parts.attention.sinks:SinkAttention",
        "a learned number per head in the denominator, so that a head may attend to nothing",
        formula="w_j = e^(s_j) / (e^(z_h) + sum_k e^(s_k)), s = Q K^T / sqrt(d)",
        paper="OpenAI 2025 (gpt-oss), arXiv:2508.10925; after Xiao et al. 2023, arXiv:2309.17453",
        options=(*COMMON, ALL_KV_HEADS, *HEADS),
        capabilities={**FULL, "returns_weights": True},
    ),
    Variant(
        "attention",
        "softcap",
        "zoo.parts.attention.softcap:SoftCapAttention",
        "scores stay between -cap and cap, by a hyperbolic tangent",
        formula="softmax(c tanh(Q K^T / (c sqrt(d)))) V",
        paper="Gemma Team 2024 (Gemma 2), section 2, arXiv:2408.00118",
        options=(
            *COMMON,
            Option("cap", float, 50.0, "the largest score c", minimum=0.001),
            ALL_KV_HEADS,
            *HEADS,
        ),
        capabilities={**FULL, "returns_weights": True},
    ),
    Variant(
        "attention",
        "additive",
        "zoo.parts.attention.additive:AdditiveAttention",
        "a small network in place of the product, as before Transformers",
        formula="softmax_k(v_h . tanh(q + k)) V",
        paper="Bahdanau et al. 2015, section 3.1 and A.1.2, arXiv:1409.0473",
        options=COMMON,
        capabilities={"returns_weights": True, "positions": ("scores",), "cacheable": True, "packs": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
