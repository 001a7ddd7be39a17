"""One submission's exam in attention: asks the cases, compares, and says what is wrong, by name."""

from __future__ import annotations

import math
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

import torch

from grader.core.explain import same_failure
from grader.core.failures import Failed, Named, Unexplained
from grader.core.submission import Instance, Submission, SubmissionError, tensors
from grader.engine import structure
from grader.engine.cases import Case, Observation
from grader.engine.compare import equal
from grader.engine.contrast import alike
from grader.engine.devices import check_devices
from grader.engine.diagnose import Diagnostician, Evidence, Explanation, differing, expected
from grader.engine.layout import Layout, find_layout
from grader.engine.mistakes import Mistake, Part
from grader.engine.properties import by_chance, conclude, nothing_usable, repeats
from grader.engine.subjects import CLASS, Subject, Submitted
from grader.engine.wording import CALLED, compared
from grader.exercises.attention.reference import ROLES, Steps

Shapes = Mapping[str, tuple[int, ...]]
CaseMaker = Callable[[int], list[Case]]
ClassCaseMaker = Callable[[int, Callable[[int, int], Shapes]], list[Case]]


def confirm(subject: Submitted, size: tuple[int, int], seed: int) -> None:
    """Where the weights of the class can be read in two ways, take the one that agrees with the reference.

    Args:
        subject: its layout of this size is changed.
        size: d_model, num_heads.
        seed: of inputs and weights.
    """
    first = subject.layouts[size]
    other = first.channels_first(size[1])
    if other is None:
        return
    draws = torch.Generator().manual_seed(seed)
    query, key, value = (torch.randn(2, 3, size[0], generator=draws, dtype=torch.float64) for _ in range(3))
    weights = {n: torch.randn(shape, generator=draws).double() for n, shape in first.shapes.items()}
    case = Case("which reading", "class", "layout", (query, key, value), weights=weights, heads=size[1])
    if not equal(case, expected(case), subject.run(case)):
        subject.layouts[size] = other
        if not equal(case, expected(case), subject.run(case)):
            subject.layouts[size] = first


class Exam:
    """Asks each case once, and diagnoses each part once, however many tests look at the answers.

    Args:
        submission: the code under test.
        seed: every random draw derives from it.
        function_cases, class_cases: make the cases.
        mistakes: the known mistakes.
    """

    def __init__(
        self,
        submission: Submission,
        seed: int,
        function_cases: CaseMaker,
        class_cases: ClassCaseMaker,
        mistakes: Sequence[Mistake[Steps]],
    ) -> None:
        self.subject, self.seed, self.mistakes = Submitted(submission), seed, mistakes
        self._makers = function_cases, class_cases
        self._cases: dict[Part, list[Case]] = {}
        self._got: dict[Case, Observation] = {}
        self._right: dict[Case, Observation] = {}
        self._explained: dict[Part, tuple[Evidence, list[Explanation]]] = {}

    def layout(self, d_model: int, num_heads: int) -> Layout:
        """Where the class keeps its weights, at one size. Raises SubmissionError."""
        size = (d_model, num_heads)
        if size not in self.subject.layouts:
            instance = self._construct(size)
            try:
                self.subject.layouts[size] = find_layout(instance, d_model, self.seed)
            finally:
                instance.close()
            confirm(self.subject, size, self.seed)
        return self.subject.layouts[size]

    def _construct(self, size: tuple[int, int]) -> Instance:
        try:
            return self.subject.submission.construct(CLASS, size)
        except SubmissionError as error:
            if error.kind == "exception":
                error.message += f"\n  when it was made as {CLASS}({size[0]}, {size[1]})"
            raise

    def cases(self, part: Part) -> list[Case]:
        """All cases of one part. The class is asked for its parameters first."""
        if part not in self._cases:
            function_cases, class_cases = self._makers
            if part == "function":
                self._cases[part] = function_cases(self.seed)
            else:
                self._cases[part] = class_cases(self.seed, lambda d, h: self.layout(d, h).shapes)
        return self._cases[part]

    def sizes(self) -> list[tuple[int, int]]:
        """The sizes (d_model, num_heads) in which the class is asked."""
        return list(dict.fromkeys((case.d_model, case.heads) for case in self.cases("class")))

    def got(self, case: Case) -> Observation:
        """The submission's answer."""
        if case not in self._got:
            self._got[case] = self.subject.run(case)
        return self._got[case]

    def right(self, case: Case) -> Observation:
        """The right answer."""
        if case not in self._right:
            self._right[case] = expected(case)
        return self._right[case]

    def check(self, part: Part, *groups: str, only: Callable[[Case, str], bool] | None = None) -> None:
        """Raise Failed if the submission is wrong in a case of these groups.

        Args:
            part: the function or the class.
            groups: which cases; all of them if none is given.
            only: which differences count, by case and name ("output", "form", "gradient of query").
        """
        wrong: list[tuple[Case, list[str]]] = []
        for case in self.cases(part):
            if not groups or case.group in groups:
                names = differing(case, self.right(case), self.got(case))
                names = [name for name in names if only is None or only(case, name)]
                if names:
                    wrong.append((case, names))
        if wrong:
            asked = sum(not groups or case.group in groups for case in self.cases(part))
            raise Unexplained(
                lambda deadline: self._failure(wrong, asked, self.explained(part, deadline)),
                lambda: self._failure(wrong, asked, None),
            )

    def check_alone(
        self,
        part: Part,
        *groups: str,
        holds: Callable[[Case, Subject], bool],
        only: Callable[[Case, str], bool] | None = None,
    ) -> None:
        """As `check`, but where plain numbers are wrong already, the property is judged by itself.

        Args:
            holds: whether the submission has the property in this case, whatever numbers it gives.
        """

        def counts(case: Case, name: str) -> bool:
            return (only is None or only(case, name)) and not (self._numbers_wrong(part) and kept(case))

        @cache
        def kept(case: Case) -> bool:
            return holds(case, self.subject)

        self.check(part, *groups, only=counts)

    def _numbers_wrong(self, part: Part) -> bool:
        return any(
            not equal(case, self.right(case), self.got(case))
            for case in self.cases(part)
            if case.group == "numbers"
        )

    def check_devices(self, part: Part) -> None:
        """Raise Failed if a tensor is made on a fixed device, with a mask."""
        case = next(case for case in self.cases(part) if case.group == "bool masks")
        what = f"{CALLED[part]}, {case.title}"
        if not check_devices(self.subject.submission, what, lambda: self.subject.run(case).form != "error"):
            self.check(part, case.group)

    def check_repeats(self, part: Part) -> None:
        """Raise Failed if the same call gives something else the second time."""
        first = self.cases(part)[0]
        if not repeats(first, self.subject):
            message = f"{CALLED[part]}, {first.title}: two equal calls gave different results."
            raise Unexplained(
                lambda deadline: Failed(
                    message, mistakes=[e.named for e in self.explained(part, deadline)[1]]
                ),
                lambda: Failed(message),
            )

    def _failure(
        self,
        wrong: list[tuple[Case, list[str]]],
        asked: int,
        explained: tuple[Evidence, list[Explanation]] | None,
    ) -> Exception:
        """What to say of cases that are wrong: a `Failed`, or the error that ended the first."""
        blamed: list[Explanation] = []
        if explained is not None:
            evidence, explanations = explained
            here = {i for i, case in enumerate(evidence.cases) if case in {w for w, _ in wrong}}
            blamed = [e for e in explanations if e.cases & here]
        named: list[Named] = []
        for explanation in blamed:
            if explanation.named.id not in {one.id for one in named}:
                named.append(explanation.named)
        first = self._got[wrong[0][0]].error
        if not named and first is not None:
            return first
        message, picture = compared(wrong[0][0], wrong[0][1], self.right(wrong[0][0]), self.got(wrong[0][0]))
        count = f"Wrong in {len(wrong)} of {asked} cases here." if asked > 1 else ""
        proof = [e.proof for e in blamed[:1] if e.proof]
        picture = next((e.picture for e in blamed if e.picture), picture)
        return Failed("\n".join(filter(None, [message, count, *proof])), mistakes=named, picture=picture)

    def explained(self, part: Part, deadline: float = math.inf) -> tuple[Evidence, list[Explanation]]:
        """All the evidence on one part, and the mistakes behind it."""
        if part not in self._explained:
            evidence = self._evidence(part)
            self._explained[part] = (evidence, self._explain(part, evidence, deadline))
        return self._explained[part]

    def _explain(self, part: Part, evidence: Evidence, deadline: float) -> list[Explanation]:
        if not evidence.deviating:
            return []
        if part == "class" and not self.layout(*self.sizes()[0]).parameters:
            unregistered = self._known(structure.NOT_REGISTERED)
            return [Explanation(unregistered, frozenset(evidence.deviating), "")]
        empty = nothing_usable(evidence)
        if empty is not None:
            return [empty]
        chance = by_chance(evidence, self.subject, self._known)
        if chance is not None:
            hidden = part == "class" and self._partly_unregistered()
            return [
                replace(chance, named=self._known(structure.NOT_REGISTERED), proof="") if hidden else chance
            ]
        known = [e.named.id for e in self.explained("function", deadline)[1]] if part == "class" else []
        # What is wrong with the function in a way nobody knows is most likely what is wrong with the class.
        thorough = all(name in {m.id for m in self.mistakes} for name in known)
        found = Diagnostician(
            evidence, self.mistakes, first=known, thorough=thorough, deadline=deadline
        ).explain()
        bare = any(evidence.cases[i].mask is None for i in evidence.deviating)  # else it is about masks
        if part == "class" and not found and bare and (odd := self._odd_structure()) is not None:
            return [Explanation(odd, frozenset(evidence.deviating), "")]
        left = [i for i in evidence.deviating if i not in {covered for e in found for covered in e.cases}]
        if part == "class" and self._function_is_wrong():
            return found + self._same_errors(evidence, left)
        return found + (conclude(evidence, left, self.subject, self._known) if left else [])

    def _same_errors(self, evidence: Evidence, left: list[int]) -> list[Explanation]:
        """The class calls the function: what raises at the same line there has the same name here."""
        function, explanations = self.explained("function")
        found = []
        for explanation in explanations:
            errors = [function.got[i].error for i in explanation.cases]
            causes = {same_failure(error) for error in errors if error is not None}
            here = [(i, evidence.got[i].error) for i in left]
            cases = frozenset(i for i, e in here if e is not None and same_failure(e) in causes)
            if cases:
                found.append(replace(explanation, cases=cases))
        return found

    def _partly_unregistered(self) -> bool:
        """Whether projections are missing among the parameters, though one object answers alike each time."""
        d_model, num_heads = size = self.sizes()[0]
        if all(f"{role}.weight" in self.layout(*size).shapes for role in ROLES):
            return False
        instance = self.subject.submission.construct(CLASS, (d_model, num_heads))
        try:
            instance.train(False)
            x = torch.randn(2, 3, d_model, generator=torch.Generator().manual_seed(self.seed))
            first, second = (tensors(instance.call((x, x, x)).value)[:1] for _ in range(2))
            return bool(first and second) and alike(first[0], second[0])
        except SubmissionError:
            return False
        finally:
            instance.close()

    def _odd_structure(self) -> Named | None:
        """A name for parameters that are not those of four projections."""
        for size in self.sizes():
            if structure.problem(self.layout(*size), *size):
                return structure.named(self.layout(*size), *size)
        return None

    def _known(self, name: str) -> Named:
        return next(mistake.named for mistake in self.mistakes if mistake.id == name)

    def _function_is_wrong(self) -> bool:
        return bool(self._evidence("function").deviating)

    def _evidence(self, part: Part) -> Evidence:
        """Every case's answer; up to the one, if any, that ends the worker."""
        cases, got = self.cases(part), []
        for case in cases:
            try:
                got.append(self.got(case))
            except SubmissionError as error:
                if error.kind in ("not_written", "missing"):
                    return Evidence(part, [], [], [])
                break
        cases = cases[: len(got)]
        return Evidence(part, cases, got, [self.right(case) for case in cases])


def is_shape(_case: Case, name: str) -> bool:
    """What came back, and its shape and dtype; not the numbers."""
    return name in ("form", "shape")


def is_gradient(_case: Case, name: str) -> bool:
    return name == "form" or name.startswith("gradient")


def is_result(_case: Case, name: str) -> bool:
    return name in ("form", "shape", "output", "weights")


_exams: weakref.WeakKeyDictionary[Submission, dict[int, Exam]] = weakref.WeakKeyDictionary()


def exam_of(submission: Submission, seed: int, make: Callable[[], Exam]) -> Exam:
    """The exam of this submission and seed: the same one for every test that asks."""
    exams = _exams.setdefault(submission, {})
    if seed not in exams:
        exams[seed] = make()
    return exams[seed]
