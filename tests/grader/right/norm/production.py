"""Layer norm and residual wrappers of the sequence-to-sequence library."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn


@dataclass(frozen=True)
class NormConfig:
    d_model: int
    eps: float = 1e-5
    compute_dtype: torch.dtype = torch.float32

    def precision(self, dtype: torch.dtype) -> torch.dtype:
        """The wider one of the input's dtype and `compute_dtype`."""
        return torch.promote_types(dtype, self.compute_dtype)


@dataclass
class Moments:
    """Mean and biased variance over the last dimension, both [..., 1]."""

    mean: Tensor
    variance: Tensor

    @classmethod
    def of(cls, x: Tensor) -> Moments:
        variance, mean = torch.var_mean(x, dim=-1, keepdim=True, correction=0)
        return cls(mean=mean, variance=variance)

    def standardize(self, x: Tensor, eps: float) -> Tensor:
        deviation = torch.sqrt(self.variance + eps)
        return (x - self.mean) / deviation


class LayerNorm(nn.Module):
    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.config = NormConfig(d_model, eps)
        self.affine = nn.ParameterDict(
            {"gain": nn.Parameter(torch.empty(d_model)), "bias": nn.Parameter(torch.empty(d_model))}
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.affine["gain"])
        nn.init.zeros_(self.affine["bias"])

    @property
    def gain(self) -> Tensor:
        return self.affine["gain"]

    @property
    def bias(self) -> Tensor:
        return self.affine["bias"]

    def forward(self, x: Tensor) -> Tensor:
        assert x.size(-1) == self.config.d_model, f"expected {self.config.d_model} features"
        wide = x.to(self.config.precision(x.dtype))
        standard = Moments.of(wide).standardize(wide, self.config.eps)
        scaled = torch.addcmul(self.bias.to(wide.dtype), standard, self.gain.to(wide.dtype))
        return scaled.to(x.dtype)


class ResidualBlock(nn.Module, ABC):
    """What pre- and post-norm have in common."""

    def __init__(self, norm: nn.Module, sublayer: nn.Module, dropout: float = 0.0) -> None:
        super().__init__()
        self.norm = norm
        self.sublayer = sublayer
        self.dropout = nn.Dropout(p=dropout)

    def _branch(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """The sublayer's output as it is added to the residual stream."""
        return self.dropout(self.sublayer(x, *args, **kwargs))

    @staticmethod
    def _join(residual: Tensor, branch: Tensor) -> Tensor:
        assert residual.shape == branch.shape, "a sublayer must keep the shape"
        return residual + branch

    @abstractmethod
    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor: ...


class PreNorm(ResidualBlock):
    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        normed = self.norm(x)
        branch = self._branch(normed, *args, **kwargs)
        return self._join(x, branch)


class PostNorm(ResidualBlock):
    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        branch = self._branch(x, *args, **kwargs)
        joined = self._join(x, branch)
        return self.norm(joined)
