"""Where the results are wrong only with an argument: lines that compute with it, if nothing else shows one."""

from __future__ import annotations

import pytest

from grader.places.undoing import Undoing
from tests.grader.places.placed import line_of, place

SHIFT = """\
import torch
import torch.nn.functional as F


def shift_right(target, sos=1):
    begun = torch.full_like(target[:, :1], sos)
    return torch.cat([begun, target[:, :-1]], dim=1)

"""
EVEN_OVER_ALL = f"""{SHIFT}
def sequence_loss(logits, target, pad=0, smoothing=0.0):
    each = F.log_softmax(logits, dim=-1)
    counts = target != pad
    of_right = each.gather(2, target.unsqueeze(2)).squeeze(2)
    loss = -(of_right * counts).sum() / counts.sum()
    if smoothing > 0:
        of_all = -each.mean(dim=2).mean()
        loss = loss * (1 - smoothing) + smoothing * of_all
    return loss
"""


@pytest.mark.slow
def test_the_line_that_computes_with_the_argument_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Undoing, "search", lambda *_args, **_words: [])
    found = place("loss", EVEN_OVER_ALL)
    assert found is not None
    assert set(found.lines) == {
        line_of(EVEN_OVER_ALL, "        of_all ="),
        line_of(EVEN_OVER_ALL, "        loss ="),
    }
    assert "`smoothing`, and right if it is 0" in found.value


ONE_TOO_MANY = f"""{SHIFT}
def share(smoothing, size):
    n = size - 1
    return smoothing / n


def sequence_loss(logits, target, pad=0, smoothing=0.0):
    each = F.log_softmax(logits, dim=-1)
    each = [one for row in each for one in row]
    losses = []
    for one, right in zip(each, [int(n) for n in target.flatten()]):
        if right != pad:
            part = share(smoothing, len(one))
            losses.append(-(one[right] * (1 - smoothing) + part * sum(one)))
    return sum(losses) / len(losses)
"""


@pytest.mark.slow
def test_changes_are_tried_where_the_argument_is_used_first() -> None:
    found = place("loss", ONE_TOO_MANY)
    assert found is not None
    assert found.proved
    assert line_of(ONE_TOO_MANY, "    n = ") in found.lines


@pytest.mark.usefixtures("hurried")
@pytest.mark.slow
def test_none_is_shown_where_the_results_are_wrong_without_it_too() -> None:
    text = EVEN_OVER_ALL.replace("/ counts.sum()", "/ counts.numel()")
    found = place("loss", text)
    assert found is None or "smoothing" not in found.value
