"""An encoding per layer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from zoo.parts.encoding.base import Encoding, Positions


class LayerPositions(Encoding):
    """Encodings that act inside the attention, or nowhere, each in some layers of a stack.

    Layers with the same encoding share it, with what it has learned.
    """

    def __init__(self, kinds: Iterable[Encoding], layers: Sequence[int], max_len: int) -> None:
        """The different encodings, and which of them each layer has, by number."""
        super().__init__(max_len)
        self.kinds, self.layers = nn.ModuleList(kinds), tuple(layers)

    def forward(self, x: Tensor, start: int = 0) -> Tensor:
        """x [B, T, D] -> x. Raises ValueError as its encodings do."""
        for kind in self.kinds:
            x = kind(x, start)
        return x

    def positions(  # type: ignore[override]
        self, num_queries: int, num_keys: int, like: Tensor
    ) -> tuple[Positions | None, ...]:
        """Return how positions act in each layer. Arguments and errors as in `Encoding.positions`."""
        acting = [kind.positions(num_queries, num_keys, like) for kind in self.kinds]  # type: ignore[operator]
        return tuple(acting[number] for number in self.layers)
