"""The root is taken in log space, in float64 throughout; parameters sit in a ParameterDict behind properties."""
import torch
from torch import Tensor, nn


class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5):
        super().__init__()
        self.table = nn.ParameterDict()
        self.table["gain"] = nn.Parameter(torch.ones(d_model))
        self.table["bias"] = nn.Parameter(torch.zeros(d_model))
        self._eps = eps

    @property
    def gain(self) -> Tensor:
        return self.table["gain"]

    @property
    def bias(self) -> Tensor:
        return self.table["bias"]

    def forward(self, x: Tensor) -> Tensor:
        wide = x.double()
        dev = wide - wide.sum(-1, keepdim=True).div(wide.size(-1))
        dev = dev - dev.mean(-1, keepdim=True)  # once more: takes away what rounding has left
        log_var = torch.log(torch.einsum("...d,...d->...", dev, dev) / dev.size(-1) + self._eps)
        x_hat = dev * torch.exp(-0.5 * log_var).unsqueeze(-1)
        return torch.add(self.bias.double(), x_hat * self.gain.double()).type_as(x)


class _Around(nn.Module):
    """Two parts under one list; knows which is which by properties."""

    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0):
        super().__init__()
        self.parts = nn.ModuleList([norm, sublayer])
        self.p = dropout

    @property
    def norm(self) -> nn.Module:
        return self.parts[0]

    @property
    def sublayer(self) -> nn.Module:
        return self.parts[1]

    def branch(self, x: Tensor, args: tuple, kwargs: dict) -> Tensor:
        return nn.functional.dropout(self.sublayer(x, *args, **kwargs), self.p, self.training)


class PreNorm(_Around):
    def forward(self, x, *args, **kwargs):
        return self.branch(self.norm(x), args, kwargs) + x


class PostNorm(_Around):
    def forward(self, x, *args, **kwargs):
        return self.norm(self.branch(x, args, kwargs) + x)
