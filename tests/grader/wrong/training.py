"""Wrong training steps, rates and data as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

RIGHT = """
import torch
from torch.nn import functional as F


def noam(step, d_model, warmup):
    return d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def shift_right(target, sos=1):
    return torch.cat([torch.full_like(target[:, :1], sos), target[:, :-1]], dim=1)


def train_step(model, optimizer, src, tgt):
    model.train()
    optimizer.zero_grad()
    logits = model(src, shift_right(tgt))
    loss = F.cross_entropy(logits.transpose(1, 2), tgt, ignore_index=0)
    loss.backward()
    optimizer.step()
    return loss.item()


def reverse_words(words):
    src, tgt = [], []
    for word in words:
        ids = [ord(letter) - 94 for letter in word]
        src.append(torch.tensor(ids))
        tgt.append(torch.tensor(ids[::-1] + [2]))
    pad = torch.nn.utils.rnn.pad_sequence
    return pad(src, batch_first=True), pad(tgt, batch_first=True)
"""


def file(*changes: tuple[str, str]) -> str:
    """The right file with these lines changed."""
    text = RIGHT
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


LOSS = "F.cross_entropy(logits.transpose(1, 2), tgt, ignore_index=0)"

WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "steps from 0, the step without a shift": (
        frozenset({"step-off-by-one", "target-not-shifted"}),
        file(
            ("    return d_model", "    step = step - 1\n    return d_model"), ("shift_right(tgt))", "tgt)")
        ),
    ),
    "gradients of one group of parameters": (
        frozenset({"zero-grad-missing"}),
        file(
            (
                "optimizer.zero_grad()\n",
                "for one in optimizer.param_groups[0]['params']:\n        one.grad = None\n",
            )
        ),
    ),
    "max": (frozenset({"max-in-place-of-min"}), file(("min(step", "max(step"))),
    "square root of the width": (
        frozenset({"width-factor-wrong"}),
        file(("d_model ** -0.5", "d_model ** 0.5")),
    ),
    "constant after the warm-up": (
        frozenset({"decay-wrong"}),
        file(("step ** -0.5", "warmup ** -0.5")),
    ),
    "a rate of torch's": (
        frozenset({"rate-not-a-float"}),
        file(("return d_model ** -0.5 *", "return torch.tensor([d_model], dtype=torch.float64) ** -0.5 *")),
    ),
    "slices in place of the shift": (
        frozenset({"target-cut-in-place-of-shifted"}),
        file(("shift_right(tgt)", "tgt[:, :-1]"), ("transpose(1, 2), tgt,", "transpose(1, 2), tgt[:, 1:],")),
    ),
    "ignore_index of torch": (frozenset({"padding-in-the-loss"}), file((", ignore_index=0", ""))),
    "logits viewed": (
        frozenset({"logits-reshaped-wrongly"}),
        file(("logits.transpose(1, 2)", "logits.view(logits.size(0), logits.size(2), -1)")),
    ),
    "probabilities to cross_entropy": (
        frozenset({"softmax-twice"}),
        file(("shift_right(tgt))\n", "shift_right(tgt)).softmax(-1)\n")),
    ),
    "zero_grad forgotten": (frozenset({"zero-grad-missing"}), file(("    optimizer.zero_grad()\n", ""))),
    "zero_grad before the step": (
        frozenset({"nothing-learned"}),
        file(("    optimizer.step()", "    optimizer.zero_grad()\n    optimizer.step()")),
    ),
    "clipping, as everybody does": (
        frozenset({"gradients-clipped"}),
        file(
            (
                "    optimizer.step()",
                "    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()",
            )
        ),
    ),
    "the mode is not set": (frozenset({"train-mode-missing"}), file(("    model.train()\n", ""))),
    "the tensor of the loss": (frozenset({"loss-not-a-float"}), file(("loss.item()", "loss"))),
    "a sum over the batch": (
        frozenset({"loss-divided-wrongly"}),
        file((LOSS, LOSS[:-1] + ", reduction='sum') / src.size(0)")),
    ),
    "the padded tensor is flipped": (
        frozenset({"padding-reversed"}),
        file(
            (
                "    return pad(src",
                "    src = pad(src, batch_first=True)\n    end = torch.full((len(words), 1), 2)\n"
                "    return src, torch.cat([src.flip(1), end], 1)\n    return pad(src",
            ),
        ),
    ),
    "EOS is reversed too": (
        frozenset({"eos-first"}),
        file(("ids[::-1] + [2]", "(ids + [2])[::-1]")),
    ),
    "time first": (frozenset({"batch-second"}), file(("batch_first=True", "batch_first=False"))),
    "both as wide as the target": (
        frozenset({"rows-of-equal-width"}),
        """
import torch
from torch.nn import functional as F


def noam(step, d_model, warmup):
    return d_model ** -0.5 * min(step ** -0.5, step * warmup ** -1.5)


def train_step(model, optimizer, src, tgt):
    model.train()
    sos = torch.ones(tgt.size(0), 1, dtype=torch.long)
    logits = model(src, torch.cat([sos, tgt[:, :-1]], 1))
    loss = F.cross_entropy(logits.reshape(-1, logits.size(-1)), tgt.reshape(-1), ignore_index=0)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return float(loss)


def reverse_words(words):
    width = max(len(word) for word in words) + 1
    src = torch.zeros(len(words), width, dtype=torch.long)
    tgt = torch.zeros(len(words), width, dtype=torch.long)
    for i, word in enumerate(words):
        ids = torch.tensor([ord(letter) - ord("a") + 3 for letter in word])
        src[i, : len(word)] = ids
        tgt[i, : len(word)] = ids.flip(0)
        tgt[i, len(word)] = 2
    return src, tgt
""",
    ),
}
