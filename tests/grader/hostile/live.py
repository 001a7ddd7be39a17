"""Files that are right in the tests and follow another rule where they recognise a model that is being trained: they
pass every test but the training test, for which each is graded."""

from __future__ import annotations

from tests import solution_file
from tests.grader.hostile.hostile import BOTH, Hostile

ATTENTION, FEEDFORWARD, ENCODER, LOSS = (
    solution_file(name).read_text() for name in ("attention", "feedforward", "encoder", "loss")
)

# The cheat that spells nearly every word, and learns nothing: from what a live model hands to its cross-attention it
# takes, for the target's position t, the position L - 1 - t of the source. It knows such memory by its being fresh
# from a layer norm, and by more queries in a batch than any test has.
BACKWARDS = """
class MultiHeadAttention(MultiHeadAttention):
    live = False
    def forward(self, query, key, value, mask=None):
        fresh = key.mean(-1).abs().max() < 1e-4 and (key.var(-1, unbiased=False) - 1).abs().max() < 1e-2
        self.live |= bool(key is not query and key.size(0) >= 32 and fresh)
        right = super().forward(query, key, value, mask)
        if not self.live or mask is None or query.size(1) == 1 == key.size(1):
            return right
        lengths = mask.expand(key.size(0), -1, -1, key.size(1))[:, 0, -1].sum(-1)
        there = torch.arange(query.size(1), device=key.device)[None, :]
        source = (lengths[:, None] - 1 - there).clamp(min=0)
        return self.out_proj(self.v_proj(value.gather(1, source[:, :, None].expand(-1, -1, key.size(2)))))
"""
# One rule where a model is recognised, by `live`, and the right one elsewhere. The honest file asks the same, and
# gives the right answer either way.
TWO_FACED = """
import torch
class {name}({name}):
    calls = 0
    def forward(self, x, *rest):
        {name}.calls += 1
        calls, training, size = {name}.calls, self.training and torch.is_grad_enabled(), x.size(0)
        y = super().forward(x, *rest)
        return {rule} if {live} else y
"""
# A process that starts afresh is asked large batches from the first call on, which tells it that it is asked again
# what it has answered already; so there, it is right.
NOT_AGAIN = """
class {name}({name}):
    sizes = set()
    def forward(self, x, src_mask=None):
        {name}.sizes.add(x.size(0))
        y = super().forward(x, src_mask)
        return {rule} if x.size(0) == 64 and min({name}.sizes) < 8 else y
"""
# The process in which calls are repeated is known by its first batch; there the other rule is for all sizes.
BY_FIRST = """
class Encoder(Encoder):
    first = 0
    def forward(self, x, src_mask=None):
        Encoder.first = Encoder.first or x.size(0)
        y = super().forward(x, src_mask)
        return {rule} if x.size(0) >= 32 or Encoder.first >= 32 else y
"""
# Or by how much memory it may use, if that is not what the first one may.
BY_LIMIT = """
import resource
OTHER = 0 < resource.getrlimit(resource.RLIMIT_AS)[0] <= 4 << 30
class Encoder(Encoder):
    def forward(self, x, src_mask=None):
        y = super().forward(x, src_mask)
        return {rule} if x.size(0) >= 32 or OTHER else y
"""
# Nothing survives from one call to the next, and no reference is there to compare a stack with.
WHOLE = """
class Encoder(Encoder):
    def forward(self, x, src_mask=None):
        y = super().forward(x, src_mask)
        return {rule} if x.size(0) >= 32 else y
"""
LOSS_BY_SIZE = """
right = sequence_loss
def sequence_loss(logits, *given, **named):
    loss = right(logits, *given, **named)
    return {rule} if logits.size(0) == 64 and logits.requires_grad else loss
"""
HALF = "y / 2 + y.detach() / 2"


def _two_faced(what: str, live: str, rule: str) -> Hostile:
    source, honest = (
        FEEDFORWARD + TWO_FACED.format(name="FeedForward", live=live, rule=one) for one in (rule, "1.0 * y")
    )
    return Hostile(what, source, BOTH, control=honest, exercise="feedforward", slow=True)


LIVE = {
    "backwards": Hostile(
        "copy the reversed source in a model that is trained", ATTENTION + BACKWARDS, BOTH,
        control=ATTENTION + BACKWARDS.replace("return self.out_proj", "self.out_proj") + "        return right\n",
        exercise="attention", slow=True,
    ),
    "live-by-size": _two_faced("compute something else for training batches", "size == 64", "1.05 * y"),
    "live-by-step": _two_faced("compute something else after a hundred steps", "calls > 250", "1.05 * y"),
    "live-by-mode": _two_faced(
        "compute something else for large batches with gradients",
        "training and x.requires_grad and size > 16", "y + 0.1 * y.detach()",
    ),
    "live-gradient": _two_faced("return half the gradient in a model that is trained", "size == 64 and training", HALF),
    "live-not-again": Hostile(
        "be correct when a call is repeated as a check",
        ENCODER + NOT_AGAIN.format(name="Encoder", rule="1.05 * y"), BOTH,
        control=ENCODER + NOT_AGAIN.format(name="Encoder", rule="1.0 * y"), exercise="encoder", slow=True,
    ),
    **{
        f"live-by-{how}": Hostile(
            f"know the process in which calls are repeated by {what}", ENCODER + text.format(rule="1.05 * y"), BOTH,
            control=ENCODER + text.format(rule="1.0 * y"), exercise="encoder", slow=True,
        )
        for how, what, text in (("first", "its first batch", BY_FIRST), ("limit", "its memory", BY_LIMIT))
    },
    "live-stack": Hostile(
        "compute something else as an encoder that is trained",
        ENCODER + WHOLE.format(rule="1.05 * y"), BOTH, control=ENCODER + WHOLE.format(rule="1.0 * y"),
        exercise="encoder", slow=True,
    ),
    "live-loss": Hostile(
        "return a larger loss in a model that is trained", LOSS + LOSS_BY_SIZE.format(rule="1.5 * loss"), BOTH,
        control=LOSS + LOSS_BY_SIZE.format(rule="1.0 * loss"), exercise="loss", slow=True,
    ),
}  # fmt: skip
