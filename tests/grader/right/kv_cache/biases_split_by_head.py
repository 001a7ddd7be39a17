"""Matrices and biases split by head."""
import torch
from torch import Tensor, nn


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        d, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("d_model % num_heads")
        self.into = nn.ParameterDict({n: nn.Parameter(torch.randn(num_heads, d_model, d) * d_model**-0.5) for n in "qkv"})
        self.shift = nn.ParameterDict({n: nn.Parameter(torch.zeros(num_heads, d)) for n in "qkv"})
        self.back = nn.Parameter(torch.randn(num_heads, d, d_model) * d_model**-0.5)

    def forward(self, x: Tensor, cache: object) -> tuple[Tensor, object]:
        q, k, v = (torch.einsum("btm,hmd->bhtd", x, self.into[n]) + self.shift[n][:, None] for n in "qkv")
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        weights = torch.einsum("bhqd,bhkd->bhqk", q, k).mul(q.size(-1) ** -0.5).softmax(-1)
        return torch.einsum("bhqk,bhkd,hdm->bqm", weights, v, self.back), (k, v)
