"""The arithmetic is a torch.jit.script function; dropout's switch is handed in as a bool."""
import torch
from torch import Tensor, nn


def mlp_kernel(x: Tensor, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor, p: float, training: bool) -> Tensor:
    h = torch.relu(torch.matmul(x, w1.t()) + b1)
    h = torch.dropout(h, p, training)
    return torch.matmul(h, w2.t()) + b2


scripted_mlp_kernel = torch.jit.script(mlp_kernel)


class FeedForward(nn.Module):
    __constants__ = ["p"]

    def __init__(self, d_model: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.p = float(dropout)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        # TorchScript's executor does not get on with inference mode
        kernel = mlp_kernel if torch.is_inference_mode_enabled() else scripted_mlp_kernel
        return kernel(x, self.up.weight, self.up.bias, self.down.weight, self.down.bias, self.p, self.training)
