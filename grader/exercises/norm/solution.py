"""A solution of `norm.py`: short, plain, and correct in edge cases."""

import torch
from torch import Tensor, nn


class LayerNorm(nn.Module):
    """gain * (x - mean) / sqrt(var + eps) + bias over the last dimension (Ba et al. 2016, arXiv 1607.06450).

    Args:
        d_model: width D of the last dimension, and of gain and bias.
        eps: added to the (biased) variance, inside the root.
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.gain = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Tensor) -> Tensor:
        """x [..., D] -> [..., D]."""
        # bfloat16 has too few digits for a mean: such inputs are normed in float32, as torch does.
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        centred = wide - wide.mean(dim=-1, keepdim=True)  # [..., D]
        variance = centred.square().mean(dim=-1, keepdim=True)  # [..., 1]
        normed = centred * torch.rsqrt(variance + self.eps)
        return (self.gain * normed + self.bias).to(x.dtype)


class PreNorm(nn.Module):
    """x + drop(sublayer(norm(x))) (Xiong et al. 2020, arXiv 2002.04745).

    Args:
        norm: a module, [..., D] -> [..., D].
        sublayer: a module, called with the normed x and the rest of what forward is given.
        dropout: dropout probability, on the sublayer's output, in training mode only.
    """

    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        """x [..., D] -> [..., D]; all other arguments go to the sublayer."""
        output: Tensor = x + self.dropout(self.sublayer(self.norm(x), *args, **kwargs))
        return output


class PostNorm(nn.Module):
    """norm(x + drop(sublayer(x))) ("Attention Is All You Need", section 3.1).

    Args:
        norm: a module, [..., D] -> [..., D].
        sublayer: a module, called with x and the rest of what forward is given.
        dropout: dropout probability, on the sublayer's output, in training mode only.
    """

    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, *args: object, **kwargs: object) -> Tensor:
        """x [..., D] -> [..., D]; all other arguments go to the sublayer."""
        output: Tensor = self.norm(x + self.dropout(self.sublayer(x, *args, **kwargs)))
        return output
