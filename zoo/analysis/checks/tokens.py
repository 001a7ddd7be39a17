"""Properties of the parts at both ends of a model: embeddings and heads."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from zoo.analysis.checks.base import DoesNotHold, Properties
from zoo.analysis.checks.common import (
    finite,
    gradients,
    in_dtypes,
    inputs_kept,
    moved,
    refuses,
    same,
    shaped,
    steady,
    tensor,
    vectors_alone,
)
from zoo.analysis.checks.part import VOCAB, Part

EMBEDDING, HEAD = Properties(), Properties()
TOKENS = torch.arange(VOCAB).repeat(2, 1)
"""[B, V]: every token, in every row."""


def _sides(embeddings: Any) -> tuple[tuple[str, Any], ...]:
    return ("src", embeddings.src), ("tgt", embeddings.tgt)


@EMBEDDING("both sides give vectors of width D, in float32, float64 and bfloat16")
def vectors(part: Part) -> None:
    """[B, T] -> [B, T, D]."""

    def attempt(dtype: torch.dtype) -> None:
        embeddings = part.make().to(dtype)
        for _, side in _sides(embeddings):
            shaped(side(TOKENS), (*TOKENS.shape, part.sizes.d_model), dtype, part)

    in_dtypes(part, attempt)


@EMBEDDING("every token has its own vector, the same at every position")
def one_vector_each(part: Part) -> None:
    """It depends on the token, not on its place or on the others."""
    embeddings, order = part.module().eval(), torch.randperm(VOCAB)
    for name, side in _sides(embeddings):
        table = tensor(side(TOKENS[:1]), part)[0]  # [V, D]
        same(
            tensor(side(order[None]), part)[0], table[order], f"{name}: a token has another vector elsewhere"
        )
        for one in range(VOCAB):
            for other in range(one):
                if not moved(table[one], table[other]):
                    raise DoesNotHold(f"{name}: the tokens {other} and {one} have the same vector.")


@EMBEDDING("gradients are finite and reach every parameter")
def embedding_reach(part: Part) -> None:
    """From both sides together."""
    embeddings = part.module()
    gradients(embeddings, tensor(embeddings.src(TOKENS), part) + tensor(embeddings.tgt(TOKENS), part))


@EMBEDDING("two vocabularies, if it takes them")
def vocabularies(part: Part) -> None:
    """One that declares one_vocabulary refuses two of different sizes with ValueError."""
    if part.can("one_vocabulary"):
        refuses(lambda: part.make(src_vocab=7), f"src_vocab=7 with tgt_vocab={VOCAB}")
        return
    embeddings = part.make(src_vocab=7)
    embeddings.src(torch.tensor([[6]]))
    embeddings.tgt(torch.tensor([[VOCAB - 1]]))


@EMBEDDING("shares its table with the head, if it declares tied")
def tied(part: Part) -> None:
    """`tgt_table` is a table [V, D]."""
    part.must("tied")
    weight = part.make().tgt_table.weight
    expected = (VOCAB, part.sizes.d_model)
    if not isinstance(weight, nn.Parameter) or tuple(weight.shape) != expected:
        raise DoesNotHold(f"Expected tgt_table.weight to be a parameter {list(expected)}.")


@EMBEDDING("does not modify its input tokens")
def embedding_untouched(part: Part) -> None:
    """Nothing is changed in place."""
    embeddings = part.module().eval()
    for _, side in _sides(embeddings):
        inputs_kept(side, [TOKENS.clone()])


@EMBEDDING("is deterministic in eval mode")
def embedding_eval(part: Part) -> None:
    """Also after other tokens."""

    def call(embeddings: Any) -> Tensor:
        return tensor(embeddings.src(TOKENS), part) + tensor(embeddings.tgt(TOKENS), part)

    steady(call, part.module(), lambda e: (e.src(TOKENS[:, :2]), e.tgt(TOKENS[:, :2])))


@HEAD("gives one score per token, in float32, float64 and bfloat16")
def scores(part: Part) -> None:
    """[B, L, D] -> [B, L, V]."""

    def attempt(dtype: torch.dtype) -> None:
        head = part.make().to(dtype)
        for batch, length in ((3, 5), (1, 1)):
            x = torch.randn(batch, length, part.sizes.d_model).to(dtype)
            shaped(head(x), (batch, length, VOCAB), dtype, part)

    in_dtypes(part, attempt)


@HEAD("gives log-probabilities, if it declares so")
def log_probabilities(part: Part) -> None:
    """Then their exponentials sum to 1; logits may be anything, but no log-probabilities."""
    head = part.module()
    total = tensor(head(3 * part.randn(2, 4, part.sizes.d_model)), part).logsumexp(-1)
    if part.can("output") == "log-probs":
        same(total, torch.zeros_like(total), "It declares log-probs, but their exponentials do not sum to 1")
    elif not moved(total, torch.zeros_like(total)):
        raise DoesNotHold("It declares logits, but gives log-probabilities.")


@HEAD("treats every position independently")
def head_alone(part: Part) -> None:
    """Alone it gives what it gives among others."""
    vectors_alone(part, part.module(), part.randn(3, 5, part.sizes.d_model))


@HEAD("takes the table of a tied embedding as its weight")
def takes_table(part: Part) -> None:
    """`weight` [V, D] is what it scores with."""
    head, x = part.module().eval(), part.randn(2, 3, part.sizes.d_model)
    weight = getattr(head, "weight", None)
    if not isinstance(weight, nn.Parameter) or tuple(weight.shape) != (VOCAB, part.sizes.d_model):
        raise DoesNotHold(f"Expected `weight` to be a parameter {[VOCAB, part.sizes.d_model]}.")
    before = tensor(head(x), part)
    head.weight = nn.Parameter(part.randn(VOCAB, part.sizes.d_model))
    if not moved(tensor(head(x), part), before):
        raise DoesNotHold("With another `weight`, it gives the same.")


@HEAD("gradients are finite and reach the input and every parameter")
def head_reach(part: Part) -> None:
    """Also for log-probabilities."""
    head, x = part.module(), part.randn(3, 5, part.sizes.d_model).requires_grad_()
    gradients(head, finite(tensor(head(x), part), "Its output"), [("the input", x)])


@HEAD("does not modify its inputs")
def head_untouched(part: Part) -> None:
    """Nothing is changed in place."""
    inputs_kept(part.module().eval(), [part.randn(3, 5, part.sizes.d_model)])
