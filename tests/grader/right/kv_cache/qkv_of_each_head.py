"""Each head one parameter [3, D, d]: its q, k, v; the output matrix by head, [d, D]."""
import torch
from torch import Tensor, nn


class CachedAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int) -> None:
        super().__init__()
        d, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("d_model % num_heads")
        self.qkv = nn.ParameterList(torch.randn(3, d_model, d) / d_model**0.5 for _ in range(num_heads))
        self.o = nn.ParameterList(torch.randn(d, d_model) / d_model**0.5 for _ in range(num_heads))

    def forward(self, x: Tensor, cache: object = None) -> tuple[Tensor, object]:
        q, k, v = (torch.stack([x @ p[i] for p in self.qkv], 1) for i in range(3))
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = (q @ k.mT * q.size(-1) ** -0.5).softmax(-1) @ v
        return torch.cat(y.unbind(1), -1) @ torch.cat(tuple(self.o)), (k, v)
