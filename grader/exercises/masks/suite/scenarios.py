"""The scenarios of the four functions of masks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    ASKED_FOR,
    RESULT,
    Answer,
    Client,
    Draws,
    Grading,
    Scenario,
    Subject,
    Submission,
    after_other_numbers,
    grading_of,
)
from grader.exercises.masks.reference import REFERENCE, namespace

PADDING, CAUSAL, DECODER, ADDITIVE = "padding_mask", "causal_mask", "decoder_mask", "to_additive"
Ask = Callable[[Client], Answer]

# PAD is 0 here. Ids 1 and 2 (SOS, EOS) and the largest ones are among the tokens.
AT_THE_END = [[1, 5, 8, 4, 2, 0], [7, 2, 0, 0, 0, 0], [9, 3, 1, 6, 0, 0]]
ANYWHERE = [[0, 0, 5, 8, 2], [5, 0, 8, 0, 3], [0, 0, 0, 0, 0], [6, 1, 2, 9, 4], [3, 4, 9, 1, 0]]
SQUARE = [[5, 8, 0, 3], [0, 7, 2, 0], [1, 4, 6, 2], [9, 0, 0, 0]]
NONE = [[5, 8, 1, 2], [3, 9, 4, 6]]
# PAD is 7, and 0 an ordinary id.
SEVENS = [[0, 7, 9, 3, 7], [8, 0, 7, 7, 2], [7, 1, 0, 6, 9]]
FRESH = 23  # a size that no other scenario makes
MOST = 1024  # sentences with a table each: a submission may return as many as it likes
# Ids that are one in 8 or 16 bits, or in half precision; an ordinary vocabulary has them all.
LARGE = [[256, 4096, 4097, 4098, 0], [65536, 4097, 512, 40000, 40001]]


def described(answer: Mapping[str, Tensor | str]) -> Answer:
    """With shape and dtype in words, and a picture for each sentence."""
    output = answer.get("output")
    if not isinstance(output, Tensor):
        return answer
    facts: dict[str, Tensor | str] = {
        "shape": str(list(output.shape)),
        "dtype": str(output.dtype).removeprefix("torch."),
    }
    if output.dtype == torch.bool and output.dim() == 4 and output.numel() and output.size(0) <= MOST:
        if output.size(2) == 1:
            facts["keys"] = output[:, 0, 0]
        else:
            facts |= {f"allowed keys of sentence {n}": table for n, table in enumerate(output[:, 0], start=1)}
    return {**answer, **facts}


def _calling(name: str, *args: Any, **kwargs: Any) -> Ask:
    return lambda client: described(client.call(client.function(name), *args, **kwargs))


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    made: list[Scenario] = []
    for name in (PADDING, DECODER):
        made += _of_tokens(name, seed)
    return [*made, *_causal(seed), *_additive(seed)]


def _of_tokens(name: str, seed: int) -> list[Scenario]:
    draws = Draws(seed)
    length = Draws(seed).length(very=True) if name == PADDING else Draws(seed).integer(130, 200)
    long = torch.tensor([[draws.integer(0, 2) for _ in range(length)] for _ in range(2)])
    many = torch.tensor([[draws.integer(0, 2) for _ in range(3)] for _ in range(Draws(seed).length())])
    draws = Draws(seed)
    drawn = torch.tensor([[draws.integer(0, 4) for _ in range(7)] for _ in range(3)])
    pad = Draws(seed + 1).integer(8, 30_000)
    others = torch.tensor([[draws.integer(0, 99) for _ in range(6)] for _ in range(3)])
    plain = {
        "PAD at the end": (AT_THE_END, ()),
        "no PAD at all": (NONE, ()),
        "one sentence": ([[4, 2, 0]], ("a batch of one",)),
        "one token": ([[5], [0], [3]], ("a length of one",)),
        "nothing but PAD": ([[0, 0, 0], [0, 0, 0]], ()),
    }
    anywhere = {"PAD anywhere": ANYWHERE, "as many sentences as tokens": SQUARE, "ids drawn at random": drawn}
    other = {
        "pad=7": _calling(name, torch.tensor(SEVENS), pad=7),
        "pad=7, all by keyword": _calling(name, tokens=torch.tensor(SEVENS), pad=7),
        "pad=1": _calling(name, torch.tensor(AT_THE_END), pad=1),
        f"pad={pad}": _calling(name, others.masked_fill(others % 3 == 0, pad), pad=pad),
        "large ids": _calling(name, torch.tensor(LARGE), pad=4097),
        "large ids, PAD is 0": _calling(name, torch.tensor(LARGE)),
    }
    return [
        *(
            Scenario(title, name, "plain", _calling(name, torch.tensor(ids)), traits=frozenset(traits))
            for title, (ids, traits) in plain.items()
        ),
        *(
            Scenario(title, name, "anywhere", _calling(name, torch.as_tensor(ids)))
            for title, ids in anywhere.items()
        ),
        Scenario(
            "a long sequence", name, "anywhere", _calling(name, long), traits=frozenset({"a long sequence"})
        ),
        Scenario(
            "many sentences", name, "anywhere", _calling(name, many), traits=frozenset({"many sentences"})
        ),
        *(Scenario(title, name, "pad", ask) for title, ask in other.items()),
        after_other_numbers(
            Scenario("PAD anywhere", name, "anywhere", _calling(name, torch.tensor(ANYWHERE)))
        ),
    ]


def _on_the_device(client: Client) -> Answer:
    """Return whether the mask is made on the device that was asked for, told on a machine that has one device only.

    One of the same size was made before, on the usual device.
    """
    for device in (None, ASKED_FOR):
        client.submission.trace(True)
        try:
            answer = client.call(client.function(CAUSAL), FRESH, device=device)
        finally:
            crossings = client.submission.trace(False)
    made = "elsewhere" if RESULT in crossings else "there"
    return {"the mask is made": made, **({} if "output" in answer else answer)}


def _causal(seed: int) -> list[Scenario]:
    made = [
        Scenario(f"size {size}", CAUSAL, "plain", _calling(CAUSAL, size), traits=frozenset(traits))
        for size, traits in (
            (4, ()),
            (7, ("an odd size",)),
            (1, ("a length of one",)),
            (2, ()),
            (Draws(seed + 2).integer(20, 60), ()),
            (Draws(seed + 3).integer(100, 400), ("a long sequence",)),
            (Draws(seed).length(very=True), ("a long sequence",)),
        )
    ]
    return [
        *made,
        Scenario("size=3, device='cpu'", CAUSAL, "device", _calling(CAUSAL, size=3, device="cpu")),
        Scenario("a device of another name", CAUSAL, "device", _on_the_device),
    ]


def _additive(seed: int) -> list[Scenario]:
    draws = Draws(seed + 50)
    closed = draws.mask(3, 1, 4, 5)
    closed[1, 0, 2] = False
    masks = {
        "a mask [2, 1, 1, 6]": draws.mask(2, 1, 1, 6),
        "a row in which nothing is allowed": closed,
        "a mask [4, 4]": draws.mask(4, 4),
        "a mask [2, 3, 3, 5], one for each head": draws.mask(2, 3, 3, 5),
        "a mask for many sentences and keys": Draws(seed + 51).mask(draws.length(), 1, 1, 66),
        "a mask [5]": draws.mask(5),
        "a mask [2, 3, 4]": draws.mask(2, 3, 4),
        "nothing is allowed": torch.zeros(1, 1, 3, 3, dtype=torch.bool),
        "nothing is masked": torch.ones(1, 1, 3, 3, dtype=torch.bool),
    }
    plain = [Scenario(title, ADDITIVE, "plain", _calling(ADDITIVE, mask)) for title, mask in masks.items()]
    plain.append(after_other_numbers(plain[0]))
    mask = draws.mask(2, 1, 3, 4)
    dtypes = {
        torch.float64: _calling(ADDITIVE, mask, dtype=torch.float64),
        torch.bfloat16: _calling(ADDITIVE, mask=mask, dtype=torch.bfloat16),
    }
    half = {"": mask, ", a mask [4, 4]": draws.mask(4, 4), ", a mask [5]": draws.mask(5)}
    half |= {", a mask [2, 3, 4]": draws.mask(2, 3, 4), ", nothing is masked": masks["nothing is masked"]}
    return [
        *plain,
        *(
            Scenario(
                f"dtype=torch.float16{title}", ADDITIVE, "dtype", _calling(ADDITIVE, one, dtype=torch.float16)
            )
            for title, one in half.items()
        ),
        *(Scenario(f"dtype={dtype}", ADDITIVE, "dtype", ask, dtype=dtype) for dtype, ask in dtypes.items()),
    ]


AXES = {
    "padding_mask, *": ("sentence", "", "all queries", "key"),
    "causal_mask, *": ("", "", "query", "key"),
    "*": ("sentence", "", "query", "key"),
}
SUBJECT = Subject("masks", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
