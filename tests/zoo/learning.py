"""A very short training, for tests that a part can be learned with."""

from __future__ import annotations

import torch
import torch.nn.functional as F

from zoo.core.blueprint import make_blueprint
from zoo.models.builder import build


def learns(**choices: str) -> bool:
    """Whether a tiny model with these choices gets the answers to four questions into its weights."""
    blueprint = make_blueprint(
        **choices,
        d_model=16,
        num_heads=2,
        d_ff=32,
        num_encoder_layers=1,
        num_decoder_layers=1,
        dropout=0.0,
        src_vocab=11,
        tgt_vocab=11,
        max_len=8,
    )
    model = build(blueprint, seed=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    numbers = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(1, 11, (4, 6), generator=numbers) for _ in range(2))
    losses = []
    for _ in range(25):
        loss = F.cross_entropy(model(src, tgt[:, :-1]).flatten(0, 1), tgt[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[-1] < 0.5 * losses[0]
