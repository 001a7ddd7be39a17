import torch
from torch import Tensor, nn


class DecoderLayer(nn.Module):
    def __init__(
        self,
        self_attention: nn.Module,
        cross_attention: nn.Module,
        feed_forward: nn.Module,
        d_model: int,
        dropout: float = 0.0,
        norm: str = "post",
    ) -> None:
        super().__init__()
        self.own = self_attention
        self.cross = cross_attention
        self.think = feed_forward
        self.n1 = nn.LayerNorm(d_model)
        self.n2 = nn.LayerNorm(d_model)
        self.n3 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.placement = norm

    def attend_to_self(self, h, m):
        return self.drop(self.own(h, h, h, m))

    def attend_to_memory(self, h, g, m):
        # h asks, g (the memory) answers
        return self.drop(self.cross(h, g, g, m))

    def think_over(self, h):
        return self.drop(self.think(h))

    def norm_first(self, x, g, sm, tm):
        h = self.n1(x)
        x = x + self.attend_to_self(h, tm)
        h = self.n2(x)
        x = x + self.attend_to_memory(h, g, sm)
        h = self.n3(x)
        x = x + self.think_over(h)
        return x

    def norm_last(self, x, g, sm, tm):
        y = self.n1(x + self.attend_to_self(x, tm))
        z = self.n2(y + self.attend_to_memory(y, g, sm))
        return self.n3(z + self.think_over(z))

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        if self.placement == "pre":
            return self.norm_first(x, memory, src_mask, tgt_mask)
        return self.norm_last(x, memory, src_mask, tgt_mask)


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers: int, d_model: int, norm: str = "post") -> None:
        super().__init__()
        self.layers = nn.ModuleList()
        for i in range(num_layers):
            self.layers.append(make_layer())
        self.pre = norm == "pre"
        if self.pre:
            self.last = nn.LayerNorm(d_model)

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        y = x
        for s in self.layers:
            y = s(y, memory, src_mask, tgt_mask)
        # pre: nobody has normed the sum yet
        if self.pre:
            y = self.last(y)
        return y
