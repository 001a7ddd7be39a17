"""A solution of `decoder.py`: short, plain, and correct in edge cases."""

from collections.abc import Callable

from torch import Tensor, nn


class DecoderLayer(nn.Module):
    """Self-attention, cross-attention, feed-forward ("Attention Is All You Need", section 3.1).

    Args:
        self_attention: part(query, key, value, mask) -> [B, Tq, D].
        cross_attention: the same; its keys and values are `memory`.
        feed_forward: part(x) -> [B, L, D].
        d_model: width D.
        dropout: on each sublayer's output before the residual sum, in training mode only.
        norm: "post": norm(x + drop(f(x))), or "pre": x + drop(f(norm(x))).
    """

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
        self.self_attention = self_attention
        self.cross_attention = cross_attention
        self.feed_forward = feed_forward
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)
        self.pre = norm == "pre"

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D] -> [B, L, D].

        A bool mask is True = may be attended to: `src_mask` broadcasts to [B, H, L, S] and is for the
        cross-attention, `tgt_mask` broadcasts to [B, H, L, L] and is for the self-attention.
        """
        if self.pre:
            y = self.norm1(x)
            x = x + self.dropout(self.self_attention(y, y, y, tgt_mask))
            x = x + self.dropout(self.cross_attention(self.norm2(x), memory, memory, src_mask))
            x = x + self.dropout(self.feed_forward(self.norm3(x)))
        else:
            x = self.norm1(x + self.dropout(self.self_attention(x, x, x, tgt_mask)))
            x = self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))
            x = self.norm3(x + self.dropout(self.feed_forward(x)))
        return x


class Decoder(nn.Module):
    """`num_layers` layers of their own, all with the same memory; a pre-norm stack ends in one more norm.

    Args:
        make_layer: without arguments, a new layer each time.
        num_layers: how many.
        d_model: width D.
        norm: "post" or "pre", as in the layers.
    """

    def __init__(
        self, make_layer: Callable[[], nn.Module], num_layers: int, d_model: int, norm: str = "post"
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList([make_layer() for _ in range(num_layers)])
        self.final_norm = nn.LayerNorm(d_model) if norm == "pre" else nn.Identity()

    def forward(
        self, x: Tensor, memory: Tensor, src_mask: Tensor | None = None, tgt_mask: Tensor | None = None
    ) -> Tensor:
        """x [B, L, D], memory [B, S, D], masks as in `DecoderLayer` -> [B, L, D]."""
        for layer in self.layers:
            x = layer(x, memory, src_mask, tgt_mask)
        output: Tensor = self.final_norm(x)
        return output
