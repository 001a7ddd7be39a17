"""The layer is a little program: a tuple of NamedTuple steps, run with functools.partial; layers wait in a deque of names."""
import functools
from collections import deque
from typing import NamedTuple, Optional

from torch import Tensor, nn


class Step(NamedTuple):
    part: str
    norm: str
    mask: Optional[str]
    looks_at_memory: bool


PROGRAM = (
    Step("self_attention", "norm_a", "tgt_mask", False),
    Step("cross_attention", "norm_b", "src_mask", True),
    Step("feed_forward", "norm_c", None, False),
)


class DecoderLayer(nn.Module):
    def __init__(self, self_attention, cross_attention, feed_forward, d_model, dropout=0.0, norm="post"):
        super().__init__()
        given = dict(zip((s.part for s in PROGRAM), (self_attention, cross_attention, feed_forward)))
        for step in reversed(PROGRAM):  # registered last to first
            setattr(self, step.norm, nn.LayerNorm(d_model))
            setattr(self, step.part, given[step.part])
        self.drop = nn.Dropout(dropout)
        self.run = functools.partial(getattr(type(self), "_" + norm), self)

    def _sublayer(self, step, h, memory, masks):
        part = getattr(self, step.part)
        if step.mask is None:
            return self.drop(part(h))
        seen = memory if step.looks_at_memory else h
        return self.drop(part(h, seen, seen, masks[step.mask]))

    def _pre(self, step, x, *context):
        return x + self._sublayer(step, getattr(self, step.norm)(x), *context)

    def _post(self, step, x, *context):
        return getattr(self, step.norm)(x + self._sublayer(step, x, *context))

    def forward(self, x: Tensor, memory: Tensor, src_mask: Optional[Tensor] = None, tgt_mask: Optional[Tensor] = None):
        masks = {"src_mask": src_mask, "tgt_mask": tgt_mask}
        for step in PROGRAM:
            x = self.run(step, x, memory, masks)
        return x


class Decoder(nn.Module):
    def __init__(self, make_layer, num_layers, d_model, norm="post"):
        super().__init__()
        self.names = [f"block{i}" for i in range(num_layers)]
        for name in self.names:
            self.add_module(name, make_layer())
        self.ending = nn.Sequential(*([nn.LayerNorm(d_model)] if norm == "pre" else []))

    def forward(self, x, memory, src_mask=None, tgt_mask=None):
        queue = deque(self.names)
        while queue:
            x = self.get_submodule(queue.popleft())(x, memory, src_mask, tgt_mask)
        return self.ending(x)
