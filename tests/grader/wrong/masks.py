"""Wrong masks as beginners write them."""

from __future__ import annotations

from collections.abc import Mapping

RIGHT_PARTS = {
    "padding_mask": """
def padding_mask(tokens, pad=0):
    return (tokens != pad)[:, None, None, :]
""",
    "causal_mask": """
def causal_mask(size, device=None):
    return torch.ones(1, 1, size, size, dtype=torch.bool, device=device).tril()
""",
    "decoder_mask": """
def decoder_mask(tokens, pad=0):
    return causal_mask(tokens.size(1), tokens.device) & padding_mask(tokens, pad)
""",
    "to_additive": """
def to_additive(mask, dtype=torch.float32):
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(~mask, float("-inf"))
""",
}


def file(**changed: str) -> str:
    """A file in which these functions are written in another way."""
    return "import torch\n" + "".join({**RIGHT_PARTS, **changed}.values())


WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "all four the other way round": (
        frozenset(
            {
                "padding-inverted",
                "causal-inverted",
                "or-in-place-of-and",
                "joined-mask-inverted",
                "additive-inverted",
            }
        ),
        """
import torch

def padding_mask(tokens, pad=0):
    return (tokens == pad).unsqueeze(1).unsqueeze(2)

def causal_mask(size, device=None):
    return torch.triu(torch.ones(size, size, device=device), diagonal=1).bool()[None, None]

def decoder_mask(tokens, pad=0):
    return padding_mask(tokens, pad) | causal_mask(tokens.shape[1], tokens.device)

def to_additive(mask, dtype=torch.float32):
    return torch.zeros_like(mask, dtype=dtype).masked_fill(mask, float("-inf"))
""",
    ),
    "bentrevett's target mask, padding on the queries": (
        frozenset({"padding-on-query-axis"}),
        file(
            decoder_mask="""
def decoder_mask(tokens, pad=0):
    trg_pad_mask = (tokens != pad).unsqueeze(1).unsqueeze(3)
    trg_len = tokens.shape[1]
    trg_sub_mask = torch.tril(torch.ones((trg_len, trg_len), device=tokens.device)).bool()
    return trg_pad_mask & trg_sub_mask
"""
        ),
    ),
    "padding without the dimension of the heads": (
        frozenset({"mask-dimensions-wrong"}),
        file(padding_mask="\ndef padding_mask(tokens, pad=0):\n    return (tokens != pad).unsqueeze(1)\n"),
    ),
    "decoder joins by plus": (
        frozenset({"or-in-place-of-and"}),
        file(
            decoder_mask="""
def decoder_mask(tokens, pad=0):
    return causal_mask(tokens.size(1)) + padding_mask(tokens, pad)
"""
        ),
    ),
    "decoder forgets pad": (
        frozenset({"pad-argument-ignored"}),
        file(
            decoder_mask="""
def decoder_mask(tokens, pad=0):
    return torch.logical_and(causal_mask(tokens.size(1), tokens.device), padding_mask(tokens))
"""
        ),
    ),
    "annotated subsequent mask, no padding": (
        frozenset({"padding-missing"}),
        file(
            decoder_mask="""
def decoder_mask(tokens, pad=0):
    B, T = tokens.shape
    later = torch.triu(torch.ones(1, T, T), diagonal=1).type(torch.uint8)
    return (later == 0).expand(B, T, T).unsqueeze(1)
"""
        ),
    ),
    "minus a billion": (
        frozenset({"additive-large-negative"}),
        file(
            to_additive="""
def to_additive(mask, dtype=torch.float32):
    return (1.0 - mask.to(dtype)) * -1e9
"""
        ),
    ),
    "one minus mask times infinity": (
        frozenset({"additive-nan"}),
        file(
            to_additive="""
def to_additive(mask, dtype=torch.float32):
    return (1 - mask.to(dtype)) * float("-inf")
"""
        ),
    ),
    "dtype forgotten": (
        frozenset({"additive-dtype-ignored"}),
        file(
            to_additive="""
def to_additive(mask, dtype=torch.float32):
    return torch.where(mask, 0.0, float("-inf"))
"""
        ),
    ),
    "floats for bool": (
        frozenset({"mask-not-bool"}),
        file(
            causal_mask="""
def causal_mask(size, device=None):
    return torch.ones(1, 1, size, size, device=device).tril()
""",
            decoder_mask="""
def decoder_mask(tokens, pad=0):
    return causal_mask(tokens.size(1), tokens.device) * padding_mask(tokens, pad)
""",
        ),
    ),
    "strict triangle": (
        frozenset({"causal-hides-itself"}),
        file(
            causal_mask="""
def causal_mask(size, device=None):
    i = torch.arange(size, device=device)
    return (i[:, None] > i[None, :]).view(1, 1, size, size)
"""
        ),
    ),
    "device forgotten": (
        frozenset({"device-hard-coded"}),
        file(
            causal_mask="""
def causal_mask(size, device=None):
    return torch.tril(torch.ones(size, size)).bool()[None, None]
"""
        ),
    ),
    "lengths": (
        frozenset({"padding-only-at-end"}),
        file(
            padding_mask="""
def padding_mask(tokens, pad=0):
    lengths = (tokens != pad).sum(dim=1)
    mask = torch.zeros(tokens.shape, dtype=torch.bool)
    for b, n in enumerate(lengths.tolist()):
        mask[b, :n] = True
    return mask[:, None, None]
"""
        ),
    ),
    "diagonal kept against NaN": (
        frozenset({"own-position-always-open", "row-without-keys-opened"}),
        file(
            decoder_mask="""
def decoder_mask(tokens, pad=0):
    mask = causal_mask(tokens.size(1), tokens.device) & padding_mask(tokens, pad)
    eye = torch.eye(tokens.size(1), dtype=torch.bool, device=tokens.device)
    return mask | (eye & ~mask.any(-1, keepdim=True))
"""
        ),
    ),
}
