"""The rules of combination: which parts and sizes of a plan go together. Metadata only, no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

from zoo.core.errors import CombinationError, unknown_name
from zoo.core.plan import Plan

Rule = Callable[[Plan], str]
MOST_HEADS = 1024  # that are suggested


def heads_divide_width(plan: Plan) -> str:
    """d_model is divisible by num_heads: every head has the same whole width."""
    width, heads = plan.sizes.d_model, plan.sizes.num_heads
    if width % heads == 0:
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
    """A shared table needs the same vocabulary on both sides."""
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
    """The width of a head is a multiple of what attention and encoding need: pairs to turn, halves to part."""
    sizes = plan.sizes
    needed = width_multiple(plan)
    width = sizes.d_model // sizes.num_heads
    if sizes.d_model % sizes.num_heads or width % needed == 0:
        return ""
    who = " with ".join(
        f"{axis}={plan[axis].name}"
        for axis in ("attention", "encoding")
        if plan[axis].capabilities["head_multiple"] > 1
    )
    step = needed * sizes.num_heads
    return (
        f"{who} needs a head_dim that is a multiple of {needed}, but d_model={sizes.d_model} over num_heads="
        f"{sizes.num_heads} makes {width}. Use d_model={-(-sizes.d_model // step) * step}."
    )


def kv_heads(plan: Plan) -> str:
    """num_heads is divisible by the number of key and value heads, so that each serves as many query heads."""
    heads, shared = plan.sizes.num_heads, plan["attention"].options.get("num_kv_heads")
    if not isinstance(shared, int) or heads % shared == 0:
        return ""
    fits = [n for n in range(1, min(heads, MOST_HEADS) + 1) if heads % n == 0]
    return (
        f"num_heads={heads} is not divisible by num_kv_heads={shared}. Use num_kv_heads "
        f"{' or '.join(map(str, fits))}."
    )


def mask_form(plan: Plan) -> str:
    """The attention takes masks in the form in which they travel, or in one they can be converted to."""
    for attention in plan.attentions.values():
        if plan.mask_form(attention) is None:
            forms = attention.capabilities["mask_forms"]
            return (
                f"attention={attention.name} takes masks as {', '.join(forms) or 'nothing'}, to which "
                f"mask={plan['mask'].name} cannot be converted (see `zoo list mask`). "
                "attention=eager takes bool and additive."
            )
    return ""


def roles(plan: Plan) -> str:
    """The attention can stand where the model puts it: self and cross, the decoder's under a causal mask."""
    attention, name = plan["attention"].capabilities, plan["attention"].name
    missing = [role for role, one in plan.attentions.items() if role not in one.capabilities["roles"]]
    if missing:
        return f"attention={name} cannot be used for {missing[0]}-attention. attention=eager can."
    if plan.has("decoder") and not attention["causal"]:
        return f"attention={name} cannot honour the causal mask of the decoder. attention=eager can."
    return ""


def causal_mask(plan: Plan) -> str:
    """A decoder has a mask that hides what comes later."""
    if not plan.has("decoder") or plan["masking"].capabilities["causal"]:
        return ""
    return (
        f"masking={plan['masking'].name} does not hide later positions, so the decoder would see the tokens that it is "
        "to predict. Use masking=full, or assembly=encoder, which has no decoder."
    )


def tied_table(plan: Plan) -> str:
    """A head that shares a table shares one that the model embeds with."""
    embedding = plan["embedding"]
    if plan.has("decoder") or not embedding.capabilities["tied"] or embedding.capabilities["one_vocabulary"]:
        return ""
    return (
        f"embedding={embedding.name} shares the target's table with the head, and assembly={plan['assembly'].name} has "
        "no target side. Use embedding=three-way, whose one table is the source's too."
    )


def unused_decoding(plan: Plan) -> str:
    """Where nothing is generated, no decoding is chosen."""
    default = plan.registry.axis("decoding").default
    if plan.has("decoder") or plan["decoding"].name == default:
        return ""
    return (
        f"assembly={plan['assembly'].name} generates nothing, so decoding={plan['decoding'].name} would have no use. "
        f"Use decoding={default}, the default, or assembly=decoder or assembly=encoder-decoder, which generate."
    )


def positions(plan: Plan) -> str:
    """An encoding that acts inside the attention (self-attention, never cross) needs one that lets it."""
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
    """max_len is within what the attention takes."""
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
)


def problems(plan: Plan) -> dict[str, str]:
    """The rules that `plan` breaks: name of the rule -> why, and what would work."""
    found = {rule.__name__.replace("_", "-"): rule(plan) for rule in RULES}
    return {name: sentence for name, sentence in found.items() if sentence}


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
