"""A model that is decoded from, one token a step: with cached keys and values, or recomputing everything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor

from zoo.parts.attention.cache import LayerCache, select_rows

if TYPE_CHECKING:
    from zoo.models.transformer import Model


class Stepper:
    """R rows of tokens that grow by one a step, each an answer to one source.

    A model without an encoder goes on with its source, the prompt: the first `step` takes the prompt's last token.

    Attributes:
        tokens: all so far, SOS or the prompt first: [R, L].
        sources: which of the sources each row answers: [R].
    """

    def __init__(self, model: Model, src: Tensor, cached: bool | None = None, pad: int | None = None) -> None:
        """
        Args:
            model: in eval mode.
            src: [B, S]; without an encoder prompts without padding, of at least one token.
            cached: whether keys and values are kept from step to step; by default where all parts of the
                model can do so.
            pad: a token that never comes next; padding in an answer would hide the place it stands at.

        Raises:
            ValueError: asked for by name, and a part of the model cannot.
        """
        if cached and not model.cacheable:
            raise ValueError("A part of this model cannot work with cached keys and values.")
        self.src, self.pad = src, pad
        reads = "encoder" in model.stacks
        self.model = cast(Any, model)  # `encode` and `decode` are there as `stacks` says
        self.memory: Tensor | None = self.model.encode(src) if reads else None
        self.sources = torch.arange(src.size(0), device=src.device)
        self.tokens = src.new_empty(src.size(0), 0) if reads else src[:, :-1]
        self.caches: list[LayerCache] | None = None
        if model.cacheable and cached is not False:
            self.caches = self.model.new_caches()

    def step(self, tokens: Tensor) -> Tensor:
        """Add tokens [R], and see what comes next: what the model's head gives, [R, V]."""
        self.tokens = torch.cat((self.tokens, tokens[:, None]), dim=1)  # [R, L] -> [R, L + 1]
        kept: dict[str, Any] = {} if self.caches is None else {"caches": self.caches}
        read: tuple[Any, ...] = () if self.memory is None else (self.memory, self.src)
        scores: Tensor = self.model.decode(self.tokens, *read, **kept)[:, -1]  # [R, 1, V] -> [R, V]
        if self.pad is None:
            return scores
        never = torch.arange(scores.size(-1), device=scores.device) == self.pad  # [V]
        return scores.masked_fill(never, float("-inf"))

    def select(self, rows: Tensor) -> None:
        """Go on with these rows [R'], in this order; a row may come up several times, or be dropped."""
        sources = self.sources[rows]
        moved = sources.shape != self.sources.shape or not torch.equal(sources, self.sources)
        self.tokens, self.sources = self.tokens[rows], sources
        if moved and self.memory is not None:
            self.src, self.memory = self.src[rows], self.memory[rows]
        if self.caches is not None:
            select_rows(self.caches, rows, moved)
