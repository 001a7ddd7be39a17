"""Mistakes in the table of sinusoids."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from grader.exercises.positions.mistakes.collection import PAPER, SINE, mistake
from grader.exercises.positions.reference import Steps, even

Frequencies = Callable[[int], Tensor]


def with_angles(steps: Steps, of_sines: Frequencies, of_cosines: Frequencies | None = None) -> Steps:
    """Other frequencies (of width D): the angle is t times it."""
    return replace(
        steps, angles=lambda t, d: (t * of_sines(d), t * (of_sines if of_cosines is None else of_cosines)(d))
    )


def powers(exponent: Frequencies, base: float = 10000.0) -> Frequencies:
    """base^-exponent."""
    return lambda d: base ** -exponent(d)


@mistake(
    "exponent-doubled",
    "The exponent is twice what it should be. A counter that steps by 2 is already the 2i of the formula; "
    "multiplied by 2 again, all frequencies but the first are too low.",
    formula=SINE,
    hint="For d_model = 4, what is the exponent of column 2? Print it.",
    source="SamLynnEvans/Transformer#25",
)
def exponent_doubled(steps: Steps) -> list[Steps]:
    return [
        with_angles(steps, powers(lambda d: 2 * even(d) / d)),
        with_angles(steps, powers(lambda d: even(d) / (d // 2) if d > 1 else even(d))),
    ]


@mistake(
    "exponent-halved",
    "The exponent is half of what it should be: i / d_model instead of 2i / d_model. (A base of 100 "
    "instead of 10000 gives the same result.) Most frequencies are then too high.",
    formula=SINE,
    hint="Does your counter count columns or pairs of columns?",
    source=PAPER,
)
def exponent_halved(steps: Steps) -> Steps:
    return with_angles(steps, powers(lambda d: even(d) / 2 / d))


@mistake(
    "cosine-exponent-of-its-own",
    "Each cosine uses the exponent of its own column. It must have the same frequency as the sine beside "
    "it, so that a shift by k positions is a rotation.",
    formula=SINE,
    hint="Column 2i+1 has 2i in its exponent.",
    source="SamLynnEvans/Transformer#25",
)
def cosine_exponent_of_its_own(steps: Steps) -> list[Steps]:
    single, double = powers(lambda d: even(d) / d), powers(lambda d: 2 * even(d) / d)
    return [
        with_angles(steps, single, powers(lambda d: (even(d) + 1) / d)),
        with_angles(steps, single, powers(lambda d: (even(d) + 2) / d)),
        with_angles(steps, double, powers(lambda d: 2 * (even(d) + 1) / d)),
        with_angles(steps, single, double),
        with_angles(steps, powers(lambda d: even(d) / 2 / d), powers(lambda d: (even(d) / 2 + 1) / d)),
    ]


@mistake(
    "multiplied-by-power",
    "The position is multiplied by 10000^(2i/d_model); it must be divided by it. The frequencies then grow "
    "from column to column instead of falling.",
    formula=SINE,
    hint="Is the exponent of exp negative, or is the power in the denominator?",
    source="harvardnlp/annotated-transformer#131",
)
def multiplied_by_power(steps: Steps) -> Steps:
    return with_angles(steps, powers(lambda d: -even(d) / d))


@mistake(
    "exponent-rounded",
    "The exponent is rounded: `//` is integer division. It also applies after the minus sign: -log(10000) "
    "/ d // 2 is -1 for most widths.",
    formula=SINE,
    hint="Print the exponents. Are some of them between 0 and 1?",
    source="zju3dv/LoFTR#41",
)
def exponent_rounded(steps: Steps) -> list[Steps]:
    return [
        with_angles(steps, powers(lambda d: even(d) // d)),
        with_angles(steps, lambda d: torch.exp(even(d) * (-math.log(10000.0) / d // 2))),
        with_angles(steps, lambda d: torch.exp(even(d) * (-math.log(10000.0) // d))),
    ]


@mistake(
    "base-wrong",
    "The base is not 10000: it is another number, or the logarithm is not the natural one (log10, log2), "
    "or missing.",
    formula=SINE,
    hint="exp(a * log(b)) is b^a only for the natural logarithm.",
    source=PAPER,
)
def base_wrong(steps: Steps) -> list[Steps]:
    # log2 and log10 in place of log: bases e^13.3 and e^4. A base of 100 is half the exponent, and has its name.
    logarithms = (math.exp(4.0), math.exp(math.log2(10000.0)))
    bases = (1000.0, 10.0, 100000.0, 500000.0, math.e, 2.0, *logarithms)
    return [with_angles(steps, powers(lambda d: even(d) / d, base)) for base in bases]


@mistake(
    "exponent-denominator-wrong",
    "The exponent is divided by something other than d_model: d_model - 1, d_model - 2, the number of "
    "pairs, or d_model rounded up to an even number.",
    formula=SINE,
    hint="d_model in the formula is the full width, odd or even.",
    source=PAPER,
)
def exponent_denominator_wrong(steps: Steps) -> list[Steps]:
    widths: tuple[Callable[[int], float], ...] = (
        lambda d: d - 1 or 1,
        lambda d: d - 2 if d > 2 else 1,
        lambda d: d + d % 2,
        lambda d: d - d % 2 or 1,
        lambda d: d + 1,
        lambda _d: 512,
    )
    return [with_angles(steps, powers(lambda d, w=w: even(d) / w(d))) for w in widths]  # type: ignore[misc]


@mistake(
    "halves-side-by-side",
    "All sines are in the first half of the columns and all cosines in the second; they must alternate: "
    "sine, cosine, sine, cosine. A model can learn from both, but weights of one give wrong results in the "
    "other.",
    formula=SINE,
    hint="Which columns are even? What do [:, 0::2] and [:, 1::2] select?",
    source="tensorflow/tensor2tensor#177",
)
def halves_side_by_side(steps: Steps) -> Steps:
    return replace(steps, waves=lambda a, b, d: torch.cat([a.sin(), b.cos()], -1)[:, :d])


@mistake(
    "sine-and-cosine-exchanged",
    "Sines and cosines are swapped: the even columns must be sines and the odd ones cosines.",
    formula=SINE,
    hint="Position 0 is 0, 1, 0, 1, ...",
    source=PAPER,
)
def sine_and_cosine_exchanged(steps: Steps) -> Steps:
    return replace(steps, waves=lambda a, b, d: torch.stack([b.cos(), a.sin()], -1).flatten(1)[:, :d])


@mistake(
    "sines-only",
    "All columns are sines (or all are cosines). Each sine needs its cosine, so that a shift by k "
    "positions is a rotation.",
    formula=SINE,
    hint="Position 0 is 0, 1, 0, 1, ...",
    source=PAPER,
)
def sines_only(steps: Steps) -> list[Steps]:
    return [
        replace(steps, waves=lambda a, b, d: torch.stack([a.sin(), b.sin()], -1).flatten(1)[:, :d]),
        replace(steps, waves=lambda a, b, d: torch.stack([a.cos(), b.cos()], -1).flatten(1)[:, :d]),
    ]


@mistake(
    "waves-turn-with-position",
    "Sine and cosine alternate from position to position; they must alternate from column to column.",
    formula=SINE,
    hint="Which index of the table is the position, and which the column?",
    source=PAPER,
)
def waves_turn_with_position(steps: Steps) -> Steps:
    def waves(of_sines: Tensor, of_cosines: Tensor, d_model: int) -> Tensor:
        table = torch.stack([of_sines, of_cosines], -1).flatten(1)[:, :d_model]
        odd = torch.arange(table.size(0)).unsqueeze(1) % 2 == 1
        return torch.where(odd, table.cos(), table.sin())

    return replace(steps, waves=waves)


@mistake(
    "odd-width-fails",
    "An odd d_model fails: there is one sine column more than there are cosine columns, so the cosines do "
    "not fit.",
    formula="ceil(d_model / 2) sines, floor(d_model / 2) cosines",
    hint="How many columns of 5 does [:, 1::2] select?",
    source="gc-os-ai/pyaptamer#527",
)
def odd_width_fails(steps: Steps) -> list[Steps]:
    def filled(of_sines: Tensor, of_cosines: Tensor, d_model: int) -> Tensor:
        table = torch.zeros(of_sines.size(0), d_model, dtype=of_sines.dtype)
        table[:, 0::2] = of_sines.sin()
        table[:, 1::2] = of_cosines.cos()
        return table

    def refused(of_sines: Tensor, of_cosines: Tensor, d_model: int) -> Tensor:
        if d_model % 2:
            raise ValueError("d_model must be even")
        return steps.waves(of_sines, of_cosines, d_model)

    def asserted(of_sines: Tensor, of_cosines: Tensor, d_model: int) -> Tensor:
        assert d_model % 2 == 0
        return steps.waves(of_sines, of_cosines, d_model)

    def wider(of_sines: Tensor, of_cosines: Tensor, d_model: int) -> Tensor:
        return steps.waves(of_sines, of_cosines, d_model + d_model % 2)

    return [replace(steps, waves=waves) for waves in (filled, refused, asserted, wider)]


@mistake(
    "odd-width-last-column",
    "With an odd d_model the last column is left empty; it must be a sine, without a cosine beside it.",
    formula="ceil(d_model / 2) sines, floor(d_model / 2) cosines",
    hint="How many sine columns are there for d_model = 5?",
    source=PAPER,
)
def odd_width_last_column(steps: Steps) -> Steps:
    def waves(of_sines: Tensor, of_cosines: Tensor, d_model: int) -> Tensor:
        table = steps.waves(of_sines, of_cosines, d_model).clone()
        if d_model % 2:
            table[:, -1] = 0
        return table

    return replace(steps, waves=waves)
