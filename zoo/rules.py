"""The rules of combination: which choices and sizes go together. Metadata only, no torch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from zoo.blueprint import Blueprint
from zoo.errors import CombinationError
from zoo.registry import Registry, Variant

Variants = Mapping[str, Variant]
Rule = Callable[[Blueprint, Variants, Registry], str]
MOST_HEADS = 1024  # that are suggested


def heads_divide_width(blueprint: Blueprint, _variants: Variants, _registry: Registry) -> str:
    """d_model is divisible by num_heads: every head has the same whole width."""
    width, heads = blueprint.sizes.d_model, blueprint.sizes.num_heads
    if width % heads == 0:
        return ""
    fits = sorted(
        (n for n in range(1, min(width, MOST_HEADS) + 1) if width % n == 0), key=lambda n: (abs(n - heads), n)
    )[:3]
    lower, upper = width - width % heads, width - width % heads + heads
    widths = " or ".join(str(n) for n in (lower, upper) if n > 0)
    return (
        f"d_model={width} is not divisible by num_heads={heads}. Take num_heads {' or '.join(map(str, sorted(fits)))}, "
        f"or d_model {widths}."
    )


def one_vocabulary(blueprint: Blueprint, variants: Variants, _registry: Registry) -> str:
    """A shared table needs the same vocabulary on both sides."""
    sizes = blueprint.sizes
    if not variants["embedding"].capabilities["one_vocabulary"] or sizes.src_vocab == sizes.tgt_vocab:
        return ""
    return (
        f"embedding={variants['embedding'].name} keeps one table for both sides, but src_vocab={sizes.src_vocab} "
        f"and tgt_vocab={sizes.tgt_vocab}. Make them equal, or take embedding=scaled or embedding=unscaled."
    )


def mask_form(blueprint: Blueprint, variants: Variants, registry: Registry) -> str:
    """The attention takes masks in the form in which they travel, or in one they can be converted to."""
    if mask_form_taken(blueprint, variants, registry):
        return ""
    forms = variants["attention"].capabilities["mask_forms"]
    return (
        f"attention={blueprint['attention'].name} takes masks as {', '.join(forms) or 'nothing'}, and the zoo has no "
        f"such mask to convert mask={blueprint['mask'].name} to. `zoo list mask` shows what there is; "
        "attention=eager takes bool and additive."
    )


def mask_form_taken(blueprint: Blueprint, variants: Variants, registry: Registry) -> str:
    """The form that the attention will be given: the travelling one if it takes it, else its first; "" if none."""
    known = {variant.name for variant in registry.variants("mask")}
    forms = [form for form in variants["attention"].capabilities["mask_forms"] if form in known]
    travelling = blueprint["mask"].name
    return travelling if travelling in forms else next(iter(forms), "")


def roles(blueprint: Blueprint, variants: Variants, _registry: Registry) -> str:
    """The attention can stand where the model puts it: self and cross, the decoder's under a causal mask."""
    attention, name = variants["attention"].capabilities, blueprint["attention"].name
    missing = [role for role in ("self", "cross") if role not in attention["roles"]]
    if missing:
        return f"attention={name} cannot be used for {missing[0]}-attention. attention=eager can."
    if not attention["causal"]:
        return f"attention={name} cannot honour the causal mask of the decoder. attention=eager can."
    return ""


def length(blueprint: Blueprint, variants: Variants, _registry: Registry) -> str:
    """max_len is within what the attention takes."""
    limit = variants["attention"].capabilities["max_length"]
    if limit is None or blueprint.sizes.max_len <= limit:
        return ""
    return (
        f"attention={blueprint['attention'].name} takes at most {limit} positions, but "
        f"max_len={blueprint.sizes.max_len}. Take max_len={limit} or less."
    )


RULES: tuple[Rule, ...] = (heads_divide_width, one_vocabulary, mask_form, roles, length)


def chosen_variants(blueprint: Blueprint, registry: Registry) -> dict[str, Variant]:
    """The variant behind each choice. Raises UnknownNameError, or ZooError for a file that is gone."""
    return {axis: registry.resolve(axis, choice.name)[0] for axis, choice in blueprint.choices.items()}


def problems(blueprint: Blueprint, registry: Registry) -> dict[str, str]:
    """The rules that `blueprint` breaks: name of the rule -> why, and what would work."""
    variants = chosen_variants(blueprint, registry)
    found: dict[str, Any] = {
        rule.__name__.replace("_", "-"): rule(blueprint, variants, registry) for rule in RULES
    }
    return {name: sentence for name, sentence in found.items() if sentence}


def check(blueprint: Blueprint, registry: Registry) -> None:
    """Raises CombinationError with the name of each broken rule, the reason, and what would work."""
    broken = problems(blueprint, registry)
    if broken:
        raise CombinationError("\n".join(f"{sentence} (rule {name})" for name, sentence in broken.items()))
