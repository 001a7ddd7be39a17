"""Options in a frozen dataclass with an Enum, structural pattern matching, annotations evaluated at import."""
import enum
from dataclasses import dataclass
from typing import Callable, Optional

import torch


class Placement(str, enum.Enum):
    PRE = "pre"
    POST = "post"


@dataclass(frozen=True)
class LayerOptions:
    width: int
    dropout: float = 0.0
    placement: Placement = Placement.POST
    eps: float = 1e-5


class Sublayer(torch.nn.Module):
    """The norm, the dropout and the sum around one sublayer; the sublayer itself comes as an argument."""

    def __init__(self, options: LayerOptions) -> None:
        super().__init__()
        self.options = options
        self.ln = torch.nn.LayerNorm(options.width, eps=options.eps)
        self.do = torch.nn.Dropout(options.dropout)

    def forward(self, x: torch.Tensor, f: Callable[[torch.Tensor], torch.Tensor]) -> torch.Tensor:
        match self.options.placement:
            case Placement.PRE:
                return x + self.do(f(self.ln(x)))
            case Placement.POST:
                return self.ln(x + self.do(f(x)))
        raise AssertionError("unreachable")


class EncoderLayer(torch.nn.Module):
    def __init__(
        self,
        self_attention: torch.nn.Module,
        feed_forward: torch.nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
        options: Optional[LayerOptions] = None,
    ) -> None:
        super().__init__()
        options = options or LayerOptions(d_model, dropout, Placement(norm))
        self.parts = torch.nn.ModuleDict({"attention": self_attention, "feed_forward": feed_forward})
        self.shells = torch.nn.ModuleDict({name: Sublayer(options) for name in self.parts})

    def forward(self, x: torch.Tensor, src_mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        def attend(h: torch.Tensor) -> torch.Tensor:
            return self.parts["attention"](h, h, h, src_mask)

        for name, f in (("attention", attend), ("feed_forward", self.parts["feed_forward"])):
            x = self.shells[name](x, f)
        return x


class Encoder(torch.nn.Module):
    def __init__(
        self, make_layer: Callable[[], torch.nn.Module], num_layers: int, d_model: int, norm: str = "post"
    ) -> None:
        super().__init__()
        self.stack = torch.nn.ModuleList(make_layer() for _ in range(num_layers))
        self.final: Optional[torch.nn.LayerNorm] = None
        if Placement(norm) is Placement.PRE:
            self.final = torch.nn.LayerNorm(d_model)

    def forward(self, x: torch.Tensor, src_mask: Optional[torch.Tensor] = None) -> torch.Tensor:
        out = x
        for layer in self.stack:
            out = layer(out, src_mask)
        return out if self.final is None else self.final(out)
