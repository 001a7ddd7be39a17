"""Lines from which a wrong value comes: behind names, defaults, attributes, constants and lists."""

from __future__ import annotations

import pytest

from tests import solution_file
from tests.grader.places.placed import line_of, place
from tests.grader.right import right_files

PROVED = {
    "a function behind two names": ("positions", "vmap_compiled_einops", "torch.exp(-(j", "torch.sigmoid(-(j"),
    "an autograd function": ("positions", "vmap_compiled_einops", "weight[:n].clone()", "weight[:].clone()"),
    "a field's default": ("encoder", "enum_frozen_dataclass_match", "eps: float = 1e-5", "eps: float = 0.01"),
    "an attribute's default": ("transformer", "einops_keyword_only_kwargs", "*, pad=0,", "*, pad=1,"),
    "an attribute that nothing reads": ("kv_cache", "lists_detached_and_no_bias", "self.wv(x))]", "self.wk(x))]"),
}  # fmt: skip
SHOWN = {
    "an argument that is overwritten": (
        "kv_cache",
        "buffers_that_grow",
        "cache = Cache(x) if cache is None else cache",
        "cache = Cache(x)",
    ),
    "a name for another value": ("attention", "", "weights = attention_weights(q, k, mask)", "weights = q"),
    "a name with its own value": (
        "attention",
        "bare_packed",
        "scores = scores.masked_fill(~mask, -1e9)",
        "scores = scores",
    ),
    "a conversion at the end": ("loss", "", "return loss.to(logits.dtype)", "return loss"),
    "a local for an attribute": (
        "encoder",
        "enum_frozen_dataclass_match",
        "self.final: Optional",
        "final: Optional",
    ),
}  # fmt: skip


def shown(exercise: str, title: str, old: str, new: str) -> tuple[bool, bool]:
    """Whether the changed line is shown, and whether it is proved."""
    text = next(
        (
            text
            for name, text in right_files(exercise).items()
            if title and name.startswith(title) and old in text
        ),
        solution_file(exercise).read_text(encoding="utf-8"),
    )
    assert text.count(old) == 1
    wrong = text.replace(old, new)
    found = place(exercise, wrong)
    assert found is not None
    return line_of(text, old.splitlines()[0]) in found.lines, found.proved


@pytest.mark.slow  # as second lines take the time they need
@pytest.mark.parametrize("title", PROVED)
def test_a_change_where_the_value_comes_from_proves_the_line(title: str) -> None:
    assert shown(*PROVED[title]) == (True, True)


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
@pytest.mark.parametrize("title", SHOWN)
def test_the_line_is_shown_where_no_change_helps(title: str) -> None:
    assert shown(*SHOWN[title])[0]


@pytest.mark.slow
@pytest.mark.usefixtures("hurried")
def test_a_decorator_that_switches_gradients_on_is_tried_first_where_they_are_recorded() -> None:
    text = solution_file("decoding").read_text(encoding="utf-8")
    old = "@torch.no_grad()\ndef beam_search"
    assert old in text
    found = place("decoding", text.replace(old, old.replace("no_grad", "enable_grad")))
    assert found is not None
    assert found.place.line == line_of(text, "def beam_search") - 1
    assert found.proved
