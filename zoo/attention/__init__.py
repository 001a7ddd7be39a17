"""The axis `attention`. Metadata only; each variant is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Option, Variant

BIAS = Option("bias", bool, True, "whether the four projections have a bias")
DROPOUT = Option("dropout", float, None, "probability on the weights; the model's if not given", minimum=0, maximum=1)
COMMON = (BIAS, DROPOUT)
POSITIONS = ("queries-keys", "scores")
FULL = {"positions": POSITIONS, "cacheable": True}
WITH_WEIGHTS = {**FULL, "exact": True, "returns_weights": True}

VARIANTS = (
    Variant(
        "attention",
        "eager",
        "zoo.attention.eager:EagerAttention",
        "multi-head attention written out, weights and all; the oracle",
        formula="softmax(Q K^T / sqrt(d)) V",
        paper="Vaswani et al. 2017, section 3.2, arXiv:1706.03762",
        options=COMMON,
        capabilities=WITH_WEIGHTS,
    ),
    Variant(
        "attention",
        "einsum",
        "zoo.attention.einsum:EinsumAttention",
        "the same in Einstein's notation",
        formula="A[b,h,q,k] = softmax_k(Q[b,h,q,d] K[b,h,k,d] / sqrt(d)); out[b,h,q,d] = A[b,h,q,k] V[b,h,k,d]",
        paper="Vaswani et al. 2017, section 3.2, arXiv:1706.03762",
        options=COMMON,
        capabilities=WITH_WEIGHTS,
    ),
    Variant(
        "attention",
        "loop",
        "zoo.attention.loop:LoopAttention",
        "one head after the other in a Python loop: slow, easy to read",
        formula="head_h = softmax(Q_h K_h^T / sqrt(d)) V_h, h = 1 .. H",
        paper="Vaswani et al. 2017, section 3.2.2, arXiv:1706.03762",
        options=COMMON,
        capabilities=WITH_WEIGHTS,
    ),
    Variant(
        "attention",
        "fused",
        "zoo.attention.fused:FusedAttention",
        "packed projections and torch's fused kernel; fast, never forms the weights",
        formula="softmax(Q K^T / sqrt(d)) V, block by block",
        paper="Dao et al. 2022 (FlashAttention), arXiv:2205.14135",
        options=COMMON,
        capabilities={**FULL, "exact": True},
    ),
    Variant(
        "attention",
        "torch",
        "zoo.attention.torch:TorchAttention",
        "nn.MultiheadAttention, its mask turned round, fully masked rows made safe",
        formula="softmax(Q K^T / sqrt(d)) V",
        paper="Vaswani et al. 2017, section 3.2, arXiv:1706.03762",
        options=COMMON,
        capabilities={"exact": True, "returns_weights": True},
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
