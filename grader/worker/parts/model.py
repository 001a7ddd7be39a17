"""The parts of a whole Transformer beside its stacks: a table of embeddings, and positions."""

from __future__ import annotations

from torch import Tensor, nn

from .base import Part, weight


class Embedding(Part, nn.Embedding):
    """Rows of `judge_table` [V, D]: an `nn.Embedding`, for those who look at that, but for its parameter's name."""

    def __init__(self, vocab: int, d_model: int) -> None:
        nn.Module.__init__(self)
        self._calls = []
        self.judge_table = weight(vocab, d_model)
        self.num_embeddings, self.embedding_dim = vocab, d_model
        self.padding_idx, self.max_norm, self.norm_type = None, None, 2.0
        self.scale_grad_by_freq = self.sparse = False

    @property
    def weight(self) -> Tensor:  # type: ignore[override]
        """The table."""
        return self.judge_table

    def forward(self, tokens: Tensor) -> Tensor:
        """Token ids [B, T] -> [B, T, D]."""
        self.note(tokens=tokens)
        return self.judge_table[tokens]


class Positions(Part):
    """x plus the first rows of `judge_table` [max_len, D]."""

    def __init__(self, max_len: int, d_model: int) -> None:
        super().__init__()
        self.judge_table = weight(max_len, d_model)

    def forward(self, x: Tensor) -> Tensor:
        """x [B, T, D] -> [B, T, D]."""
        self.note(x=x)
        return x + self.judge_table[: x.size(1)]
