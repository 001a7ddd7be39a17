"""Mistakes in what is trained, in modes, dtypes and gradients."""

from __future__ import annotations

from dataclasses import replace

from torch.nn import functional as F

from grader.exercises.positions.mistakes.collection import PAPER, SUM, mistake
from grader.exercises.positions.reference import Steps


@mistake(
    "sinusoids-trained",
    "The sinusoids are a parameter, so training changes them. They must stay fixed: use a buffer, or "
    "compute them in each call.",
    formula=PAPER,
    hint="What does list(module.parameters()) give? See register_buffer.",
    source="ai.stackexchange 41367",
)
def sinusoids_trained(steps: Steps) -> Steps:
    return replace(steps, sinusoids_train=True)


@mistake(
    "learned-not-trained",
    "The learned positions are not trained: they are a buffer or a plain tensor, or do not require a "
    "gradient, and keep their random initial values.",
    formula="max_len x d_model trainable parameters",
    hint="What does list(module.parameters()) give? See nn.Parameter.",
    source=PAPER,
)
def learned_not_trained(steps: Steps) -> Steps:
    return replace(steps, learned_train=False)


@mistake(
    "table-dtype-stays",
    "The result is always float32, whatever the dtype of the input: the table is a plain attribute, which "
    "module.to(dtype) and module.to(device) do not convert, or is created in forward without the dtype of "
    "x.",
    formula="the result has the dtype and device of x",
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
    "Dropout is applied in train mode. Many models have a dropout after the positions; this exercise has "
    "none.",
    formula=SUM,
    hint="Call the module twice in train mode: the results must be equal.",
    source=PAPER,
)
def dropout_added(steps: Steps) -> list[Steps]:
    return [
        replace(steps, add=lambda x, rows, training: F.dropout(steps.add(x, rows, training), 0.1, training)),
        replace(steps, add=lambda x, rows, training: steps.add(x, F.dropout(rows, 0.1, training), training)),
    ]


@mistake(
    "input-detached",
    "No gradient flows back to x, so no layer before the positions can learn.",
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
    "No gradient flows back to the learned positions, so they keep their initial values.",
    formula=SUM,
    hint="Look for detach(), .data and torch.no_grad().",
)
def learned_detached(steps: Steps) -> Steps:
    return replace(steps, rows=lambda table, x: steps.rows(table, x).detach())
