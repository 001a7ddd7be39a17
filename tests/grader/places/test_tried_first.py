"""What the facts of a run or of the file point at is tried first."""

from __future__ import annotations

import pytest

from tests import solution_file
from tests.grader.places.placed import line_of, place
from tests.grader.right import right_files


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_a_part_that_no_line_has_used_is_tried_first() -> None:
    """It is used where the norm comes first, which this call does not ask for."""
    text = solution_file("decoder").read_text(encoding="utf-8")
    old = "self.norm2(x + self.dropout(self.cross_attention(x, memory, memory, src_mask)))"
    for new in (old.removeprefix("self.norm2"), old.replace("self.norm2", "self.norm1")):
        found = place("decoder", text.replace(old, new))
        assert found is not None
        assert found.proved
        assert line_of(text, old) in found.lines


@pytest.mark.slow
def test_a_local_that_should_be_an_attribute_is_tried_first() -> None:
    text = solution_file("decoder").read_text(encoding="utf-8")
    for new in ("dropout = ", "dropout: nn.Module = "):
        wrong = text.replace("self.dropout = ", new)
        assert wrong != text
        found = place("decoder", wrong)
        assert found is not None
        assert found.place.line == line_of(text, "self.dropout = ")


@pytest.mark.parametrize(
    ("base", "old", "new"),
    [
        ("packed_vkq_with_bias", "F.dropout(w, self.p, self.training)", "F.dropout(w, self.p, False)"),
        ("port_with_biases_of_masks", "all(dim=-1", "all(dim=-2"),
    ],
    ids=["dropout that drops nothing", "a mask that looks like a right one in most rows"],
)
@pytest.mark.slow
def test_the_line_is_proved_soon(base: str, old: str, new: str) -> None:
    text = right_files("attention")[base]
    assert text.count(old) == 1
    found = place("attention", text.replace(old, new))
    assert found is not None
    assert found.proved
    assert found.place.line == line_of(text, old)
