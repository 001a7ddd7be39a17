"""Properties of an attention's masks. A mask is made as `keep`: bool, True = may be attended to."""

from __future__ import annotations

import torch
from torch import Tensor

from zoo.analysis.checks.attention import BATCH, KEYS, QUERIES, each, inputs, leaves, masked, run
from zoo.analysis.checks.base import DoesNotApply, DoesNotHold, Properties
from zoo.analysis.checks.common import finite, same, tensor
from zoo.analysis.checks.part import Part

PROPERTIES = holds = Properties()


def queries_of(part: Part) -> int:
    """Return how many queries `inputs` makes."""
    return QUERIES if "cross" in part.can("roles") else KEYS


def padding() -> Tensor:
    """Each item of a batch hides other keys at the end: [B, 1, 1, Tk]."""
    return (torch.arange(KEYS) < torch.tensor([[KEYS], [KEYS - 1], [2]]))[:, None, None, :]


def some(part: Part) -> Tensor:
    """Every query of every item sees other keys, at least the first: [B, 1, Tq, Tk]."""
    keep = torch.rand(BATCH, 1, queries_of(part), KEYS) < 0.5
    keep[..., 0] = True
    return keep


def closed(part: Part) -> Tensor:
    """Like `some`, but all is hidden from a row of the first item, and from the last item: [B, 1, Tq, Tk]."""
    if not part.can("causal"):  # keys only
        return padding() & (torch.arange(BATCH) < BATCH - 1)[:, None, None, None]
    keep = some(part)
    keep[0, :, 1] = False
    keep[-1] = False
    return keep


def causal(length: int = KEYS) -> Tensor:
    """[1, 1, T, T]."""
    return torch.ones(length, length, dtype=torch.bool).tril()[None, None]


def _must_be_causal(part: Part) -> None:
    if not part.can("causal"):
        raise DoesNotApply("It declares that it honours no causal mask.")


@holds("a masked key has no effect")
def masked_key(part: Part) -> None:
    """However large what stands there is. In self-attention, at the other positions."""
    attention, given, keep = part.module().eval(), inputs(part), padding()
    hidden = ~keep[:, 0, 0, :, None]  # [B, Tk, 1]
    changed = each(given[1:], lambda x: torch.where(hidden, 1000 * torch.randn_like(x), x))
    in_self = given[0] is given[1]
    before = run(part, attention, given, keep)
    after = run(part, attention, [changed[0] if in_self else given[0], *changed], keep)
    if in_self:
        before, after = before.masked_fill(hidden, 0.0), after.masked_fill(hidden, 0.0)
    same(after, before, "Values at masked keys changed the output")


@holds("a query depends on unmasked keys only")
def masked_for_a_query(part: Part) -> None:
    """Every query with a mask of its own: the gradients at its hidden keys and values are 0."""
    _must_be_causal(part)
    attention, given, keep = part.module().eval(), leaves(inputs(part)), some(part)
    if given[0] is given[1]:
        keep = keep | torch.eye(KEYS, dtype=torch.bool)  # a position depends on itself, as a query
    out = run(part, attention, given, keep)
    sources = list({id(x): x for x in given[1:]}.values())
    for place in range(out.size(1)):
        hidden = ~keep[:, 0, place, :, None]  # [B, Tk, 1]
        for gradient in torch.autograd.grad(out[:, place].sum(), sources, retain_graph=True):
            if not torch.all(gradient.masked_select(hidden) == 0):
                raise DoesNotHold(f"Query {place} depends on keys or values that the mask hides from it.")


@holds("under a causal mask, depends on the past and not on the future")
def causality(part: Part) -> None:
    """In self-attention: a position depends on itself, on some earlier one, and on no later one."""
    _must_be_causal(part)
    if "self" not in part.can("roles"):
        raise DoesNotApply("It is not used for self-attention.")
    attention = part.module().eval()
    x = part.randn(BATCH, KEYS, part.sizes.d_model).requires_grad_()
    out = run(part, attention, [x, x, x], causal())
    for place in range(KEYS):
        (gradient,) = torch.autograd.grad(out[:, place].sum(), x, retain_graph=True)
        size = finite(gradient, f"The gradient of position {place}").abs().amax(-1)  # [B, T]
        if torch.any(size[:, place + 1 :] > 0):
            raise DoesNotHold(f"Position {place} depends on a later one.")
        if not torch.all(size[:, place] > 0):
            raise DoesNotHold(f"Position {place} does not depend on itself.")
        if place and not torch.all(size[:, :place].amax(-1) > 0):
            raise DoesNotHold(f"Position {place} depends on no earlier one.")


@holds("a mask has the same effect in every broadcast shape")
def broadcast(part: Part) -> None:
    """[1 or B, 1, 1 or Tq, Tk] and all of [B, H, Tq, Tk], and [Tq, Tk] where all items have one mask."""
    attention, given = part.module().eval(), inputs(part)
    whole = (BATCH, part.sizes.num_heads, queries_of(part), KEYS)
    for keep in (padding(), padding()[1:2], some(part))[: 3 if part.can("causal") else 2]:
        full = run(part, attention, given, keep.expand(whole).contiguous())
        short = run(part, attention, given, keep)
        same(
            short, full, f"A mask {list(keep.shape)} gives another result than the same mask as {list(whole)}"
        )
    if part.can("causal"):
        flat = some(part)[0, 0]  # [Tq, Tk]
        full = run(part, attention, given, flat.expand(whole))
        same(
            run(part, attention, given, flat),
            full,
            "A mask [Tq, Tk] gives another result than as [B, H, Tq, Tk]",
        )


@holds("a mask that hides nothing changes nothing")
def nothing_hidden(part: Part) -> None:
    """All open is what no mask is."""
    attention, given = part.module().eval(), inputs(part)
    keep = torch.ones(1, 1, 1, KEYS, dtype=torch.bool)
    same(
        run(part, attention, given, keep),
        run(part, attention, given),
        "A mask that hides nothing changed the output",
    )


@holds("every form of mask that it declares has the same effect")
def forms(part: Part) -> None:
    """Outputs and gradients, under masks by key, by query, and (if it blanks rows) of rows that see nothing."""
    first, *others = part.can("mask_forms")
    if not others:
        raise DoesNotApply(f"It takes masks as {first} only.")
    attention = part.module().eval()
    masks = [padding()]
    masks += [some(part)] * part.can("causal") + [closed(part)] * part.can("blanks_rows")
    for keep in masks:
        given = inputs(part)
        results = []
        for form in (first, *others):
            own = leaves(given)
            out = tensor(attention(*own, masked(part, keep, form)), part)
            results.append((out, torch.autograd.grad((out**2).sum(), own[0])[0]))
        for form, (out, gradient) in zip(others, results[1:], strict=True):
            same(out, results[0][0], f"A mask as {form} gives another output than as {first}")
            same(gradient, results[0][1], f"A mask as {form} gives other gradients than as {first}")


@holds("a fully masked row attends to nothing")
def blank_rows(part: Part) -> None:
    """Its output is one and the same whatever the input: that of heads which are 0. With gradients and without."""
    if not part.can("blanks_rows"):
        raise DoesNotApply("It declares blanks_rows=False.")
    attention, keep = part.module(), closed(part)
    blank = ~keep.any(-1)[:, 0].expand(BATCH, queries_of(part))  # [B, Tq]
    outs = []
    for mode in (True, False):
        attention.train(mode)
        with torch.set_grad_enabled(mode):
            outs += [run(part, attention, inputs(part), keep)[blank] for _ in range(2)]
    for out in outs:
        finite(out, "The output of a fully masked row")
        same(
            out,
            outs[0][:1].expand_as(out),
            "The output of a fully masked row depends on the input",
        )


@holds("outputs and gradients are finite whatever is masked")
def finite_everywhere(part: Part) -> None:
    """Also where rows, items or everything may attend to nothing."""
    attention = part.module()
    nothing = torch.zeros(1, 1, 1, KEYS, dtype=torch.bool)
    for form in part.can("mask_forms"):
        for keep in (padding(), closed(part), nothing):
            own = leaves(inputs(part))
            attention.zero_grad()
            out = tensor(attention(*own, masked(part, keep, form)), part)
            finite(out, f"Where rows may attend to nothing ({form} mask), the output")
            (out * torch.randn_like(out)).sum().backward()
            trained = ((name, p.grad) for name, p in attention.named_parameters())
            for name, gradient in [*trained, *(("the input", x.grad) for x in own)]:
                if gradient is not None:
                    finite(
                        gradient, f"Where rows may attend to nothing ({form} mask), the gradient of {name}"
                    )
