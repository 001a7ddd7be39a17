"""The output layer is a list of Linear, a few ids each; additive masks; everything registered twice."""
import torch
from torch import Tensor, nn


class Transformer(nn.Module):
    def __init__(self, encoder, decoder, src_embed, tgt_embed, positions, d_model, tgt_vocab, pad=0):  # type: ignore[no-untyped-def]
        super().__init__()
        self.chunks = nn.ModuleList(
            nn.Linear(d_model, min(4, tgt_vocab - i)) for i in range(0, tgt_vocab, 4)
        )
        self.encoder, self.decoder, self.src_embed, self.tgt_embed, self.positions = encoder, decoder, src_embed, tgt_embed, positions
        self.parts = nn.ModuleDict(dict(positions=positions, encoder=encoder, decoder=decoder, tgt=tgt_embed, src=src_embed))
        self.register_buffer("scale", torch.tensor(float(d_model), dtype=torch.float64), persistent=False)
        self.root, self.pad = d_model**0.5, pad

    def _mask(self, ids: Tensor, x: Tensor, causal: bool = False) -> Tensor:
        m = torch.zeros(ids.shape, dtype=x.dtype, device=x.device).masked_fill_(ids == self.pad, -torch.inf)[:, None, None]
        if causal:
            future = torch.full((ids.size(1),) * 2, -torch.inf, dtype=x.dtype, device=x.device).triu(1)
            m = m + future
        return m

    def encode(self, src: Tensor) -> Tensor:
        x = self.positions(self.src_embed(src) * self.root)
        return self.encoder(x, self._mask(src, x))

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        x = self.positions(self.tgt_embed(tgt) * self.root)
        y = self.decoder(x=x, memory=memory, src_mask=self._mask(src, x), tgt_mask=self._mask(tgt, x, True))
        return torch.cat([c(y) for c in self.chunks], -1)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        memory = self.encode(src)
        return self.decode(tgt, memory, src)
