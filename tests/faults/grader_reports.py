"""Faults in `grader/reports`, `grader/learner`, `grader/author`, `grader/catalog` and `grader/cli`."""

from __future__ import annotations

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "reports-junit-skipped-miscounted",
        "grader/reports/junit.py",
        'skipped=str(counts["skipped"])',
        'skipped=str(counts["error"])',
        "JUnit reports count errors as skipped tests",
    ),
    Fault(
        "reports-gradescope-tells-points",
        "grader/reports/gradescope.py",
        '(points if self._visibility == "visible" else " was graded.")',
        "points",
        "a student sees the points before they are published",
    ),
    Fault(
        "reports-markdown-fence-broken",
        "grader/reports/markdown.py",
        "max(3, longest + 1)",
        "max(3, longest)",
        "a submission's message can end the code block of a report",
    ),
    Fault(
        "reports-classroom-commands-obeyed",
        "grader/core/results.py",
        '(##)(?=\\[)", re.MULTILINE)',
        '(##)(?=\\[)")',
        "a workflow command in the second line of a message is obeyed",
    ),
    Fault(
        "reports-exercism-refusal-as-failure",
        "grader/reports/exercism.py",
        'first.name in ("load", "rules")',
        'first.name == "load"',
        "a file refused by --strict is reported as a failed test",
    ),
    Fault(
        "learner-record-drops-unknown",
        "grader/learner/record.py",
        "            *self.more,\n",
        "",
        "what a newer version wrote into the progress file is lost",
    ),
    Fault(
        "learner-solved-forgotten",
        "grader/learner/grading.py",
        '    if entry.state == "solved":\n        return found\n',
        "",
        "a failed grade takes back that an exercise was solved",
    ),
    Fault(
        "learner-quick-grade-solves",
        "grader/learner/grading.py",
        "    if grade.selection:\n",
        "    if False:\n",
        "a grade without the training test solves an exercise",
    ),
    Fault(
        "learner-hint-repeated",
        "grader/learner/hints.py",
        "if one.level > entry.hints.get(one.about, 0)",
        "if one.level >= entry.hints.get(one.about, 0)",
        "`zoo hint` repeats the last hint for ever",
    ),
    Fault(
        "learner-mode-lost",
        "grader/learner/files.py",
        "            shutil.copymode(path, written)\n",
        "            pass\n",
        "a file that is replaced loses its permissions",
    ),
    Fault(
        "catalog-exercise-replaced",
        "grader/catalog.py",
        "        if exercise.name in found:\n",
        "        if exercise.package in found:\n",
        "a plugin's exercise silently replaces one of the same name",
    ),
    Fault(
        "catalog-mistakes-of-all-exercises",
        "grader/catalog.py",
        "for collection in offered if collection.exercise == exercise for one in",
        "for collection in offered for one in",
        "a plugin's mistakes are looked for in every exercise",
    ),
    Fault(
        "grader-cli-failure-exits-zero",
        "grader/cli/grade.py",
        "return all(one.passed for one in grades)",
        "return any(one.passed for one in grades)",
        "one good file among several makes the exit code 0",
    ),
    Fault(
        "grader-cli-quick-keeps-training",
        "grader/cli/grade.py",
        '[*skip, *(["training"] if self.quick else [])]',
        '[*skip, *(["training"] if self.quick and not only else [])]',
        "--quick with --only runs the training test",
    ),
    Fault(
        "grader-cli-watch-regrades-same-text",
        "grader/cli/watch.py",
        "            if content == self.contents.get(file):\n                continue\n",
        "",
        "saving a file without a change grades it again",
    ),
)
