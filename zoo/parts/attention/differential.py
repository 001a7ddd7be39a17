"""The difference of two attentions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from zoo.parts.attention.base import WeightedAttention, masked_softmax
from zoo.parts.norm_type.rmsnorm import RMSNorm

EPSILON = 1e-5
"""Under the root of the heads' RMS norm."""


class DifferentialAttention(WeightedAttention):
    """(1 - lambda_init) RMSNorm((softmax(Q_1 K_1^T / sqrt(d/2)) - lambda softmax(Q_2 K_2^T / sqrt(d/2))) V)

    in each head, where Q_1, Q_2 and K_1, K_2 are halves of its queries and keys (see `halves`), so that what
    both maps have in common, noise above all, goes away. lambda is learned, one for all heads:

        lambda = exp(l_q1 . l_k1) - exp(l_q2 . l_k2) + lambda_init,  four vectors of d/2 numbers

    The RMS norm has one gain [d] for all heads. Weights, the difference, are signed; dropout is applied to them.
    Ye et al. 2024, section 2.1, arXiv:2410.05258.
    """

    def __init__(
        self, d_model: int, num_heads: int, dropout: float = 0.0, bias: bool = True, lambda_init: float = 0.8
    ) -> None:
        """
        Args:
            lambda_init: lambda to begin with. The paper's 0.8 - 0.6 exp(-0.3 (l - 1)) grows with the
                depth l of a layer; the same 0.8 for all layers, which it also tries, does about as well.

        Other arguments as in `zoo.parts.attention.base.MultiHeadAttention`.

        Raises:
            ValueError: H does not divide D, heads have an odd width, or lambda_init is not in [0, 1).
        """
        super().__init__(d_model, num_heads, dropout, bias)
        if self.head_width % 2:
            raise ValueError(
                f"Heads of odd width cannot be halved: d_model={d_model} over num_heads={num_heads}."
            )
        if not 0 <= lambda_init < 1:
            raise ValueError(f"lambda_init={lambda_init}: expected at least 0 and less than 1.")
        self.lambda_init = lambda_init
        self.lambda_q = nn.Parameter(torch.randn(2, self.head_width // 2) * 0.1)  # l_q1, l_q2
        self.lambda_k = nn.Parameter(torch.randn(2, self.head_width // 2) * 0.1)  # l_k1, l_k2
        self.head_norm = RMSNorm(self.head_width, EPSILON)  # torch's own warns under autocast

    def attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """heads [B, H, Tq, d] and signed weights [B, H, Tq, Tk]."""
        first, second = (
            masked_softmax(
                q_half @ k_half.transpose(-2, -1) * q_half.size(-1) ** -0.5, mask
            )  # [B, H, Tq, Tk]
            for q_half, k_half in zip(halves(q), halves(k), strict=True)  # [B, H, T, d/2]
        )
        weights = first - self.learned_lambda() * second
        heads = self.head_norm(self.dropout(weights) @ v) * (1 - self.lambda_init)
        return heads, weights

    def learned_lambda(self) -> Tensor:
        """lambda, one number."""
        both = (self.lambda_q * self.lambda_k).sum(dim=-1).exp()  # [2]
        return both[0] - both[1] + self.lambda_init


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """[B, H, T, d] -> [B, H, T, d/2] twice: pairs of features in turn, if d is a multiple of 4.

    A rotary encoding turns pairs, the first ones fastest; in this way both halves have fast and slow ones.
    """
    if x.size(-1) % 4:
        return x[..., : x.size(-1) // 2], x[..., x.size(-1) // 2 :]
    pairs = x.unflatten(-1, (-1, 2, 2))  # [B, H, T, d] -> [B, H, T, d/4, half, 2]
    return pairs[..., 0, :].flatten(-2), pairs[..., 1, :].flatten(-2)
