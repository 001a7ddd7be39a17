"""The interface of positional encodings, and of those that act inside the attention."""

from __future__ import annotations

from torch import Tensor, nn


class Positions:
    """How an encoding acts inside one stack's self-attention: made once, handed to every layer.

    The queries are the last Tq of Tk positions: Tq = Tk, but when decoding with cached keys.
    """

    def rotate(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        """Queries [B, H, Tq, d] and the keys [B, Hk, Tq, d] of the same positions, rotated (or as they are)."""
        return q, k

    def bias(self, q: Tensor) -> Tensor | None:
        """Return the bias on the scores of queries [B, H, Tq, d]: broadcasts to [B, H, Tq, Tk]; None for no bias."""
        return None


class Encoding(nn.Module):
    """A positional encoding; it acts where it overrides something: at the embedding, or inside the attention."""

    def __init__(self, max_len: int) -> None:
        """`max_len` is the longest sequence."""
        super().__init__()
        self.max_len = max_len

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """Embedded tokens x [B, T, D] at the positions start .. start + T - 1 -> [B, T, D].

        Raises ValueError if start + T > max_len.
        """
        self.check_length(start + x.size(1))
        return x

    def positions(self, num_queries: int, num_keys: int, like: Tensor) -> Positions | None:
        """Return how it acts on the last `num_queries` of `num_keys` positions; None for not at all.

        `like` has the dtype and the device of the hidden vectors.
        """
        return None

    def check_length(self, length: int) -> int:
        """`length` itself. Raises ValueError if it is over max_len."""
        if length > self.max_len:
            raise ValueError(
                f"The sequence has {length} positions, but the encoding was made for max_len={self.max_len}."
            )
        return length
