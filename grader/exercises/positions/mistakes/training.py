"""Mistakes in what is trained, in modes, dtypes and gradients."""

from __future__ import annotations

from dataclasses import replace

from torch.nn import functional as F

from grader.exercises.positions.mistakes.collection import PAPER, SUM, mistake
from grader.exercises.positions.reference import Steps


@mistake(
    "sinusoids-trained",
    "The sinusoids are a parameter, so that training changes them. They are calculated, and stay as they are: a "
    "buffer, or made anew in each call.",
    formula=PAPER,
    hint="What does list(module.parameters()) give? See register_buffer.",
    source="ai.stackexchange 41367",
)
def sinusoids_trained(steps: Steps) -> Steps:
    return replace(steps, sinusoids_train=True)


@mistake(
    "learned-not-trained",
    "The learned positions are not trained: they are a buffer or a plain tensor, or do not require a gradient. They "
    "stay random for ever.",
    formula="max_len x d_model trained numbers",
    hint="What does list(module.parameters()) give? See nn.Parameter.",
    source=PAPER,
)
def learned_not_trained(steps: Steps) -> Steps:
    return replace(steps, learned_train=False)


@mistake(
    "table-dtype-stays",
    "The result is always float32, whatever the dtype of the input: the table is an ordinary attribute, which "
    "module.to(dtype) and module.to(device) do not convert, or is made in forward without the dtype of x.",
    formula="a component keeps its input's dtype and device",
    hint="See register_buffer.",
    source="mlverse/torch#1473",
)
def table_dtype_stays(steps: Steps) -> list[Steps]:
    return [
        replace(steps, dtype=lambda table, _x: table.float()),
        replace(steps, dtype=lambda table, _x: table),
    ]


@mistake(
    "dropout-added",
    "Something is dropped in train mode. Many models have a dropout after the positions; this component has none.",
    formula=SUM,
    hint="Call it twice in train mode: the results must be equal.",
    source=PAPER,
)
def dropout_added(steps: Steps) -> list[Steps]:
    return [
        replace(steps, add=lambda x, rows, training: F.dropout(steps.add(x, rows, training), 0.1, training)),
        replace(steps, add=lambda x, rows, training: steps.add(x, F.dropout(rows, 0.1, training), training)),
    ]


@mistake(
    "input-detached",
    "The gradient does not reach x: no layer before the positions can learn.",
    formula=SUM,
    hint="Look for detach(), .data and torch.no_grad().",
)
def input_detached(steps: Steps) -> list[Steps]:
    return [
        replace(steps, add=lambda x, rows, training: steps.add(x.detach(), rows, training)),
        replace(steps, add=lambda x, rows, training: steps.add(x, rows, training).detach()),
    ]


@mistake(
    "learned-detached",
    "The gradient does not reach the learned positions: they stay as they were at the start.",
    formula=SUM,
    hint="Look for detach(), .data and torch.no_grad().",
)
def learned_detached(steps: Steps) -> Steps:
    return replace(steps, rows=lambda table, x: steps.rows(table, x).detach())
