"""The rules of combination: which parts and sizes of a plan go together. Metadata only, no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from zoo.core.blueprint import Blueprint
from zoo.core.errors import CombinationError, unknown_name
from zoo.core.pattern import name_layers
from zoo.core.plan import Plan, make_plan
from zoo.core.registry import Registry

Rule = Callable[[Plan], str]
MOST_HEADS = 1024  # that are suggested


def heads_divide_width(plan: Plan) -> str:
    """d_model is divisible by num_heads: every head has the same whole width."""
    width, heads = plan.sizes.d_model, plan.sizes.num_heads
    if width % heads == 0 or all("head_dim" in one.options for one in plan.attentions.values()):
        return ""
    step, shared = width_multiple(plan), plan["attention"].options.get("num_kv_heads")
    shared = shared if isinstance(shared, int) else 1
    whole = [n for n in range(1, min(width, MOST_HEADS) + 1) if width % n == 0]
    fits = [n for n in whole if width // n % step == 0 and n % shared == 0]
    nearest = sorted(sorted(fits, key=lambda n: (abs(n - heads), n))[:3])
    lower = width - width % (heads * step)
    widths = [str(n) for n in (lower, lower + heads * step) if n > 0]
    ways = [f"num_heads {' or '.join(map(str, nearest))}"] * bool(nearest) + [
        f"d_model {' or '.join(widths)}"
    ]
    return f"d_model={width} is not divisible by num_heads={heads}. Use {', or '.join(ways)}."


def width_multiple(plan: Plan) -> int:
    """Return what the width of a head must be a multiple of, for attention and encoding."""
    return math.prod(int(plan[axis].capabilities["head_multiple"]) for axis in ("attention", "encoding"))


def one_vocabulary(plan: Plan) -> str:
    """A shared embedding table needs the same vocabulary for source and target."""
    sizes, embedding = plan.sizes, plan["embedding"].capabilities
    both = plan.has("decoder") and plan.has("encoder")
    shared = embedding["one_vocabulary"] and (both or (plan.has("encoder") and embedding["tied"]))
    if not shared or sizes.src_vocab == sizes.tgt_vocab:
        return ""
    return (
        f"embedding={plan['embedding'].name} keeps one table for both sides, but src_vocab={sizes.src_vocab} "
        f"and tgt_vocab={sizes.tgt_vocab}. Make them equal, or use embedding=scaled or embedding=unscaled."
    )


def head_width(plan: Plan) -> str:
    """head_dim is a multiple of what attention and encoding need; rotary encodings, for one, rotate pairs."""
    sizes = plan.sizes
    needed = width_multiple(plan)
    width, given = plan.head_dim, "head_dim" in plan["attention"].options
    if (sizes.d_model % sizes.num_heads and not given) or width % needed == 0:
        return ""
    who = " with ".join(
        f"{axis}={plan[axis].name}"
        for axis in ("attention", "encoding")
        if plan[axis].capabilities["head_multiple"] > 1
    )
    if given:
        more = -(-width // needed) * needed
        return f"{who} needs a head_dim that is a multiple of {needed}, got {width}. Use head_dim={more}."
    step = needed * sizes.num_heads
    return (
        f"{who} needs a head_dim that is a multiple of {needed}, but d_model={sizes.d_model} over num_heads="
        f"{sizes.num_heads} makes {width}. Use d_model={-(-sizes.d_model // step) * step}."
    )


def kv_heads(plan: Plan) -> str:
    """num_heads is divisible by num_kv_heads, so that all key and value heads serve equally many query heads."""
    heads, shared = plan.sizes.num_heads, plan["attention"].options.get("num_kv_heads")
    if not isinstance(shared, int) or heads % shared == 0:
        return ""
    fits = [n for n in range(1, min(heads, MOST_HEADS) + 1) if heads % n == 0]
    return (
        f"num_heads={heads} is not divisible by num_kv_heads={shared}. Use num_kv_heads "
        f"{' or '.join(map(str, fits))}."
    )


def mask_form(plan: Plan) -> str:
    """The attention accepts the model's masks, in the format of --mask or converted."""
    for role, attention in plan.attentions.items():
        if plan.mask_form(role) is None:
            names = dict.fromkeys(one.attentions[role].name for one, _ in plan.kinds)
            if len(names) > 1:
                return (
                    f"attention={' and '.join(names)} take no form of mask in common, to which mask="
                    f"{plan['mask'].name} can be converted. attention=eager takes bool and additive."
                )
            forms = attention.capabilities["mask_forms"]
            return (
                f"attention={attention.name} takes masks as {', '.join(forms) or 'nothing'}, to which "
                f"mask={plan['mask'].name} cannot be converted (see `zoo list mask`). "
                "attention=eager takes bool and additive."
            )
    return ""


def roles(plan: Plan) -> str:
    """The attention supports its roles in the model: self-attention, cross-attention, a causal mask."""
    attention, name = plan["attention"].capabilities, plan["attention"].name
    missing = [role for role, one in plan.attentions.items() if role not in one.capabilities["roles"]]
    if missing:
        return f"attention={name} cannot be used for {missing[0]}-attention. attention=eager can."
    if plan.has("decoder") and not attention["causal"]:
        return f"attention={name} cannot honour the causal mask of the decoder. attention=eager can."
    return ""


def causal_mask(plan: Plan) -> str:
    """A decoder needs a mask that hides later positions."""
    if not plan.has("decoder") or plan["masking"].capabilities["causal"]:
        return ""
    return (
        f"masking={plan['masking'].name} does not hide later positions, so the decoder would see the tokens that it is "
        "to predict. Use masking=full, or assembly=encoder, which has no decoder."
    )


def tied_table(plan: Plan) -> str:
    """A head can share only an embedding table that the model has."""
    embedding = plan["embedding"]
    if (
        plan.reads_images
        or plan.has("decoder")
        or not embedding.capabilities["tied"]
        or embedding.capabilities["one_vocabulary"]
    ):
        return ""
    return (
        f"embedding={embedding.name} shares the target's table with the head, and assembly={plan['assembly'].name} has "
        "no target side. Use embedding=three-way, whose one table is the source's too."
    )


def unused_decoding(plan: Plan) -> str:
    """A model that does not generate keeps the default decoding."""
    default = plan.registry.axis("decoding").default
    if plan.has("decoder") or plan["decoding"].name == default:
        return ""
    return (
        f"assembly={plan['assembly'].name} generates nothing, so decoding={plan['decoding'].name} would have no use. "
        f"Use decoding={default}, the default, or assembly=decoder or assembly=encoder-decoder, which generate."
    )


def positions(plan: Plan) -> str:
    """An encoding that acts inside self-attention needs an attention that supports it."""
    place = plan["encoding"].capabilities["acts_on"]
    if place == "embedding" or place in plan["attention"].capabilities["positions"]:
        return ""
    where = place.replace("-", " and ")
    good = next(
        (v.name for v in plan.registry.variants("attention") if place in v.capabilities["positions"]), "eager"
    )
    return (
        f"encoding={plan['encoding'].name} acts on {where} inside self-attention, which attention="
        f"{plan['attention'].name} does not support. Use attention={good}, or encoding=sinusoidal, which acts "
        "on the embedding."
    )


def pattern_length(plan: Plan) -> str:
    """A choice per layer (NAME*3+NAME) has at most as many layers as each stack."""
    for axis, parts in plan.patterns.items():
        for stack, number in plan.num_layers.items():
            if number < len(parts):
                return (
                    f"{axis} has a choice for each of {len(parts)} layers, which is repeated, but the {stack} has only "
                    f"{number}. Use num_{stack}_layers={len(parts)} or more, or choices for at most {number} layers."
                )
    return ""


def encoding_per_layer(plan: Plan) -> str:
    """Only encodings that act inside the attention can differ between layers."""
    for part in plan.patterns.get("encoding", ()):
        if part.capabilities["acts_on"] == "embedding" and part.capabilities["positional"]:
            good = [
                one.name
                for one in plan.registry.variants("encoding")
                if one.capabilities["acts_on"] != "embedding" or not one.capabilities["positional"]
            ]
            return (
                f"encoding={part.name} acts on the embedding, once for all layers, so that layers cannot differ in it. "
                f"Use encoding={part.name} for all layers, or per layer {', '.join(good)}."
            )
    return ""


def patches(plan: Plan) -> str:
    """The image size is divisible by the patch size, and max_len is large enough for all patches."""
    size, patch = (plan["assembly"].options.get(name) for name in ("image_size", "patch_size"))
    if not plan.reads_images or not isinstance(size, int) or not isinstance(patch, int):
        return ""
    if size % patch:
        sizes = [n for n in (size - size % patch, size + patch - size % patch) if n]
        fits = sorted((n for n in range(1, size + 1) if size % n == 0), key=lambda n: abs(n - patch))[:3]
        return (
            f"image_size={size} is not divisible by patch_size={patch}. Use image_size={' or '.join(map(str, sizes))}, "
            f"or patch_size={' or '.join(map(str, sorted(fits)))}."
        )
    needed = (size // patch) ** 2 + (plan["assembly"].options.get("pool") == "class-token")
    if plan.sizes.max_len >= needed:
        return ""
    return (
        f"An image of {size} x {size} pixels has {(size // patch) ** 2} patches of {patch} x {patch}, which take "
        f"{needed} positions, over max_len={plan.sizes.max_len}. Use max_len={needed} or larger patches."
    )


def unused_by_images(plan: Plan) -> str:
    """A model of images keeps the defaults for tokens: embedding and masking."""
    if not plan.reads_images:
        return ""
    for axis in ("embedding", "masking"):
        default = plan.registry.axis(axis).default
        if plan[axis].name != default:
            return (
                f"assembly={plan['assembly'].name} reads images, so {axis}={plan[axis].name} would have no use. Use "
                f"{axis}={default}, the default, or assembly=encoder, which reads tokens."
            )
    return ""


def loss_and_head(plan: Plan) -> str:
    """The loss takes what the head gives: logits, or log-probabilities."""
    given, taken = plan["head"].capabilities["output"], plan["loss"].capabilities["takes"]
    if given == taken:
        return ""
    head = next((v.name for v in plan.registry.variants("head") if v.capabilities["output"] == taken), "")
    loss = next((v.name for v in plan.registry.variants("loss") if v.capabilities["takes"] == given), "")
    ways = [f"head={head}"] * bool(head) + [f"loss={loss}"] * bool(loss)
    why = {
        ("logits", "log-probs"): "the loss is unbounded below, so nothing would be learned",
        ("log-probs", "logits"): "the softmax would be applied twice",
        ("probs", "log-probs"): "there would be next to no gradient, and training would stay on a plateau",
        ("probs", "logits"): "there would be next to no gradient, and training would stay on a plateau",
    }.get((given, taken), "they do not fit")
    return (
        f"loss={plan['loss'].name} takes {taken}, but head={plan['head'].name} gives {given}: {why}. "
        f"Use {' or '.join(ways)}."
    )


def length(plan: Plan) -> str:
    """max_len is at most what the attention supports."""
    limit = plan["attention"].capabilities["max_length"]
    if limit is None or plan.sizes.max_len <= limit:
        return ""
    return (
        f"attention={plan['attention'].name} takes at most {limit} positions, but "
        f"max_len={plan.sizes.max_len}. Use max_len={limit} or less."
    )


RULES: tuple[Rule, ...] = (
    heads_divide_width,
    head_width,
    kv_heads,
    one_vocabulary,
    mask_form,
    roles,
    causal_mask,
    positions,
    loss_and_head,
    length,
    tied_table,
    unused_decoding,
    pattern_length,
    encoding_per_layer,
    patches,
    unused_by_images,
)
WHOLE: tuple[Rule, ...] = (mask_form, pattern_length, encoding_per_layer)
"""Rules about all layers together; each of the others is checked for each kind of layer separately."""


def problems(plan: Plan) -> dict[str, str]:
    """The rules that `plan` breaks: name of the rule -> why, and what would work."""
    found = {rule.__name__.replace("_", "-"): _broken(rule, plan) for rule in RULES}
    return {name: sentence for name, sentence in found.items() if sentence}


def _broken(rule: Rule, plan: Plan) -> str:
    """Why `rule` is broken, and in which layers, where they differ."""
    if rule in WHOLE or not plan.patterns:
        return rule(plan)
    layers: dict[str, list[int]] = {}
    for kind, numbers in plan.kinds:
        layers.setdefault(rule(kind), []).extend(number + 1 for number in numbers)
    if len(layers) == 1:
        return next(iter(layers))
    return " ".join(
        f"In {name_layers(sorted(numbers))}: {sentence}" for sentence, numbers in layers.items() if sentence
    )


def check(plan: Plan, allow: Collection[str] = ()) -> None:
    """Raises CombinationError with the name of each broken rule, the reason, and what would work.

    Rules named in `allow` may be broken. Raises UnknownNameError if it names none.
    """
    known = [rule.__name__.replace("_", "-") for rule in RULES]
    allow = [allow] if isinstance(allow, str) else allow
    for name in allow:
        if name not in known:
            raise unknown_name("rule", name, known)
    broken = {name: why for name, why in problems(plan).items() if name not in allow}
    if broken:
        raise CombinationError("\n".join(f"{sentence} (rule {name})" for name, sentence in broken.items()))


def checked_plan(blueprint: Blueprint, registry: Registry | None = None, allow: Collection[str] = ()) -> Plan:
    """The plan of `blueprint`, if it breaks no rule but those in `allow`. Raises as `make_plan` and `check` do."""
    plan = make_plan(blueprint, registry)
    check(plan, allow)
    return plan
