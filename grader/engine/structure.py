"""What a layout says by itself: projections that are missing, shared, or of another shape."""

from __future__ import annotations

from grader.core.failures import Named
from grader.engine.layout import Layout
from grader.exercises.attention.reference import ROLES

WORDS = {"q": "query", "k": "key", "v": "value", "out": "output"}
PROJECTIONS = "Four projections are needed, for query, key, value and output, each d_model x d_model."

NOT_REGISTERED = "parameters-not-registered"  # a known mistake; nothing else can be said of such a module


def problem(layout: Layout, d_model: int, num_heads: int) -> str:
    """What is wrong with the parameters, as a sentence, or ""."""
    head = f"MultiHeadAttention({d_model}, {num_heads}):"
    if not layout.parameters:
        return f"{head} expected four projections among its parameters(), got no parameter at all."
    frozen = [name for name in layout.parameters if not layout.trainable(name)]
    if frozen:
        return f"{head} expected trainable parameters, got requires_grad=False for {', '.join(frozen[:4])}."
    lines = []
    for role in ROLES:
        shape = layout.shapes.get(f"{role}.weight")
        if shape != (d_model, d_model):
            got = "none was found" if shape is None else f"got {list(shape)}"
            lines.append(f"{WORDS[role]} projection: expected [{d_model}, {d_model}], {got}")
    if not lines:
        return ""
    own = ", ".join(f"{name} {list(p.shape)}" for name, p in list(layout.parameters.items())[:8])
    return f"{head} {'; '.join(lines)}.\n  your parameters: {own}"


def named(layout: Layout, d_model: int, num_heads: int) -> Named:
    """A name for a problem that is no known mistake."""
    if any(not layout.trainable(name) for name in layout.parameters):
        return Named(
            "parameters-frozen",
            "Some parameters have requires_grad=False: they never learn.",
            hint="Search for requires_grad and no_grad in __init__.",
        )
    missing = [WORDS[role] for role in ROLES if f"{role}.weight" not in layout.shapes]
    if missing:
        return Named(
            "projection-missing",
            f"No projection was found for {' and '.join(missing)}. {PROJECTIONS}",
            formula="Concat(head_1, ..., head_h) W_O, head_i = Attention(Q W_Q, K W_K, V W_V)",
            hint="List your module's named_parameters() with their shapes.",
        )
    wrong = [
        f"{WORDS[role]} {list(layout.shapes[f'{role}.weight'])}"
        for role in ROLES
        if layout.shapes[f"{role}.weight"] != (d_model, d_model)
    ]
    got = ", ".join(wrong)
    return Named(
        "projection-shape",
        f"Projections have the wrong shape for d_model={d_model}, num_heads={num_heads}: {got}. {PROJECTIONS}",
        formula="d_k = d_model / num_heads",
        hint="List your module's named_parameters() with their shapes.",
    )
