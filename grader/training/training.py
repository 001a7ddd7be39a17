"""The training test: a Transformer with the learner's part in it must learn to spell words backwards.

The judge owns words, parameters, optimizer and loss; the part sees hidden vectors only. Task and recipe
are the zoo's own (`zoo.training.trainer`). The score is greedy decoding of words that were not trained on: loss
and teacher-forced accuracy are no scores, since a decoder that sees the future has a tiny loss and
spells nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from grader.core.failures import Failed
from grader.core.progress import Progress
from grader.training.replay import replay
from grader.training.spotcheck import SpotChecked
from zoo.core.blueprint import get_preset
from zoo.core.tasks import get_task
from zoo.models.builder import build
from zoo.models.transformer import Transformer
from zoo.parts.loss.base import SequenceLoss
from zoo.training.tasks.base import TaskData
from zoo.training.trainer import DivergedError, Example, Recipe, Score, exact_match, load_task, train

TASK = "reverse"
WORDS = 500
BAR = 0.95
"""Share of `WORDS` unseen words. The recipe spells 99 % or more whatever the seed; on 500 words chance
moves that by half a per cent, so right code stays eight standard deviations above the bar. Parts that are
wrong in a way which this test can tell at all spell less than half."""

GOOD = 0.98
"""What a model must spell that is to be decoded with."""

ATTEMPTS, STRIDE = 3, 7_368_787

PLACES = {
    "encoder.layers.0.self_attention": "the encoder's self-attention",
    "decoder.layers.0.self_attention": "the decoder's self-attention",
    "decoder.layers.0.cross_attention": "the decoder's attention to the encoder",
    "encoder.layers.0.feed_forward": "the encoder's feed-forward network",
    "decoder.layers.0.feed_forward": "the decoder's feed-forward network",
    "src_positions": "the positions of the source",
    "tgt_positions": "the positions of the target",
}


def train_to_reverse(
    axis: str,
    make_part: Callable[..., SpotChecked],
    *,
    seed: int,
    progress: Progress,
    recipe: Recipe | None = None,
    words: int = WORDS,
) -> Score:
    """Train the zoo's model with the parts that `make_part` makes for `axis`, and let it spell unseen words.

    Args:
        axis: the axis of the zoo that the part stands on ("attention").
        make_part: called with what the axis hands to its variants, once for each place in the model.
        seed: of the other parts' weights and of the order of words.
        progress: is told of each step.
        recipe: the task's own, if not given.
        words: how many unseen words to spell.

    Raises:
        Failed: the loss became NaN, a spot-check found another function than the oracle's,
            or a replay another answer.
        SubmissionError: the part's own code failed.
    """
    model = reverser(seed, {axis: make_part})
    for name, part in _watched(model):
        part.title = PLACES.get(name, part.title)
    return train_model(model, seed=seed, progress=progress, recipe=recipe, words=words)


def reverser(seed: int, parts: Mapping[str, Callable[..., Any]] | None = None) -> Transformer:
    """The zoo's model for the task, with parts that stand in for its own, by axis."""
    model = build(get_preset(get_task(TASK).preset).blueprint(), seed=seed, parts=parts)
    assert isinstance(model, Transformer)
    return model


def train_model(
    model: Transformer,
    *,
    seed: int,
    progress: Progress,
    recipe: Recipe | None = None,
    loss: SequenceLoss | None = None,
    words: int = WORDS,
) -> Score:
    """Train a model that has the learner's code in it, and let it spell unseen words.

    Args:
        loss: the zoo's cross-entropy, if not given.

    Raises:
        Failed: the loss became NaN, a spot-check found another function than the oracle's,
            or a replay another answer.
        SubmissionError: the learner's code failed.
    """
    recipe, task = recipe or Recipe(seed=seed), load_task(TASK)
    try:
        train(
            model,
            task,
            recipe,
            loss=loss,
            on_step=lambda step, _loss: progress("training", step, recipe.steps),
        )
    except DivergedError as error:
        raise Failed(f"A Transformer with your code in it could not be trained. {error}") from error
    score = exact_match(model, task, task.held_out[:words])
    for _, part in _watched(model):
        part.settle()
    replay(model)
    return score


def good_speller(make: Callable[[int], Transformer], *, seed: int, progress: Progress) -> Transformer:
    """A model of the judge's own, trained to spell well; a training that goes astray is done again.

    Args:
        make: gives it from a seed of its weights.
    """
    for attempt in range(ATTEMPTS):
        model = make((seed + attempt * STRIDE) % 2**31)
        if train_model(model, seed=seed, progress=progress).share >= GOOD:
            break
    return model


def _watched(model: Transformer) -> list[tuple[str, SpotChecked]]:
    return [(name, module) for name, module in model.named_modules() if isinstance(module, SpotChecked)]


def spelled(task: TaskData, texts: Sequence[str], rows: Sequence[Any]) -> Score:
    """The score of rows of token ids, one a text; what is missing counts as an empty answer."""
    answers = [row if isinstance(row, list) else [] for row in rows[: len(texts)]]
    answers += [[] for _ in range(len(texts) - len(answers))]
    pairs = zip(texts, answers, strict=True)
    return Score(tuple(Example(text, task.decode(row), task.answer(text)) for text, row in pairs))


def require_spelling(spell: Callable[[int], Score], seed: int) -> None:
    """Raise Failed unless a model that `spell` trains, from the seed that it is given, spells words backwards.

    A training goes astray now and then whatever the code in it: of the zoo's own, about one in a hundred ends below the
    bar. Then it is done again from other weights. Code that is wrong does not get over the bar from any.
    """
    score = spell(seed)
    for attempt in range(1, ATTEMPTS):
        if score.share >= BAR:
            break
        score = spell((seed + attempt * STRIDE) % 2**31)
    require(score)


def require(
    score: Score,
    bar: float = BAR,
    what: str = "A Transformer with your code in it was trained to spell words backwards",
) -> None:
    """Raise Failed, with some of the words, if too few are right."""
    if score.share >= bar:
        return
    wrong = [example for example in score.examples if not example.right][:5]
    width = max(len(example.text) for example in wrong)
    shown = "\n".join(f"  {e.text:<{width}}  expected {e.expected:<{width}}  got {e.got}" for e in wrong)
    raise Failed(
        f"{what}, and got {score.correct} of "
        f"{score.total} unseen words right; expected at least {bar:.0%}.\n{shown}"
    )
