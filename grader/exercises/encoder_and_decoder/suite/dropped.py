"""Facts about a layer's dropout in train mode, from its output and from the inputs of its parts.

The last columns have nothing added to them by any part: there x is seen as it is, and norms can be undone. The
layer's own norms are as they start.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import torch
from torch import Tensor, nn

from grader.api import (
    Answer,
    Attention,
    Client,
    Draws,
    FeedForward,
    Instance,
    drawn_again,
    dropping_facts,
    no_shape,
    noted,
    repeats,
    unaffine,
)
from grader.exercises.encoder_and_decoder.suite.kinds import (
    Given,
    Kind,
    Size,
    Way,
    Weights,
    batch_of,
    call,
    layer_of,
    layer_weights,
)

RATE = 0.25
OWN_CHOICE = "by a choice of its own"
QUIET = 3  # columns that nothing is added to
SIZE = Size(100, 6, 16, 5)
MANY = Size(400, 6, 16, 5)  # for another rate: on more numbers, so that a tenth less shows


def dropped(kind: Kind, norm: str, seed: int, rate: float = RATE) -> Callable[[Client], Answer]:
    """Facts on each sublayer, in their order, up to the first that cannot be read."""

    def ask(client: Client) -> Answer:
        draws, size = Draws(seed), SIZE if rate == RATE else MANY
        weights = layer_weights(kind, draws, size.width)
        for part in kind.parts:
            weights[part]["b" if part == "feed_forward" else "v"][:, -QUIET:] = 0.0
        way = Way(norm, rate, training=True, load=False)
        layer, parts = layer_of(client, kind, weights, way)
        given = batch_of(kind, draws, size)
        output, x = call(client, layer, given).get("output"), given["x"]
        assert x is not None
        again = [call(client, layer, given).get("output") for _ in range(2)]
        wrong = no_shape(output, x)
        if wrong is not None or not isinstance(output, Tensor):
            return wrong or {}
        inputs = [_input(parts[name], x) for name in kind.parts]
        facts = {
            f"zeros in the input of {name}": _zeros(h) for name, h in zip(kind.parts, inputs, strict=True)
        }
        facts["a second call drops"] = drawn_again(output, *again)
        facts["zeros in the output"] = "some" if bool((output == 0).any()) else "none"
        return {**facts, **_sublayers(kind, norm, rate, weights, given, [*inputs, output.double()])}

    return ask


def _input(part: Instance, x: Tensor) -> Tensor | None:
    """Return what a part was given in its first call, or in pieces: of some sentences, or of some positions."""
    pieces = [found.double() for one in noted(part) if (found := one.get("query", one.get("x"))) is not None]
    for count, dim in product(range(1, len(pieces) + 1), (0, 1)):
        if all(one.dim() == 3 and one.size(1 - dim) == x.size(1 - dim) for one in pieces[:count]):
            whole = torch.cat(pieces[:count], dim)  # [B, T, D]
            if whole.shape == x.shape:
                return whole
    return None


def _zeros(h: Tensor | None) -> str:
    return "no input" if h is None else repeats(h)


def _sublayers(
    kind: Kind, norm: str, rate: float, weights: Weights, given: Given, seen: list[Tensor | None]
) -> dict[str, str]:
    """Facts of each sublayer. `seen` holds the parts' inputs, and the output."""
    facts: dict[str, str] = {}
    stream, memory = given["x"], given.get("memory")
    before: list[tuple[Tensor, Tensor]] = []  # what was dropped of earlier sublayers, and what is shown of it
    for i, name in enumerate(kind.parts):
        h, after = seen[i], seen[i + 1]
        if stream is None or h is None or after is None:
            return {**facts, f"{name} adds to": "what cannot be read"}
        branch = _branch(name, weights, h, memory)
        facts[f"{name}, {'its input' if norm == 'pre' else 'the result'}"] = _normed(
            h if norm == "pre" else after
        )
        bare = norm == "pre" and name == kind.parts[-1]
        total = after if bare else unaffine(after, stream, (SIZE.width - 1, SIZE.width - 2))
        rows = (stream[..., -1] - stream[..., -2]).abs() > 0.5  # [B, T], enough to divide by
        if not bool(((total - stream)[..., -QUIET:][rows].abs() < 1e-2).all()):
            return {**facts, f"{name} adds to": "something else than x"}
        shown = (branch.abs() > 0.2) & rows.unsqueeze(-1)
        shown[..., -QUIET:] = False
        kept = torch.where(shown, (total - stream) / branch, 0.0)
        facts |= {f"{name}, {what}": text for what, text in dropping_facts(kept, rate, shown, branch).items()}
        choice = ((kept.abs() < 1e-2) & shown, shown)
        if before:
            said = [_beside(choice, one) for one in before]
            facts[f"{name}, dropped"] = next((one for one in said if one != OWN_CHOICE), OWN_CHOICE)
        before.append(choice)
        stream = total if norm == "pre" else after
    return facts


def _normed(rows: Tensor) -> str:
    """Return whether rows come from a norm that is new: of mean 0 and variance 1. Constant ones have variance 0."""
    mean, variance = rows.mean(-1).abs(), rows.var(-1, unbiased=False)
    is_normed = float(mean.max()) < 0.01 and float(variance.max()) < 1.01
    return "normed" if is_normed and float(variance.median()) > 0.9 else "not normed"


def _beside(choice: tuple[Tensor, Tensor], before: tuple[Tensor, Tensor]) -> str:
    """Return whether two sublayers had the same numbers dropped: of those dropped in one, one in seven is in both."""
    both = choice[1] & before[1]
    either, shared = (choice[0] | before[0]) & both, choice[0] & before[0] & both
    same = float(shared.sum()) > 0.6 * float(either.sum())
    return "the same numbers as before" if same and bool(either.any()) else OWN_CHOICE


def _branch(name: str, weights: Weights, h: Tensor, memory: Tensor | None) -> Tensor:
    """Return what a part gives for its input."""
    part: nn.Module = (FeedForward if name == "feed_forward" else Attention)(h.size(-1)).double()
    part.load_state_dict({f"judge_{one}": value for one, value in weights[name].items()})
    key = memory if name == "cross_attention" else h
    with torch.no_grad():
        found: Tensor = part(h) if name == "feed_forward" else part(h, key, key)
    return found
