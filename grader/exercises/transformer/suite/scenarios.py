"""The scenarios of `Transformer`.

The stacks are single layers of the judge's, which take masks in any form. Numbers that come out at PAD positions are
not compared, since some models set them to 0; what a query that is PAD looks at is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.api import (
    LAYER_SLACK,
    Answer,
    Client,
    Draws,
    Grading,
    Instance,
    Scenario,
    Subject,
    Submission,
    after_a_call,
    after_other_numbers,
    alike,
    beside_another,
    counted,
    grading_of,
    own_parameters,
    under_no_grad,
    weights_kept,
)
from grader.exercises.transformer.reference import REFERENCE, namespace, wanted
from grader.exercises.transformer.suite.looks import looks_of_decode, looks_of_encode

NAME = "Transformer"
MAX_LEN = 9
SPREAD = {"q": 0.35, "k": 0.35, "v": 0.6}  # of the weights
Ask = Callable[[Client], Answer]
Weights = dict[str, dict[str, Tensor]]


@dataclass(frozen=True)
class Size:
    """Of a model: unequal numbers, so that no two can be taken for each other."""

    d_model: int = 6
    src_vocab: int = 11
    tgt_vocab: int = 8
    pad: int = 0


def drawn(draws: Draws, size: Size, longest: int = MAX_LEN) -> Weights:
    """Weights of all parts, and of the projection: such that no softmax is all or nothing, which shows rounding."""
    width = size.d_model
    attention = {name: draws.normal(width, width) * spread for name, spread in SPREAD.items()}
    cross = {name: draws.normal(width, width) * spread for name, spread in SPREAD.items()}
    encoder = {name: draws.normal(width, width) * spread for name, spread in SPREAD.items()}
    return {
        "encoder": {f"inner.{n}": w for n, w in encoder.items()},
        "decoder": {f"inner.{n}": w for n, w in attention.items()}
        | {f"cross.{n}": w for n, w in cross.items()},
        "src_embed": {"table": draws.normal(size.src_vocab, width) * 0.5},
        "tgt_embed": {"table": draws.normal(size.tgt_vocab, width) * 0.5},
        "positions": {"table": draws.normal(longest, width)},
        "head": {
            "head.weight": draws.normal(size.tgt_vocab, width),
            "head.bias": torch.zeros(size.tgt_vocab, dtype=torch.float64),
        },
    }


def ready(
    client: Client,
    weights: Weights,
    size: Size,
    *,
    early: bool = False,
    keyword: bool = False,
    training: bool = False,
) -> Instance:
    """The class around the judge's parts.

    Args:
        early: the parts have their weights when it is constructed. Otherwise they get them afterwards: in a copy they
            would not arrive.
        keyword: construct it by keywords.
        training: in train mode.
    """
    width = size.d_model
    parts = {
        "encoder": client.part("EncoderLayer", width),
        "decoder": client.part("DecoderLayer", width),
        "src_embed": client.part("Embedding", size.src_vocab, width),
        "tgt_embed": client.part("Embedding", size.tgt_vocab, width),
        "positions": client.part("Positions", weights["positions"]["table"].size(0), width),
    }

    def fill() -> None:
        for name, part in parts.items():
            client.load_part(part, weights[name])

    if early:
        fill()
    extra: dict[str, Any] = {"pad": size.pad} if size.pad or keyword else {}
    if keyword:
        extra |= {**parts, "d_model": width, "tgt_vocab": size.tgt_vocab}
        model = client.make(NAME, training=training, **extra)
    else:
        model = client.make(NAME, *parts.values(), width, size.tgt_vocab, training=training, **extra)
    if not early:
        fill()
    client.load(NAME, model, wanted(width, size.tgt_vocab), weights["head"])
    return model


def tokens(draws: Draws, shape: tuple[int, int], vocab: int, size: Size, *, padded: str = "end") -> Tensor:
    """Ids [B, T]. PAD stands at the end of all rows but the first, at their "beginning", "anywhere" else, or not.

    Of a single row the last id is PAD, or the first.
    """
    batch, length = shape
    ids = torch.tensor([[draws.integer(0, vocab - 2) for _ in range(length)] for _ in range(batch)])
    ids = ids + (ids >= size.pad)  # everything but PAD
    if batch == 1 and padded == "beginning":
        ids[0, 0] = size.pad
    elif batch == 1 and padded != "none":
        ids[0, max(1, length - 1) :] = size.pad
    for row in range(1, batch) if padded != "none" else ():
        if padded == "end":
            ids[row, max(1, length - row) :] = size.pad
        elif padded == "beginning":
            ids[row, : min(row, length - 1)] = size.pad
        else:
            ids[row, 1 + (row - 1) % max(1, length - 1)] = size.pad
    return ids


def shown(answer: Mapping[str, Tensor | str], ids: Tensor, pad: int) -> Answer:
    """An answer with 0 where the ids are PAD: what comes out there is free."""
    output = answer.get("output")
    if not isinstance(output, Tensor) or output.dim() != 3 or output.shape[:2] != ids.shape:
        return answer
    return {**answer, "output": output.masked_fill((ids == pad)[:, :, None], 0.0)}


@dataclass(frozen=True)
class Put:
    """A model and a batch that it is asked about."""

    seed: int
    size: Size = Size()
    batch: int = 3
    lengths: tuple[int, int] = (5, 4)
    padded: str = "end"
    early: bool = False
    keyword: bool = False
    training: bool = False
    loud: float = 1.0  # factor of the logits

    def begin(self, client: Client) -> tuple[Draws, Instance, Tensor, Tensor]:
        draws = Draws(self.seed)
        weights, size = drawn(draws, self.size, max(MAX_LEN, *self.lengths)), self.size
        weights["head"]["head.weight"] *= self.loud
        model = ready(client, weights, size, early=self.early, keyword=self.keyword, training=self.training)
        source = tokens(draws, (self.batch, self.lengths[0]), size.src_vocab, size, padded=self.padded)
        target = tokens(draws, (self.batch, self.lengths[1]), size.tgt_vocab, size, padded=self.padded)
        return draws, model, source, target

    def call(
        self, client: Client, model: Instance, method: str, ids: Tensor, given: dict[str, Any]
    ) -> Answer:
        if self.keyword:
            return shown(client.call(model, method=method, **given), ids, self.size.pad)
        return shown(client.call(model, *given.values(), method=method), ids, self.size.pad)

    def encode(self, client: Client) -> Answer:
        _, model, source, _ = self.begin(client)
        return self.call(client, model, "encode", source, {"src": source})

    def decode(self, client: Client) -> Answer:
        draws, model, source, target = self.begin(client)
        memory = draws.normal(*source.shape, self.size.d_model)
        return self.call(client, model, "decode", target, {"tgt": target, "memory": memory, "src": source})

    def forward(self, client: Client) -> Answer:
        _, model, source, target = self.begin(client)
        return self.call(client, model, "", target, {"src": source, "tgt": target})

    def after_another(self, client: Client) -> Answer:
        """encode and decode another batch, of other lengths, then decode from arguments only."""
        return self._after(client, 2, (3, 6), "end")

    def after_one_alike(self, client: Client) -> Answer:
        """The same after a batch that has its shape, and no PAD."""
        return self._after(client, self.batch, self.lengths, "none")

    def _after(self, client: Client, sentences: int, lengths: tuple[int, int], padded: str) -> Answer:
        draws, model, source, target = self.begin(client)
        other = tokens(draws, (sentences, lengths[0]), self.size.src_vocab, self.size, padded=padded)
        words = tokens(draws, (sentences, lengths[1]), self.size.tgt_vocab, self.size, padded=padded)
        memory = draws.normal(sentences, lengths[0], self.size.d_model)
        client.call(model, words, memory, other, method="decode")
        client.call(model, other, method="encode")
        memory = draws.normal(*source.shape, self.size.d_model)
        found = self.call(client, model, "decode", target, {"tgt": target, "memory": memory, "src": source})
        encoded = client.call(model, source, method="encode")
        again = shown(encoded, source, self.size.pad).get("output")
        return {**found, **({"memory of the second batch": again} if isinstance(again, Tensor) else {})}

    def gradients(self, client: Client, method: str = "") -> Answer:
        """Of forward, or of another method: in the projection, whose bias is free, in all parts, and in memory."""
        draws, model, source, target = self.begin(client)
        memory = draws.normal(*source.shape, self.size.d_model)
        ids, given, last = {
            "": (target, (source, target), self.size.tgt_vocab),
            "encode": (source, (source,), self.size.d_model),
            "decode": (target, (target, memory, source), self.size.tgt_vocab),
        }[method]
        cotangent = draws.normal(*ids.shape, last).masked_fill((ids == self.size.pad)[:, :, None], 0.0)
        grad = (1,) if method == "decode" else ()
        answer = client.call(model, *given, method=method, grad=grad, cotangent=cotangent)
        weights = drawn(Draws(self.seed), self.size, max(MAX_LEN, *self.lengths))
        parts = {name: own for name, own in weights.items() if name != "head"}
        arrived = {**answer, **client.gradients_of_parts(model, parts)}
        if "gradient of 1" in arrived:
            arrived["gradient of memory"] = arrived.pop("gradient of 1")
        left_out = ("head.weight", "bias") if method == "encode" else ("bias",)
        of_all = (one for one in arrived.items() if one[0].startswith("gradient"))
        return {name: x for name, x in of_all if not name.endswith(left_out)}

    def in_training(self, client: Client) -> Answer:
        """Nothing is dropped: two equal calls give the same."""
        _, model, source, target = self.begin(client)
        first, second = (client.call(model, source, target).get("output") for _ in range(2))
        if not isinstance(first, Tensor) or not isinstance(second, Tensor) or first.shape != second.shape:
            return {"result": "no logits"}
        if not alike(first, second):
            return {"two equal calls in train mode": "different"}
        return {"two equal calls in train mode": "equal", **shown({"output": first}, target, self.size.pad)}

    def parameters(self, client: Client) -> Answer:
        """Return the model's parameters. A bias of the projection is optional, and not counted."""
        _, model, _, _ = self.begin(client)
        everything, given = model.parameters(), drawn(Draws(self.seed), self.size)
        loaded = [client.cast(value) for weights in given.values() for value in weights.values()]
        changed = [
            n.rpartition("judge_")[2]
            for n, info in everything.items()
            if "judge_" in n and not any(torch.equal(info.value, value) for value in loaded)
        ]
        judges = [n.rpartition("judge_")[2] for n in everything if "judge_" in n]
        trained = [name for name, one in own_parameters(everything).items() if one.requires_grad]
        own = {name: one.value for name, one in own_parameters(everything).items()}
        # by their names, or their shapes, in which ones say nothing
        named = [name for name in own if "bias" in name]
        vectors = [name for name, value in own.items() if sum(size > 1 for size in value.shape) < 2]
        vocab, width = self.size.tgt_vocab, self.size.d_model
        biases = next((some for some in (named, vectors) if numbers_in(own, some) == vocab), [])
        numbers, of_these = (
            # a bias may be part of the matrix
            vocab * width if n == vocab * (width + 1) else n
            for n in (numbers_in(own, {*some} - {*biases}) for some in (own, trained))
        )
        return {
            "parameters of the parts": counted(judges),
            "parameters that __init__ gave new values": counted(changed),
            "own numbers, without a bias": str(numbers),
            "of these trained": str(of_these),
        }


def _layers_kept(client: Client) -> Answer:
    """Return whether a Transformer leaves the weights of layers in its parts as they are."""
    size = Size()
    parts = [client.part("Layers", size.d_model) for _ in range(5)]
    return weights_kept(parts, lambda: client.make(NAME, *parts, size.d_model, size.tgt_vocab))


def numbers_in(values: Mapping[str, Tensor], names: Iterable[str]) -> int:
    """How many numbers these parameters have."""
    return sum(values[name].numel() for name in names)


def _one(title: str, group: str, ask: Ask, *traits: str, dtype: torch.dtype = torch.float32) -> Scenario:
    slack = LAYER_SLACK.get(dtype, 1.0)
    return Scenario(title, NAME, group, ask, dtype=dtype, slack=slack, traits=frozenset(traits))


def scenarios(seed: int) -> Sequence[Scenario]:
    """All of them, in the order of the tests."""
    plain, wide = Size(), Size(7, 5, 13)
    three = Size(6, 11, 8, 3)
    drawn_pad = Draws(seed + 26).integer(4, 39)
    other = Put(seed + 26, Size(6, 40, 40, drawn_pad), padded="anywhere")
    broad = Put(seed + 25, Size(Draws(seed).length(), 11, 8), 3, (1, 1), "none")  # of one token: no softmax
    trained = Put(seed + 23, training=True)
    single = Put(seed + 3, wide, batch=1, lengths=(1, 1), padded="none")
    lone = ("a batch of one", "a length of one")
    lengths = (Draws(seed).length(), Draws(seed + 1).length(very=True))  # masks of the second are built
    long, many = Put(seed + 16, plain, 2, lengths), Put(seed + 17, plain, lengths[0], (3, 3))
    words, loud = Put(seed + 18, Size(6, 530, 600)), Put(seed + 19, loud=100.0)
    alone = Put(seed + 20, batch=1)
    anywhere = Put(seed + 4, plain, 4, (6, 5), "anywhere")
    beginning = Put(seed + 23, plain, 3, (5, 5), "beginning")
    first = Put(seed + 24, batch=1, padded="beginning")
    made = [
        _one("its parameters", "parameters", Put(seed, early=True).parameters),
        _one("parts of torch's own layers", "parameters", _layers_kept),
        _one("encode, no PAD", "encode", Put(seed + 1, padded="none").encode),
        _one("decode, no PAD", "decode", Put(seed + 1, padded="none").decode),
        _one("encode, d_model=7", "encode", Put(seed + 2, wide, 2, (3, 6)).encode, "an odd size"),
        _one("decode, d_model=7", "decode", Put(seed + 2, wide, 2, (3, 6)).decode, "an odd size"),
        _one("encode, wide vectors", "encode", broad.encode, "a length of one", "wide vectors"),
        _one("decode, wide vectors", "decode", broad.decode, "a length of one", "wide vectors"),
        _one("encode, one sentence of one token", "encode", single.encode, *lone),
        _one("decode, one sentence of one token", "decode", single.decode, *lone),
        _one("the keys that encode attends to", "encoder mask", looks_of_encode(ready, Size)),
        _one("encode, PAD at the end", "encoder mask", Put(seed + 5).encode),
        _one("encode, PAD anywhere", "encoder mask", anywhere.encode),
        _one("encode, PAD at the beginning", "encoder mask", beginning.encode),
        _one("the keys that decode attends to", "decoder masks", looks_of_decode(ready, Size)),
        _one("decode, PAD at the end", "decoder masks", Put(seed + 5).decode),
        _one("encode, one sentence with PAD", "encoder mask", alone.encode, "a batch of one"),
        _one("decode, one sentence with PAD", "decoder masks", alone.decode, "a batch of one"),
        _one("decode, source as long as the target", "decoder masks", Put(seed + 6, lengths=(4, 4)).decode),
        _one("decode, PAD anywhere", "decoder masks", anywhere.decode),
        _one("decode, PAD at the beginning", "decoder masks", beginning.decode),
        _one("encode, a long sequence", "encoder mask", long.encode, "a long sequence"),
        _one("encode, many sentences", "encoder mask", many.encode, "many sentences"),
        _one("decode, a long sequence", "decoder masks", long.decode, "a long sequence"),
        _one("decode, many sentences", "decoder masks", many.decode, "many sentences"),
        _one("decode, a large vocabulary", "decode", words.decode, "wide vectors"),
        _one("decode, large logits", "decode", loud.decode, "large numbers"),
        _one("encode with pad=3", "pad", Put(seed + 7, three).encode),
        _one("decode with pad=3", "pad", Put(seed + 7, three).decode),
        _one(f"encode with pad={drawn_pad}", "pad", other.encode),
        _one(f"decode with pad={drawn_pad}", "pad", other.decode),
        after_a_call(_one("forward", "forward", Put(seed + 22).forward)),
        _one("forward", "forward", Put(seed + 8).forward),
        _one("forward, one sentence that begins with PAD", "forward", first.forward, "a batch of one"),
        under_no_grad(_one("forward", "forward", Put(seed + 24).forward)),
        after_other_numbers(_one("forward", "forward", Put(seed + 25).forward)),
        _one("forward with pad=3", "forward", Put(seed + 9, three, padded="anywhere").forward),
        _one("decode after another batch", "memory", Put(seed + 10).after_another),
        _one("decode after a batch of the same shape", "memory", anywhere.after_one_alike),
        beside_another(_one("decode, PAD at the end", "memory", Put(seed + 21).decode), pad=1),
        _one("the gradient", "gradients", Put(seed + 12).gradients, "the backward pass"),
        _one("train mode, the gradient", "gradients", trained.gradients, "the backward pass"),
        _one(
            "encode, the gradient",
            "gradients",
            partial(trained.gradients, method="encode"),
            "the backward pass",
        ),
        _one(
            "decode, the gradient",
            "gradients",
            partial(trained.gradients, method="decode"),
            "the backward pass",
        ),
        _one("train mode", "train", Put(seed + 13, training=True).in_training, "train mode"),
        _one("train mode, encode", "train", trained.encode, "train mode"),
        _one("train mode, decode", "train", trained.decode, "train mode"),
    ]
    for method in ("encode", "decode", "forward"):
        put = Put(seed + 14, keyword=True)
        made.append(_one(f"{method} by keyword", "keywords", getattr(put, method), "keyword arguments"))
    for dtype in (torch.float64, torch.bfloat16):
        title = f"{str(dtype).removeprefix('torch.')} inputs"
        for method in ("encode", "decode"):
            ask = getattr(Put(seed + 15), method)
            made.append(_one(f"{method}, {title}", "dtypes", ask, title, dtype=dtype))
    return made


AXES = {
    "*: gradient of *_embed, table": ("token id", "feature"),
    "*: gradient of positions, table": ("position", "feature"),
    "*: gradient of head.weight": ("token id", "feature"),
    "*: gradient of memory": ("sentence", "position", "feature"),
    "*: gradient of *": ("output feature", "input feature"),
    "Transformer, encode*": ("sentence", "position", "feature"),
    "*: memory of *": ("sentence", "position", "feature"),
    "*": ("sentence", "position", "token id"),
}
SUBJECT = Subject("transformer", scenarios, (REFERENCE,), namespace, axes=AXES)


def grading(component: Submission, seed: int) -> Grading:
    """The grading into a submission, the same one for all tests."""
    return grading_of(component, seed, SUBJECT)
