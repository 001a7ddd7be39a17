"""Properties of maskings (which positions are hidden) and of mask forms (the format of masks)."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from zoo.analysis.checks.base import DoesNotApply, DoesNotHold, Properties
from zoo.analysis.checks.part import PAD, Part, ragged, words
from zoo.parts.masking.base import causal_keep, padding_keep

MASKING, MASK = Properties(), Properties()
BATCH, LENGTH = 3, 6


def _tokens() -> Tensor:
    return ragged(words(BATCH, LENGTH))


def _src(part: Part, tokens: Tensor) -> Tensor:
    """Its mask over the source, [B, 1, 1, S]; all open for None."""
    keep = part.make().src(tokens)
    batch, length = tokens.shape
    return _keep(keep, (batch, 1, 1, length), "src")


def _tgt(part: Part, tokens: Tensor, num_queries: int) -> Tensor:
    """Its mask over the target, [B, 1, num_queries, L]; all open for None."""
    keep = part.make().tgt(tokens, num_queries)
    batch, length = tokens.shape
    return _keep(keep, (batch, 1, num_queries, length), "tgt")


def _keep(keep: Any, shape: tuple[int, ...], what: str) -> Tensor:
    if keep is None:
        return torch.ones(shape, dtype=torch.bool)
    if not isinstance(keep, Tensor) or keep.dtype != torch.bool:
        raise DoesNotHold(f"{what}: expected a bool tensor (True = may be attended to) or None.")
    try:
        return keep.expand(shape)
    except RuntimeError:
        raise DoesNotHold(
            f"{what}: expected a shape that broadcasts to {list(shape)}, got {list(keep.shape)}."
        ) from None


@MASKING("masks are bool and broadcast to [B, 1, Tq, Tk]")
def masking_shapes(part: Part) -> None:
    """For whole sequences, for the last few queries, for one token."""
    for tokens in (_tokens(), words(1, 1)):
        _src(part, tokens)
        for queries in range(1, tokens.size(1) + 1):
            _tgt(part, tokens, queries)


@MASKING("no target position may attend to a later one")
def no_future(part: Part) -> None:
    """Otherwise the decoder would see what it is to predict."""
    later = ~causal_keep(LENGTH, LENGTH)
    for tokens in (_tokens(), words(BATCH, LENGTH)):
        if (_tgt(part, tokens, LENGTH) & later).any():
            raise DoesNotHold("A target position may attend to a later one.")


@MASKING("a token may attend to itself and to earlier tokens")
def sees_words(part: Part) -> None:
    """Tokens are hidden from no later token, and in the source from none."""
    tokens = _tokens()
    word = tokens != PAD  # [B, T]
    if not _src(part, tokens)[:, 0, 0][word].all():
        raise DoesNotHold("A word of the source is hidden.")
    both = word[:, None, :, None] & word[:, None, None, :] & causal_keep(LENGTH, LENGTH)
    if not _tgt(part, tokens, LENGTH)[both].all():
        raise DoesNotHold("A word of the target is hidden from itself or from a later one.")


@MASKING("padding in the source is hidden")
def hides_padding(part: Part) -> None:
    """All of it, if any."""
    keep, tokens = _src(part, _tokens()), _tokens()
    if keep.all():
        raise DoesNotApply("It hides no padding.")
    if (keep & ~padding_keep(tokens, PAD)).any():
        raise DoesNotHold("Some padding of the source may be attended to.")


@MASKING("the last queries get the last rows of the whole mask")
def last_rows(part: Part) -> None:
    """Return what decoding with a cache asks for."""
    tokens = _tokens()
    whole = _tgt(part, tokens, LENGTH)
    for queries in range(1, LENGTH):
        if not torch.equal(_tgt(part, tokens, queries), whole[:, :, -queries:]):
            raise DoesNotHold(f"The mask of the last {queries} queries is not the end of the whole mask.")


@MASKING("rows of a batch are independent")
def masking_rows(part: Part) -> None:
    """Each item alone gets the mask that it gets in the batch."""
    tokens = _tokens()
    for row in range(BATCH):
        one = tokens[row : row + 1]
        for got, whole in (
            (_src(part, one), _src(part, tokens)),
            (_tgt(part, one, LENGTH), _tgt(part, tokens, LENGTH)),
        ):
            if not torch.equal(got, whole[row : row + 1]):
                raise DoesNotHold("A row alone gets another mask than in a batch.")


@MASKING("no row is hidden from everything, unless it declares blank_rows")
def no_blank_rows(part: Part) -> None:
    """For sequences that begin with a word."""
    tokens = _tokens()
    blank = not _tgt(part, tokens, LENGTH).any(-1).all() or not _src(part, tokens).any(-1).all()
    if blank and not part.can("blank_rows"):
        raise DoesNotHold("Everything is hidden from some position, which blank_rows=True would declare.")


@MASKING("does not modify its input tokens")
def masking_untouched(part: Part) -> None:
    """Nothing is changed in place."""
    masking, tokens = part.make(), _tokens()
    masking.src(tokens)
    masking.tgt(tokens, 2)
    if not torch.equal(tokens, _tokens()):
        raise DoesNotHold("The tokens were changed in place.")


def _usual() -> list[Tensor]:
    """The masks of a model: padding, the future, both; as a whole and for the last query."""
    keep = padding_keep(_tokens(), PAD)
    future = causal_keep(LENGTH, LENGTH)
    return [keep, future, keep & future, causal_keep(1, LENGTH) & keep, torch.zeros_like(keep)]


@MASK("decoding inverts encoding")
def there_and_back(part: Part) -> None:
    """The masks of a model, in float32, float64 and bfloat16."""
    form = part.make()
    for keep in _usual():
        for dtype in (torch.float32, torch.float64, torch.bfloat16):
            mask = form.encode(keep, dtype)
            back = _keep(form.decode(mask, keep.size(-1)), tuple(keep.shape), "decode")
            if not torch.equal(back, keep):
                raise DoesNotHold(f"A mask {list(keep.shape)} is another after encoding and decoding.")


@MASK("rejects a mask that it cannot represent")
def any_mask(part: Part) -> None:
    """Masks with holes come back as they were, or raise ValueError or ZooError."""
    form, keep = part.make(), torch.rand(2, 2, 4, 5) < 0.5
    try:
        back = form.decode(form.encode(keep, torch.float32), 5)
    except ValueError:
        return
    if not torch.equal(_keep(back, tuple(keep.shape), "decode"), keep):
        raise DoesNotHold("Encoding and decoding changes a mask with holes, without an error.")


@MASK("does not modify its input masks")
def mask_untouched(part: Part) -> None:
    """Nothing is changed in place."""
    form, keep = part.make(), _usual()[2]
    before = keep.clone()
    mask = form.encode(keep, torch.float32)
    encoded = mask.clone()
    form.decode(mask, LENGTH)
    if not torch.equal(keep, before) or not torch.equal(mask, encoded):
        raise DoesNotHold("The mask was changed in place.")
