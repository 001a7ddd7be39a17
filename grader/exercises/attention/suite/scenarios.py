"""The scenarios of the function and the class."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from grader.api import (
    Answer,
    Client,
    Draws,
    Grading,
    Scenario,
    Subject,
    Submission,
    additive,
    after_another_dtype,
    after_other_numbers,
    after_other_weights,
    after_training,
    beside_another,
    causal,
    drawn_rate,
    grading_of,
    only_form,
    traits_of,
    under_no_grad,
    with_dropped_gradients,
    with_fixed_inputs,
    with_zeros,
)
from grader.exercises.attention.reference import BASES, CLASS, FUNCTION, ROLES, namespace
from grader.exercises.attention.suite import questions as look
from grader.exercises.attention.suite.questions import Asking, Inputs, Question
from grader.exercises.attention.suite.stages import conclude, obvious

WIDTH, VALUE_WIDTH = 8, 6
LARGEST_MAP = 12
SENTENCES = 300  # on which shares are measured
SIZES = ((8, 2), (12, 3), (6, 1))  # d_model, num_heads
BACKWARD, FULLY, DROPS = "the backward pass", "a fully masked row", "dropout in train mode"
ONE_KEY = "one key, to which some queries may not attend"
Look = Callable[[Client, Question], Answer]


def _one(
    title: str, group: str, question: Question, *traits: str, see: Look = look.results, slack: float = 1.0
) -> Scenario:
    """One scenario, with the traits that its mask has."""
    component, mask = CLASS if question.heads else FUNCTION, question.mask
    found = {*traits}
    if mask is not None:
        found |= {"a bool mask" if mask.dtype == torch.bool else "an additive mask"}
        found |= {f"a {mask.dim()}-dimensional mask"} if question.heads else set()
    if question.inputs[0].size(-2) != question.inputs[1].size(-2):
        found.add("unequal lengths")
    ask, picture = Asking(question, see), _picture(question)
    return Scenario(title, component, group, ask, slack=slack, traits=frozenset(found), picture=picture)


def _picture(question: Question) -> str:
    """The first sentence's mask: a dot for what may not be attended to."""
    seen = question.shown
    if seen is None:
        return ""
    while seen.dim() > 2:
        seen = seen[0]
    if max(seen.shape) > LARGEST_MAP:
        return ""
    seen = seen.expand(question.inputs[0].size(-2), question.inputs[1].size(-2))
    rows = [" ".join("x" if cell else "." for cell in row) for row in seen.tolist()]
    return "\n".join(["the mask (rows: queries, columns: keys; x = may be attended to, . = may not)", *rows])


def _both(
    title: str, group: str, question: Question, *traits: str, see: Look = look.results
) -> list[Scenario]:
    """With a bool mask, and with the same mask as numbers."""
    assert question.mask is not None
    as_numbers = replace(question, mask=additive(question.mask))
    kinds = (("bool", question), ("additive", as_numbers))
    return [
        _one(f"{title} ({kind} mask)", group.replace("some", kind), one, *traits, see=see)
        for kind, one in kinds
    ]


def function_scenarios(draws: Draws) -> list[Scenario]:
    """Return the scenarios of the function, in the order of the tests."""
    makers = (_plain, _masks, _leaks, _empty_rows, _gradients, _dtypes, _state, _extremes, _without_a_batch)
    return [one for make in makers for one in make(draws)]


def _plain(draws: Draws) -> list[Scenario]:
    queries, keys = draws.integer(3, 4), draws.integer(5, 7)
    many = {
        "[batch, heads, length, head_dim] inputs of equal lengths": ((2, 3), 5, 5, WIDTH),
        f"{queries} queries and {keys} keys": ((2, 3), queries, keys, WIDTH),
        "a value that is narrower than the key": ((2, 3), 5, 5, VALUE_WIDTH),
        "[length, head_dim] inputs": ((), 4, 5, VALUE_WIDTH),
        "[batch, length, head_dim] inputs": ((3,), 4, 5, WIDTH),
        "five-dimensional inputs": ((2, 1, 3), 3, 4, WIDTH),
        "a single query, key and batch": ((1, 1), 1, 1, WIDTH),
        "a single query": ((2, 3), 1, keys, WIDTH),
    }
    made = []
    for title, (front, tq, tk, width) in many.items():
        traits = ["leading dimensions"] * (len(front) != 2)
        traits += ["a value of another width than the key"] * (width != WIDTH)
        asked = Question(draws.inputs(front, tq, tk, WIDTH, width))
        made.append(_one(title, "numbers", asked, *traits, see=look.plain))
    query, key, value = draws.inputs((2, 2), 4, 5, 4)
    large = Question(((query * 30).round(), (key * 30).round(), value))
    made.append(_one("scores of several hundred", "large scores", large, see=look.finite, slack=50.0))
    masked = Question(draws.inputs((2, 3), 4, 5, WIDTH), mask=draws.mask(2, 1, 4, 5))
    return [*made, *map(under_no_grad, _both("a mask [B, 1, Tq, Tk]", "numbers", masked))]


def _masks(draws: Draws) -> list[Scenario]:
    size, queries, keys = draws.integer(4, 5), 3, draws.integer(5, 6)
    shaped = {
        "a causal mask": (draws.inputs((2, 3), size, size, WIDTH), causal(size)),
        "a padding mask": (draws.inputs((3, 2), queries, keys, WIDTH), draws.padding(3, keys)),
        "a padding mask and equal lengths": (draws.inputs((3, 2), keys, keys, WIDTH), draws.padding(3, keys)),
        "a mask for each head": (draws.inputs((2, 3), queries, keys, WIDTH), draws.mask(2, 3, queries, keys)),
        "a mask for each sentence": (draws.inputs((2, 3), size, size, WIDTH), draws.mask(2, 1, size, size)),
        "[length, head_dim] inputs": (draws.inputs((), 4, 5, WIDTH), draws.mask(4, 5)),
        "[batch, length, head_dim] inputs": (draws.inputs((3,), 4, 5, WIDTH), draws.mask(3, 4, 5)),
    }
    made = []
    for title, (inputs, mask) in shaped.items():
        traits = ["leading dimensions"] * (inputs[0].dim() != 4)
        made += _both(title, "some masks", Question(inputs, mask), *traits)
    return made


def _without_a_batch(draws: Draws) -> list[Scenario]:
    """Masks of fewer dimensions than the scores, of which the last ones are meant."""
    for_heads = Question(draws.inputs((2, 3), 3, 5, WIDTH), draws.mask(3, 3, 5))
    return _both("a mask [H, Tq, Tk], the same for all sentences", "some masks", for_heads)


def _leaks(draws: Draws) -> list[Scenario]:
    query, key, value = draws.inputs((2, 2), 3, 5, WIDTH)
    mask = draws.closed(2, 2, 3, 5)
    key[..., 4, :] *= 1e3
    value[..., 4, :] *= 1e5
    huge = Question((query, key, value), mask)
    # Scores of few bits are exact in whatever order they are computed: one unit in the last place of others is 0.2.
    query, key, value = draws.inputs((1, 1), 2, 2, 4)
    query = query.abs().ceil().clamp(max=3)
    key[..., 0, :] = -(2.0**19)
    low = Question((query, key * 2, value), torch.tensor([[True, False], [True, False]]))
    return [
        *_both("huge numbers at masked positions", "leaks", huge),
        *_both("very low scores at the visible positions", "leaks", low),
    ]


def _empty_rows(draws: Draws) -> list[Scenario]:
    mask, inputs = draws.mask(2, 1, 4, 5), draws.inputs((2, 2), 4, 5, WIDTH)
    mask[0, :, 1] = False
    mask[1, :, 3] = False
    found = _with_empty_rows(Question(inputs, mask), draws.normal(2, 2, 4, WIDTH))
    lone = Question(draws.inputs((2, 2), 3, 1, WIDTH), _some_closed())
    return [*found, *_both(ONE_KEY, "empty rows", lone, FULLY, see=look.finite)]


def _some_closed() -> Tensor:
    """bool [B, 1, 1, 1]: the one key of the second sentence may not be attended to."""
    return torch.tensor([True, False]).view(2, 1, 1, 1)


def _with_empty_rows(asked: Question, cotangent: Tensor) -> list[Scenario]:
    title, backward = "a query that may attend to nothing", replace(asked, cotangent=cotangent)
    gradient = f"the gradient with {title}"
    return [
        *_both(title, "empty rows", asked, FULLY, see=look.finite),
        *_both(gradient, "empty rows", backward, FULLY, BACKWARD, see=look.finite_gradients),
    ]


def _gradients(draws: Draws) -> list[Scenario]:
    inputs, cotangent = draws.inputs((2, 3), 4, 6, WIDTH, VALUE_WIDTH), draws.normal(2, 3, 4, VALUE_WIDTH)
    return _with_gradients(Question(inputs, cotangent=cotangent), draws.mask(2, 1, 4, 6))


def _with_gradients(asked: Question, mask: Tensor) -> list[Scenario]:
    plain = _one("the gradient without a mask", "gradients", asked, BACKWARD, see=look.gradients)
    return [
        plain,
        *_both("the gradient", "gradients", replace(asked, mask=mask), BACKWARD, see=look.gradients),
    ]


def _dtypes(draws: Draws) -> list[Scenario]:
    return _in_dtypes(lambda: Question(draws.inputs((2, 3), 3, 5, WIDTH)), draws)


def _in_dtypes(make: Callable[[], Question], draws: Draws) -> list[Scenario]:
    made = []
    for dtype in (torch.float64, torch.bfloat16):
        title, asked = f"{str(dtype)[6:]} inputs", make()
        masked = replace(asked, mask=draws.mask(2, 1, 3, 5))
        scenarios = [
            _one(title, "dtypes", asked, title, see=look.typed),
            *_both(title, "dtypes", masked, title, see=look.typed),
        ]
        made += [replace(one, dtype=dtype) for one in scenarios]
    return made


def _state(draws: Draws) -> list[Scenario]:
    masked = Question(draws.inputs((2, 3), 3, 5, WIDTH), draws.mask(2, 1, 3, 5))
    own_size = Question(draws.inputs((2, 3), 4, 7, WIDTH), draws.mask(2, 1, 4, 7))
    return [
        *_in_turn(Question(draws.inputs((2, 3), 3, 5, WIDTH)), masked),
        after_another_dtype(_one("a mask, 4 queries and 7 keys", "state", own_size)),
    ]


def _in_turn(asked: Question, earlier: Question) -> list[Scenario]:
    return [
        _one("the same call twice", "state", asked, see=look.twice),
        _one("a call after one with a mask", "state", asked, "an earlier call", see=look.after(earlier)),
        after_other_numbers(_one("a mask", "state", earlier)),
    ]


def _extremes(draws: Draws) -> list[Scenario]:
    """Return scenarios that exceed limits which a submission may have built in."""
    queries, keys = draws.length(), draws.length()
    asked = {
        "many keys": Question(draws.inputs((1, 1), 2, draws.length(very=True), 4)),
        "many queries": Question(draws.inputs((1, 1), draws.length(very=True), 2, 4)),
        "many sentences": Question(draws.inputs((draws.length(), 2), 2, 3, 4)),
        "wide vectors": Question(draws.inputs((2, 2), 2, 3, draws.length())),
        "vectors of zeros": Question(_with_zeros(draws.inputs((2, 2), 4, 5, WIDTH))),
    }
    masked = Question(draws.inputs((1, 2), queries, keys, 4), draws.mask(1, 2, queries, keys))
    return _limits(asked, masked)


def _limits(asked: Mapping[str, Question], masked: Question) -> list[Scenario]:
    long = "a long sequence"
    many = ("many keys", "many queries")
    traits = {title: traits_of(long if title in many else title.partition(",")[0]) for title in asked}
    return [
        *(_one(title, "numbers", one, *traits[title], see=look.plain) for title, one in asked.items()),
        *_both("a long sequence", "some masks", masked, long),
    ]


def _with_zeros(inputs: Inputs) -> Inputs:
    """Some queries, keys and values are zeros, at different places."""
    query, key, value = (with_zeros(x, start) for start, x in enumerate(inputs))
    return query, key, value


class ClassMaker:
    """Makes what the class is asked."""

    def __init__(self, draws: Draws) -> None:
        self.draws = draws

    def question(self, inputs: Inputs, heads: int, mask: Tensor | None = None) -> Question:
        """A question with weights of its own."""
        width = inputs[0].size(-1)
        shapes: dict[str, tuple[int, ...]] = {f"{role}.weight": (width, width) for role in ROLES}
        shapes |= {f"{role}.bias": (width,) for role in ROLES}
        return Question(inputs, mask, heads, self.draws.weights(shapes))

    def all(self) -> list[Scenario]:
        """Everything, in the order of the tests."""
        makers = (
            self.parameters, self.plain, self.masks, self.leaks, self.empty_rows, self.gradients,
            self.dropout, self.dtypes, self.state, self.stages, self.extremes,
        )  # fmt: skip
        return [one for make in makers for one in make()]

    def parameters(self) -> list[Scenario]:
        made = []
        for width, heads in SIZES:
            asked = Question(Draws(width).inputs((2,), 3, 4, width), heads=heads)
            made.append(_one(f"d_model={width}, num_heads={heads}", "parameters", asked, see=look.registered))
        return made

    def plain(self) -> list[Scenario]:
        draws = self.draws
        same, other = draws.normal(2, 5, 8), draws.normal(2, 5, 8)
        many = {
            "self-attention": ((same, same, same), 2),
            "one tensor for keys and values": ((other, same, same), 2),
            "one tensor for queries and keys": ((other, other, same), 2),
            "one tensor for queries and values": ((other, same, other), 2),
            "three different inputs of equal length": (draws.inputs((3,), 4, 4, 8), 2),
            "cross-attention of 3 queries and 5 keys": (draws.inputs((2,), 3, 5, 12), 3),
            "cross-attention of 6 queries and 4 keys": (draws.inputs((2,), 6, 4, 8), 2),
            "one head": (draws.inputs((2,), 4, 4, 6), 1),
            "a batch of one and a length of one": (draws.inputs((1,), 1, 1, 8), 2),
        }
        traits = {"one head": "one head", "a batch of one and a length of one": "a length of one"}
        made = [
            _one(title, "numbers", self.question(*of), *filter(None, [traits.get(title, "")]), see=look.plain)
            for title, of in many.items()
        ]
        query, key, value = draws.inputs((2,), 4, 5, 8)
        large = self.question((query * 15, key * 15, value), 2)
        made.append(_one("scores of several hundred", "large scores", large, see=look.finite, slack=100.0))
        return made

    def masks(self) -> list[Scenario]:
        draws, size = self.draws, self.draws.integer(4, 6)
        shaped = {
            "a causal mask [T, T]": (draws.inputs((2,), size, size, 8), 2, causal(size)),
            "a causal mask [T, T], T heads and T sentences": (draws.inputs((3,), 3, 3, 12), 3, causal(3)),
            "a padding mask [B, 1, 1, Tk]": (draws.inputs((3,), 3, 5, 8), 2, draws.padding(3, 5)),
            "a padding mask [B, 1, 1, Tk] and equal lengths": (
                draws.inputs((3,), 5, 5, 12),
                3,
                draws.padding(3, 5),
            ),
            "a padding mask [B, 1, 1, Tk], one head": (draws.inputs((3,), 3, 5, 6), 1, draws.padding(3, 5)),
            "a mask [B, 1, Tq, Tk]": (draws.inputs((3,), 4, 4, 8), 2, draws.mask(3, 1, 4, 4)),
            "a mask [B, H, Tq, Tk]": (draws.inputs((2,), 3, 4, 12), 3, draws.mask(2, 3, 3, 4)),
        }
        return [one for title, of in shaped.items() for one in _both(title, "some masks", self.question(*of))]

    def leaks(self) -> list[Scenario]:
        query, key, value = self.draws.inputs((2,), 3, 5, 8)
        mask = self.draws.closed(2, 1, 3, 5)
        key[:, 4] *= 1e3
        value[:, 4] *= 1e4
        huge = self.question((query, key, value), 2, mask)
        return [
            *_both("huge numbers at masked positions", "leaks", huge),
            *_both("very low scores at the visible positions", "leaks", self.low_scores()),
        ]

    def low_scores(self) -> Question:
        """One visible key, which fits so badly that a weak fill value would beat it."""
        query, key, value = self.draws.inputs((1,), 2, 2, 8)
        # Scores of few bits are exact in whatever order they are computed: one unit in the last place of others is 0.2.
        query = query.abs().ceil().clamp(max=3)
        key[:, 0] = -(2.0**20)
        mask = torch.tensor([[True, False], [True, False]])
        return _transparent(self.question((query, key, value), 2, mask), *ROLES)

    def empty_rows(self) -> list[Scenario]:
        mask = self.draws.mask(2, 1, 4, 5)
        mask[0, :, 1] = False
        mask[1] = False
        asked = self.question(self.draws.inputs((2,), 4, 5, 8), 2, mask)
        found = _with_empty_rows(asked, self.draws.normal(2, 4, 8))
        lone = self.question(self.draws.inputs((2,), 3, 1, 8), 2, _some_closed())
        return [*found, *_both(ONE_KEY, "empty rows", lone, FULLY, see=look.finite)]

    def gradients(self) -> list[Scenario]:
        asked = self.question(self.draws.inputs((2,), 3, 5, 12), 3)
        asked = replace(asked, cotangent=self.draws.normal(2, 3, 12))
        made = _with_gradients(asked, self.draws.mask(2, 1, 3, 5))
        many = self.question(self.draws.inputs((2,), 3, self.draws.length(), 8), 2)
        many = replace(many, cotangent=self.draws.normal(2, 3, 8))
        trained, dropped = (replace(asked, training=True, dropout=rate) for rate in (0.0, 0.5))
        return [
            *made,
            _one("the gradient, many keys", "gradients", many, BACKWARD, see=look.gradients),
            _one("the weights that it starts with", "gradients", asked, see=look.first_gradients),
            with_fixed_inputs(_one("train mode", "gradients", trained, see=look.gradients)),
            with_dropped_gradients(_one("train mode", "gradients", dropped, see=look.results)),
        ]

    def dropout(self) -> list[Scenario]:
        draws = self.draws
        calm = replace(self.question(draws.inputs((2,), 4, 5, 8), 2), dropout=0.5)
        off = replace(self.question(draws.inputs((2,), 4, 5, 8), 2), training=True)
        x, _, _ = draws.inputs((2,), 4, 4, 8)
        itself = self.question((x, x, x), 2)
        # With identity matrices, column h*d + t of the output is head h's weight of key t. Queries are small: a weight
        # near 0 would be lost in the rounding of the others.
        query, key, _ = draws.inputs((SENTENCES,), 4, 4, 8)
        query = query / 16
        value = torch.eye(4, dtype=torch.float64).repeat(1, 2).expand(SENTENCES, 4, 8)
        four = _transparent(self.question((query, key, value), 2))
        few = (query[:24], key[:24], value[:24])
        masked = replace(four, inputs=few, mask=draws.mask(24, 1, 4, 4))
        mask = draws.mask(2, 1, 4, 5)
        mask[0, 0, 1] = False  # a query without a key
        closed = replace(self.question(draws.inputs((2,), 4, 5, 8), 2, mask), dropout=0.5, training=True)
        # One key has weight 1: its value comes through scaled, or not at all, whole head by whole head.
        query, key, value = draws.inputs((SENTENCES,), 4, 1, 8)
        one = _transparent(self.question((query, key, value.abs() + 0.5), 2))
        four, masked, one = (replace(some, dropout=0.25, training=True) for some in (four, masked, one))
        rate = drawn_rate(draws)
        without = look.as_without_dropout
        off_in_train = _one("train mode with dropout=0.0", "dropout", off, "train mode", see=without)
        return [
            _one("eval mode with dropout=0.5", "dropout in eval", calm, "dropout in eval mode", see=without),
            after_training(_one("eval mode with dropout=0.5", "dropout in eval", calm)),
            after_other_weights(_one("self-attention", "dropout in eval", itself)),
            under_no_grad(
                _one("self-attention", "dropout in eval", replace(itself, mask=draws.mask(2, 1, 4, 4)))
            ),
            off_in_train,
            beside_another(off_in_train, dropout=0.5),
            _one("train mode with dropout=0.25, four keys", "dropout", four, DROPS, see=look.dropped),
            _one("train mode with dropout=0.25, one key", "dropout", one, DROPS, see=look.dropped),
            _one(
                f"train mode with dropout={rate}",
                "dropout",
                replace(four, dropout=rate),
                DROPS,
                see=look.dropped,
            ),
            _one(
                "train mode with dropout and a mask", "dropout", masked, DROPS, see=look.closed_when_dropped
            ),
            only_form(_one("train mode with dropout", "dropout", closed)),
            only_form(_one("train mode with dropout", "dropout", replace(closed, mask=additive(mask)))),
            only_form(_one("train mode with dropout", "dtypes", closed), torch.bfloat16),
        ]

    def dtypes(self) -> list[Scenario]:
        return _in_dtypes(lambda: self.question(self.draws.inputs((2,), 3, 5, 8), 2), self.draws)

    def state(self) -> list[Scenario]:
        masked = self.question(self.draws.inputs((2,), 4, 5, 8), 2, self.draws.mask(2, 1, 4, 5))
        return _in_turn(self.question(self.draws.inputs((2,), 4, 5, 8), 2), masked)

    def extremes(self) -> list[Scenario]:
        """Return scenarios that exceed limits which a submission may have built in."""
        draws, (queries, keys) = self.draws, (self.draws.length(), self.draws.length())
        asked = {
            "many keys": self.question(draws.inputs((1,), 2, draws.length(very=True), 8), 2),
            "many queries": self.question(draws.inputs((1,), draws.length(very=True), 2, 8), 2),
            "many sentences": self.question(draws.inputs((draws.length(),), 2, 3, 6), 2),
            "wide vectors": self.question(draws.inputs((2,), 2, 3, 72), 9),
            "wide vectors, one head": self.question(draws.inputs((2,), 2, 3, draws.integer(66, 80)), 1),
            "vectors of zeros": self.question(_with_zeros(draws.inputs((2,), 4, 5, 8)), 2),
            "nothing but zeros": self.question((torch.zeros(2, 4, 8, dtype=torch.float64),) * 3, 2),
        }
        mask = draws.mask(1, 1, queries, keys)
        return _limits(asked, self.question(draws.inputs((1,), queries, keys, 8), 2, mask))

    def stages(self) -> list[Scenario]:
        """Return scenarios that no test runs; they locate mistakes that have no name."""
        draws = self.draws
        asked = self.question(draws.inputs((3,), 4, 4, 8), 2)
        key = draws.normal(2, 4, 8)
        value = torch.eye(4, dtype=torch.float64).repeat(1, 2).expand(2, 4, 8)
        shown = _transparent(self.question((draws.normal(2, 3, 8), key, value), 2))
        masked = replace(shown, mask=draws.mask(2, 1, 3, 4))
        return [
            _one("the other sentences of a batch changed", "stages", asked, see=look.others_changed),
            _one("query and key projections set to zero", "stages", asked, see=look.even),
            _one("values that spell the weights", "stages", shown, see=look.spelled),
            _one("values that spell the weights, masked", "stages", masked, see=look.spelled),
            _one("one position changed after the other", "stages", asked, see=look.influence),
        ]


def _transparent(asked: Question, *roles: str) -> Question:
    """Identity for value and output projection (or those of `roles`), no biases."""
    weights = {
        name: torch.eye(asked.width, dtype=w.dtype)
        if name.endswith("weight") and name.split(".")[0] in (roles or ("v", "out"))
        else torch.zeros_like(w)
        if name.endswith("bias")
        else w
        for name, w in asked.weights.items()
    }
    return replace(asked, weights=weights)


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them: the function's, then the class's."""
    return [*function_scenarios(Draws(seed)), *ClassMaker(Draws(seed + 1)).all()]


AXES = {
    "*weight": ("output feature", "input feature"),
    "*: weights": ("sentence", "head", "query", "key"),
    f"{FUNCTION}, *: gradient of [kv]*": ("sentence", "head", "key", "feature"),
    f"{FUNCTION}, *": ("sentence", "head", "query", "feature"),
    f"{CLASS}, *: gradient of [kv]*": ("sentence", "key", "feature"),
    f"{CLASS}, *": ("sentence", "query", "feature"),
}
SUBJECT = Subject(
    "attention",
    scenarios,
    BASES,
    namespace,
    conclude=conclude,
    obvious=obvious,
    builds_on={CLASS: FUNCTION},
    axes=AXES,
)


@cache
def sized(d_model: int, num_heads: int) -> Scenario:
    """One that shows where a class of these sizes keeps its weights."""
    maker = ClassMaker(Draws(0))
    asked = maker.question(maker.draws.inputs((2,), 3, 4, d_model), num_heads)
    return _one(f"d_model={d_model}, num_heads={num_heads}", "training", asked)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
