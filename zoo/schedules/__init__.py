"""The axis `schedule`: how the learning rate changes. Metadata only; each schedule is a file of its own."""

from zoo.hookspecs import hookimpl
from zoo.registry import Variant

VARIANTS = (
    Variant(
        "schedule",
        "linear",
        "zoo.schedules.linear:LinearSchedule",
        "a linear warm-up, then linear decay to 0",
        formula="(s + 1) / warmup, then (steps - s) / (steps - warmup)",
    ),
)


@hookimpl
def zoo_variants() -> tuple[Variant, ...]:
    return VARIANTS
