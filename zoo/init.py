"""Initial weights."""

from __future__ import annotations

import torch
from torch import nn

KEEP = ("embeddings.", "src_positions.", "tgt_positions.")  # these draw their own


def xavier(model: nn.Module) -> None:
    """Xavier-uniform matrices and zero biases, in place, from torch's global generator.

    Works on `state_dict`, in which every attention names its weights alike: one seed gives the same
    weights whichever variant holds them. Embeddings, positions and norms, and parts from a user's own
    file, keep what they started with. Glorot and Bengio 2010, AISTATS.
    """
    state = model.state_dict()
    with torch.no_grad():
        for name, value in sorted(state.items()):  # variants store them in different orders
            if name.startswith(KEEP) or ".inner." in name:
                continue
            if name.endswith("bias"):
                value.zero_()
            elif value.dim() > 1:
                nn.init.xavier_uniform_(value)
    model.load_state_dict(state)
