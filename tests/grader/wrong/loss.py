"""Wrong losses as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

HEAD = """
import torch
from torch import nn
from torch.nn import functional as F
"""
SHIFT = """
def shift_right(target, sos=1):
    return torch.cat([torch.full_like(target[:, :1], sos), target[:, :-1]], dim=1)
"""
LOSS = """
def sequence_loss(logits, target, pad=0, smoothing=0.0):
    return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad, label_smoothing=smoothing)
"""


def shift(body: str) -> str:
    """A file with another shift_right."""
    return f"{HEAD}{LOSS}\ndef shift_right(target, sos=1):\n    {body}\n"


def loss(*body: str) -> str:
    """A file with another sequence_loss, line by line."""
    lines = "\n    ".join(body)
    return f"{HEAD}{SHIFT}\ndef sequence_loss(logits, target, pad=0, smoothing=0.0):\n    {lines}\n"


WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "shift: one token less": (frozenset({"input-shorter-than-target"}), shift("return target[:, :-1]")),
    "shift: to the left": (
        frozenset({"shifted-left"}),
        shift("return torch.cat([target[:, 1:], torch.zeros_like(target[:, :1])], dim=1)"),
    ),
    "shift: roll alone": (frozenset({"last-token-wraps"}), shift("return torch.roll(target, 1, dims=1)")),
    "shift: zeros that are floats": (
        frozenset({"ids-of-another-dtype"}),
        shift("return torch.cat([torch.ones(target.size(0), 1) * sos, target[:, :-1]], dim=1)"),
    ),
    "shift: in place": (
        frozenset({"argument-changed-in-place"}),
        shift("target[:, 1:] = target[:, :-1].clone()\n    target[:, 0] = sos\n    return target"),
    ),
    "shift: zeros_like as transformers has it, sos forgotten": (
        frozenset({"sos-missing"}),
        shift("out = torch.zeros_like(target)\n    out[:, 1:] = target[:, :-1]\n    return out"),
    ),
    "ignore_index forgotten": (
        frozenset({"pad-counted"}),
        loss(
            "V = logits.size(-1)",
            "return F.cross_entropy(logits.reshape(-1, V), target.reshape(-1), label_smoothing=smoothing)",
        ),
    ),
    "summed with padding, divided by the tokens": (
        frozenset({"pad-in-sum-only"}),
        loss(
            "each = F.cross_entropy(logits.mT, target, label_smoothing=smoothing, reduction='none')",
            "return each.sum() / (target != pad).sum()",
        ),
    ),
    "the count of the first sentence": (
        frozenset({"divided-by-all-places"}),
        loss(
            "logits, ids = logits.flatten(0, 1), target.flatten()",
            "total = F.cross_entropy(logits, ids, ignore_index=pad, label_smoothing=smoothing, reduction='sum')",
            "return total / max(1, (target[0] != pad).sum()) / target.size(0)",
        ),
    ),
    "softmax first": (
        frozenset({"softmax-before-cross-entropy"}),
        loss(
            "probs = F.softmax(logits, dim=-1)",
            "return F.cross_entropy(probs.transpose(1, 2), target, ignore_index=pad, label_smoothing=smoothing)",
        ),
    ),
    "view that only fits": (
        frozenset({"places-mixed-up", "needs-contiguous"}),
        loss(
            "B, L, V = logits.shape",
            "return F.cross_entropy(logits.reshape(B, V, L), target, ignore_index=pad, label_smoothing=smoothing)",
        ),
    ),
    "view": (
        frozenset({"needs-contiguous"}),
        loss(
            "V = logits.size(-1)",
            "return F.cross_entropy(logits.view(-1, V), target.view(-1), ignore_index=pad,",
            "                       label_smoothing=smoothing)",
        ),
    ),
    "masked sum, mean over all": (
        frozenset({"divided-by-all-places"}),
        loss(
            "each = F.cross_entropy(logits.transpose(1, 2), target, reduction='none', label_smoothing=smoothing)",
            "return (each * (target != pad)).mean()",
        ),
    ),
    "by sentences": (
        frozenset({"mean-of-sentence-means", "loss-of-another-dtype"}),
        loss(
            "each = F.cross_entropy(logits.transpose(1, 2), target, reduction='none', label_smoothing=smoothing)",
            "real = (target != pad).float()",
            "return ((each * real).sum(1) / real.sum(1).clamp(min=1)).mean()",
        ),
    ),
    "log of softmax by hand, smoothing forgotten": (
        frozenset({"logarithm-overflows", "smoothing-ignored"}),
        loss(
            "p = torch.exp(logits) / torch.exp(logits).sum(-1, keepdim=True)",
            "right = p.gather(-1, target.unsqueeze(-1)).squeeze(-1)",
            "real = target != pad",
            "return -torch.log(right)[real].mean()",
        ),
    ),
    "annotated transformer's smoothing": (
        frozenset({"smoothing-shares-differ", "divergence-for-cross-entropy"}),
        loss(
            "V = logits.size(-1)",
            "logp = F.log_softmax(logits, dim=-1)",
            "wanted = torch.full_like(logp, smoothing / (V - 2))",
            "wanted.scatter_(-1, target.unsqueeze(-1), 1.0 - smoothing)",
            "wanted[..., pad] = 0",
            "real = target != pad",
            "return -(wanted * logp).sum(-1)[real].mean()",
        ),
    ),
    "teacher's shift once more": (
        frozenset({"loss-shifts-again"}),
        loss(
            "logits, target = logits[:, :-1], target[:, 1:]",
            "V = logits.size(-1)",
            "return F.cross_entropy(logits.reshape(-1, V), target.reshape(-1), ignore_index=pad,",
            "                       label_smoothing=smoothing)",
        ),
    ),
    "item": (
        frozenset({"loss-without-gradient"}),
        loss(
            "return F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=pad,",
            "                       label_smoothing=smoothing).item()",
        ),
    ),
    "labels overwritten": (
        frozenset({"argument-changed-in-place"}),
        loss(
            "target[target == pad] = -100",
            "return F.cross_entropy(logits.flatten(0, 1), target.flatten(), label_smoothing=smoothing)",
        ),
    ),
}
