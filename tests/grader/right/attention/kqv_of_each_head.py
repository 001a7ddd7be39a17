"""Each head one parameter [3, D, d] in the order k, q, v; the output matrix by head; heads in scripted modules."""
import torch
from torch import Tensor, nn


def scaled_dot_product_attention(query, key, value, mask=None):  # type: ignore[no-untyped-def]
    s = query @ key.mT * query.size(-1) ** -0.5
    if mask is not None:
        m = mask if mask.dtype == torch.bool else torch.eq(mask, 0)
        s = s.masked_fill(~m, torch.finfo(s.dtype).min)
    w = s.softmax(-1)
    return w @ value, w



class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, num_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        d, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError("d_model % num_heads")
        self.drop = nn.Dropout(dropout)
        self.kqv = nn.ParameterList(torch.randn(3, d_model, d) / d_model**0.5 for _ in range(num_heads))
        self.o = nn.ParameterList(torch.randn(d, d_model) / d_model**0.5 for _ in range(num_heads))

    def forward(self, query, key, value, mask=None):  # type: ignore[no-untyped-def]
        k, q, v = (
            torch.stack([t @ p[i] for p in self.kqv], 1) for i, t in enumerate((key, query, value))
        )
        w = self.drop(scaled_dot_product_attention(q, k, v, mask)[1])
        return torch.cat((w @ v).unbind(1), -1) @ torch.cat(tuple(self.o))
