"""The keys that a model's masks leave, from its output: with these weights every query attends evenly to them.

Each position carries a mark of its own, and a look adds the mark of the key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from grader.api import Answer, Client, Instance

LENGTH = 5
WIDTH = 3 * LENGTH  # marks of positions, of what is seen of them, of memory
SOURCE = torch.tensor([[4, 2, 7, 5, 0], [6, 3, 0, 0, 0], [5, 1, 2, 0, 9]])
TARGET = torch.tensor([[1, 6, 0, 4, 0], [1, 5, 3, 4, 6], [1, 4, 0, 0, 0]])
Ready = Callable[..., Instance]


def _marks(block: int) -> Tensor:
    """[T, D]: position t has a 1 in column t of a block."""
    return torch.eye(WIDTH, dtype=torch.float64)[block * LENGTH : (block + 1) * LENGTH]


def _weights(size: Any) -> dict[str, dict[str, Tensor]]:
    nothing = torch.zeros(WIDTH, WIDTH, dtype=torch.float64)
    seen = _marks(0).T @ _marks(1)  # [D, D]: the mark of a position -> that of what is seen of it
    again = _marks(2).T @ _marks(2)
    even = {"q": nothing, "k": nothing}
    head = torch.zeros(size.tgt_vocab, WIDTH, dtype=torch.float64)
    head[:WIDTH] = torch.eye(WIDTH)
    return {
        "encoder": {f"inner.{n}": w for n, w in {**even, "v": seen}.items()},
        "decoder": {f"inner.{n}": w for n, w in {**even, "v": seen}.items()}
        | {f"cross.{n}": w for n, w in {**even, "v": again}.items()},
        "src_embed": {"table": torch.zeros(size.src_vocab, WIDTH)},
        "tgt_embed": {"table": torch.zeros(size.tgt_vocab, WIDTH)},
        "positions": {"table": _marks(0)},
        "head": {"head.weight": head, "head.bias": torch.zeros(size.tgt_vocab)},
    }


def _looks(client: Client, output: Any, queries: Tensor, block: int, what: str) -> Answer:
    """A bool map [Tq, Tk] for each sentence. A row of PAD that the model sets to 0 as a whole is free, and empty."""
    if not isinstance(output, Tensor) or output.dim() != 3 or output.shape[:2] != queries.shape:
        return {"result": "another shape"}
    if output.size(2) < WIDTH:
        return {"result": "another width"}
    if output.dtype == torch.bool:
        return {"result": "truth values"}
    marks = output[..., block * LENGTH : (block + 1) * LENGTH]
    unused = (queries == 0) & (output.abs() < 1e-6).all(-1)  # [B, Tq]
    free = torch.tensor(client.left_free(f"unused rows {what}", tuple(unused.flatten().tolist())))
    found = (marks.abs() > 1e-3) & ~free.view(queries.shape)[:, :, None]  # [B, Tq, Tk]
    return {f"allowed keys {what}, sentence {n}": table for n, table in enumerate(found, start=1)}


def looks_of_encode(ready: Ready, sizes: Callable[..., Any]) -> Callable[[Client], Answer]:
    """Source at source."""

    def ask(client: Client) -> Answer:
        size = sizes(WIDTH, 11, WIDTH + 2)
        model = ready(client, _weights(size), size)
        output = client.call(model, SOURCE, method="encode").get("output")
        return _looks(client, output, SOURCE, 1, "in the encoder")

    return ask


def looks_of_decode(ready: Ready, sizes: Callable[..., Any]) -> Callable[[Client], Answer]:
    """Target at target, and target at source."""

    def ask(client: Client) -> Answer:
        size = sizes(WIDTH, 11, WIDTH + 2)
        model = ready(client, _weights(size), size)
        memory = _marks(2).expand(len(SOURCE), LENGTH, WIDTH)
        output = client.call(model, TARGET, memory, SOURCE, method="decode").get("output")
        own = _looks(client, output, TARGET, 1, "in target self-attention")
        return {**own, **_looks(client, output, TARGET, 2, "in cross-attention")}

    return ask
