"""What a function does elsewhere, tried where it does less."""

from __future__ import annotations

import pytest

from grader.edits.edits import Edits
from tests.grader.edits.tried import is_python, plain

TEXT = """
RULES = {bool: First, int: Second, float: First}


class Layer(Own, Other):
    @cached_property
    def norm(self):
        return LayerNorm()

    def forward(self, x, mask, pad):
        masked = x.masked_fill(mask, 0)
        top = x.max()
        if pad is None:
            return masked
        if pad is not top:
            out = torch.cat(x)
        else:
            out = self.join(masked)
        y = layer(x, pad)
        y = layer(x, mask, pad)
        result = masked * self.gain
        row = x != pad & (x < 3)
        call = partial(layer, *mask)
        return result + out

    def count(self, rows, training):
        if training:
            self.drop = True
        for row in rows:
            k += 1
            total = total + row[k]
        return total

    def few(self, ids):
        return ids.ne(0)

    def decode(self, ids, pad, order, times):
        keys = ids.ne(pad)
        source, target = self.few(ids), ~self.few(pad)
        for i in range(1, times):
            rows = ids[:, order]
        more = ids.repeat_interleave(times, dim=0)
        if times:
            return self.few(rows)
        return more
"""


def tried(line: int) -> set[str]:
    """What is tried in a line, and in what is defined for all functions."""
    edits = Edits(TEXT)
    found = [*edits.among([line], []), *edits.wired()]
    return {plain(new) for at, new in found if at == line and is_python(new)}


@pytest.mark.parametrize(
    ("line", "old", "new"),
    [
        (2, "int: Second", "int: First"),
        (5, "(Own, Other)", "(Other, Own)"),
        (6, "@cached_property", "@property"),
        (12, "top = x.max()", "top = masked.max()"),
        (14, "return masked", "return masked * self.gain"),
        (15, "pad is not top", "pad != top"),
        (16, "out = torch.cat(x)", "out = self.join(x)"),
        (19, "layer(x, pad)", "layer(x, None, pad)"),
        (19, "layer(x, pad)", "layer(x, mask, pad)"),
        (22, "x != pad & (x < 3)", "(x != pad) & (x < 3)"),
        (23, "partial(layer, *mask)", "lambda _: layer(_, *mask)"),
        (27, "if training:\n            self.drop = True", "self.drop = training"),
        (30, "k += 1\n            total = total + row[k]", "total = total + row[k]\n            k += 1"),
        (38, "ids.ne(pad)", "ids.ne(0)"),
        (39, "self.few(ids)", "~self.few(ids)"),
        (40, "range(1, times)", "range(1, times + 1)"),
        (41, "ids[:, order]", "ids[:, sorted(range(len(order)), key=order.__getitem__)]"),
        (42, "ids.repeat_interleave(times, dim=0)", "torch.cat([ids] * times, dim=0)"),
        (45, "return more", "return self.few(more)"),
    ],
)
def test_it_does_as_much_as_elsewhere(line: int, old: str, new: str) -> None:
    assert plain(TEXT.replace(old, new, 1)) in tried(line)
