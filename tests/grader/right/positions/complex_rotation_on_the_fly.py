"""No table at all: a complex number per pair of columns is turned step by step (cumprod), in complex128, at every call; max_len keyword-only."""

import torch
from torch import Tensor, nn


def turning(length: int, d_model: int, device=None) -> Tensor:
    """[length, d_model]: sines on even columns, cosines on odd ones."""
    pairs = (d_model + 1) // 2
    speed = 10000.0 ** (-torch.arange(pairs, dtype=torch.float64) * 2 / d_model)
    one_step = torch.polar(torch.ones_like(speed), speed)
    steps = torch.cat([torch.ones_like(one_step)[None], one_step.expand(length - 1, -1)])
    hands = steps.cumprod(dim=0)
    both = torch.view_as_real(hands).flip(-1)  # (cos, sin) -> (sin, cos)
    return both.reshape(length, 2 * pairs)[:, :d_model].to(device)


class SinusoidalPositions(nn.Module):
    def __init__(self, d_model: int, *, max_len: int = 5000) -> None:
        super().__init__()
        self.d_model, self.max_len = d_model, max_len

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2] > self.max_len:
            raise ValueError(f"T = {x.shape[-2]}, max_len = {self.max_len}")
        return x + turning(x.shape[-2], self.d_model, x.device).type_as(x)

    def extra_repr(self) -> str:
        return f"{self.d_model}, max_len={self.max_len}"


class LearnedPositions(nn.Module):
    def __init__(self, d_model: int, *, max_len: int = 512, std: float = 0.02) -> None:
        super().__init__()
        self.register_parameter("rows", nn.Parameter(torch.randn(max_len, d_model).mul_(std)))

    @property
    def max_len(self) -> int:
        return self.rows.shape[0]

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-2] > self.max_len:
            raise ValueError(f"T = {x.shape[-2]}, max_len = {self.max_len}")
        return x + self.rows.narrow(0, 0, x.shape[-2]).expand_as(x)
