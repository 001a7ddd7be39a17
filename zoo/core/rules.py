"""The rules of combination: which choices and sizes go together. Metadata only, no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from zoo.core.blueprint import Blueprint
from zoo.core.errors import CombinationError, unknown_name
from zoo.core.registry import Registry, Variant

Variants = Mapping[str, Variant]
Rule = Callable[[Blueprint, Variants, Registry], str]
MOST_HEADS = 1024  # that are suggested


def heads_divide_width(blueprint: Blueprint, variants: Variants, _registry: Registry) -> str:
    """d_model is divisible by num_heads: every head has the same whole width."""
    width, heads = blueprint.sizes.d_model, blueprint.sizes.num_heads
    if width % heads == 0:
        return ""
    step, shared = width_multiple(variants), blueprint["attention"].options.get("num_kv_heads")
    shared = shared if isinstance(shared, int) else 1
    whole = [n for n in range(1, min(width, MOST_HEADS) + 1) if width % n == 0]
    fits = [n for n in whole if width // n % step == 0 and n % shared == 0]
    nearest = sorted(sorted(fits, key=lambda n: (abs(n - heads), n))[:3])
    lower = width - width % (heads * step)
    widths = [str(n) for n in (lower, lower + heads * step) if n > 0]
    ways = [f"num_heads {' or '.join(map(str, nearest))}"] * bool(nearest) + [
        f"d_model {' or '.join(widths)}"
    ]
    return f"d_model={width} is not divisible by num_heads={heads}. Take {', or '.join(ways)}."


def width_multiple(variants: Variants) -> int:
    """What the width of a head must be a multiple of, for attention and encoding."""
    return math.prod(int(variants[axis].capabilities["head_multiple"]) for axis in ("attention", "encoding"))


def one_vocabulary(blueprint: Blueprint, variants: Variants, _registry: Registry) -> str:
    """A shared table needs the same vocabulary on both sides."""
    sizes = blueprint.sizes
    if not variants["embedding"].capabilities["one_vocabulary"] or sizes.src_vocab == sizes.tgt_vocab:
        return ""
    return (
        f"embedding={variants['embedding'].name} keeps one table for both sides, but src_vocab={sizes.src_vocab} "
        f"and tgt_vocab={sizes.tgt_vocab}. Make them equal, or take embedding=scaled or embedding=unscaled."
    )


def head_width(blueprint: Blueprint, variants: Variants, _registry: Registry) -> str:
    """The width of a head is a multiple of what attention and encoding need: pairs to turn, halves to part."""
    sizes = blueprint.sizes
    needed = width_multiple(variants)
    width = sizes.d_model // sizes.num_heads
    if sizes.d_model % sizes.num_heads or width % needed == 0:
        return ""
    who = " with ".join(
        f"{axis}={variants[axis].name}"
        for axis in ("attention", "encoding")
        if variants[axis].capabilities["head_multiple"] > 1
    )
    step = needed * sizes.num_heads
    return (
        f"{who} needs heads whose width is a multiple of {needed}, but d_model={sizes.d_model} over num_heads="
        f"{sizes.num_heads} makes {width}. Take d_model={-(-sizes.d_model // step) * step}."
    )


def kv_heads(blueprint: Blueprint, _variants: Variants, _registry: Registry) -> str:
    """num_heads is divisible by the number of key and value heads, so that each serves as many query heads."""
    heads, shared = blueprint.sizes.num_heads, blueprint["attention"].options.get("num_kv_heads")
    if not isinstance(shared, int) or heads % shared == 0:
        return ""
    fits = [n for n in range(1, min(heads, MOST_HEADS) + 1) if heads % n == 0]
    return (
        f"num_heads={heads} is not divisible by num_kv_heads={shared}. Take num_kv_heads "
        f"{' or '.join(map(str, fits))}."
    )


def mask_form(blueprint: Blueprint, variants: Variants, registry: Registry) -> str:
    """The attention takes masks in the form in which they travel, or in one they can be converted to."""
    for variant in (variants["attention"], cross_attention(blueprint, registry)[0]):
        if not mask_form_taken(blueprint, variant, registry):
            forms = variant.capabilities["mask_forms"]
            return (
                f"attention={variant.name} takes masks as {', '.join(forms) or 'nothing'}, and the zoo has no "
                f"such mask to convert mask={blueprint['mask'].name} to. `zoo list mask` shows what there is; "
                "attention=eager takes bool and additive."
            )
    return ""


def mask_form_taken(blueprint: Blueprint, attention: Variant, registry: Registry) -> str:
    """The form that an attention will be given: the travelling one if it takes it, else its first; "" if none."""
    known = {variant.name for variant in registry.variants("mask")}
    forms = [form for form in attention.capabilities["mask_forms"] if form in known]
    travelling = blueprint["mask"].name
    return travelling if travelling in forms else next(iter(forms), "")


def cross_attention(blueprint: Blueprint, registry: Registry) -> tuple[Variant, dict[str, Any]]:
    """The attention that stands between decoder and memory, and its options: the chosen one or its stand-in."""
    choice = blueprint["attention"]
    variant, _ = registry.resolve("attention", choice.name)
    if not variant.capabilities["cross"]:
        return variant, dict(choice.options)
    other = registry.get("attention", variant.capabilities["cross"])
    known = {option.name for option in other.options}
    return other, {name: value for name, value in choice.options.items() if name in known}


def roles(blueprint: Blueprint, variants: Variants, registry: Registry) -> str:
    """The attention can stand where the model puts it: self and cross, the decoder's under a causal mask."""
    attention, name = variants["attention"].capabilities, blueprint["attention"].name
    cross = cross_attention(blueprint, registry)[0].capabilities
    missing = [role for role, one in (("self", attention), ("cross", cross)) if role not in one["roles"]]
    if missing:
        return f"attention={name} cannot be used for {missing[0]}-attention. attention=eager can."
    if not attention["causal"]:
        return f"attention={name} cannot honour the causal mask of the decoder. attention=eager can."
    return ""


def positions(blueprint: Blueprint, variants: Variants, registry: Registry) -> str:
    """An encoding that acts inside the attention (self-attention, never cross) needs one that lets it."""
    place = variants["encoding"].capabilities["acts_on"]
    if place == "embedding" or place in variants["attention"].capabilities["positions"]:
        return ""
    where = place.replace("-", " and ")
    good = next(
        (v.name for v in registry.variants("attention") if place in v.capabilities["positions"]), "eager"
    )
    return (
        f"encoding={blueprint['encoding'].name} acts on {where} inside self-attention, which attention="
        f"{blueprint['attention'].name} does not let it. Take attention={good}, or encoding=sinusoidal, which acts "
        "on the embedding."
    )


def loss_and_head(blueprint: Blueprint, variants: Variants, registry: Registry) -> str:
    """The loss takes what the head gives: logits, or log-probabilities."""
    given, taken = variants["head"].capabilities["output"], variants["loss"].capabilities["takes"]
    if given == taken:
        return ""
    head = next((v.name for v in registry.variants("head") if v.capabilities["output"] == taken), "")
    loss = next((v.name for v in registry.variants("loss") if v.capabilities["takes"] == given), "")
    ways = [f"head={head}"] * bool(head) + [f"loss={loss}"] * bool(loss)
    why = {
        ("logits", "log-probs"): "the loss is unbounded below, so nothing would be learned",
        ("log-probs", "logits"): "the softmax would be taken twice, for nothing",
        ("probs", "log-probs"): "there would be next to no gradient, and training would stay on a plateau",
        ("probs", "logits"): "there would be next to no gradient, and training would stay on a plateau",
    }.get((given, taken), "they do not fit")
    return (
        f"loss={blueprint['loss'].name} takes {taken}, but head={blueprint['head'].name} gives {given}: {why}. "
        f"Take {' or '.join(ways)}."
    )


def cacheable(blueprint: Blueprint, registry: Registry) -> bool:
    """Whether decoding can keep keys and values: every part that the decoder is made of declares it, and no
    position sees what comes later, as it does where its whole row is hidden and filled."""
    variants = chosen_variants(blueprint, registry)
    chosen = (
        variants["attention"],
        cross_attention(blueprint, registry)[0],
        variants["encoding"],
        variants["norm"],
    )
    leaks = (
        variants["masking"].capabilities["blank_rows"]
        and not variants["attention"].capabilities["blanks_rows"]
    )
    return all(variant.capabilities["cacheable"] for variant in chosen) and not leaks


def packable(blueprint: Blueprint, registry: Registry) -> bool:
    """Whether padding can be left out of all but the attention: both attentions declare it, and the rest
    treats every position independently. A part from a user's own file is not asked to."""
    variants = chosen_variants(blueprint, registry)
    attentions = (variants["attention"], cross_attention(blueprint, registry)[0])
    able = all(one.capabilities["packs"] for one in attentions) and variants["norm"].capabilities["cacheable"]
    return able and not any(variant.is_file for variant in variants.values())


def length(blueprint: Blueprint, variants: Variants, _registry: Registry) -> str:
    """max_len is within what the attention takes."""
    limit = variants["attention"].capabilities["max_length"]
    if limit is None or blueprint.sizes.max_len <= limit:
        return ""
    return (
        f"attention={blueprint['attention'].name} takes at most {limit} positions, but "
        f"max_len={blueprint.sizes.max_len}. Take max_len={limit} or less."
    )


RULES: tuple[Rule, ...] = (
    heads_divide_width,
    head_width,
    kv_heads,
    one_vocabulary,
    mask_form,
    roles,
    positions,
    loss_and_head,
    length,
)


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


def check(blueprint: Blueprint, registry: Registry, allow: Collection[str] = ()) -> None:
    """Raises CombinationError with the name of each broken rule, the reason, and what would work.

    Rules named in `allow` may be broken. Raises UnknownNameError if it names none.
    """
    known = [rule.__name__.replace("_", "-") for rule in RULES]
    allow = [allow] if isinstance(allow, str) else allow
    for name in allow:
        if name not in known:
            raise unknown_name("rule", name, known)
    broken = {name: why for name, why in problems(blueprint, registry).items() if name not in allow}
    if broken:
        raise CombinationError("\n".join(f"{sentence} (rule {name})" for name, sentence in broken.items()))
