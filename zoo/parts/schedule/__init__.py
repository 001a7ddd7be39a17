"""The axis `schedule`: how the learning rate changes. Metadata only; each schedule is a file of its own."""

from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant

VARIANTS = (
    Variant(
        "schedule",
        "linear",
        "zoo.parts.schedule.linear:LinearSchedule",
        "a linear warm-up, then linear decay to 0",
        formula="(s + 1) / warmup, then (steps - s) / (steps - warmup)",
    ),
    Variant(
        "schedule",
        "noam",
        "zoo.parts.schedule.noam:NoamSchedule",
        "a linear warm-up, then decay with the inverse square root",
        formula="(s + 1) / warmup, then sqrt(warmup / (s + 1)); highest in the paper: (d_model warmup)^-0.5",
        paper="Vaswani et al. 2017, section 5.3, arXiv:1706.03762",
    ),
    Variant(
        "schedule",
        "cosine",
        "zoo.parts.schedule.cosine:CosineSchedule",
        "a linear warm-up, then cosine decay to a minimum",
        formula="(s + 1) / warmup, then floor + (1 - floor) (1 + cos(pi (s - warmup) / (steps - warmup))) / 2",
        paper="Loshchilov and Hutter 2017, section 3, arXiv:1608.03983",
        options=(Option("floor", float, 0.0, "share of the highest rate at the end", minimum=0, maximum=1),),
    ),
    Variant(
        "schedule",
        "constant",
        "zoo.parts.schedule.constant:ConstantSchedule",
        "a linear warm-up, then constant",
        formula="(s + 1) / warmup, then 1",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
