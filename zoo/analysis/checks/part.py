"""The part that is looked at: its class with its options, and models in which it stands."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor, nn

from zoo.analysis.checks.base import DoesNotApply
from zoo.core.blueprint import Blueprint, Sizes, make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.recipe import Recipe
from zoo.core.registry import Registry, Variant
from zoo.core.rules import problems
from zoo.models.builder import Parts, build, build_optimizer
from zoo.models.transformer import Model

HANDED: Mapping[str, tuple[str, ...]] = {
    "attention": ("d_model", "num_heads", "dropout"),
    "encoding": ("d_model", "max_len"),
    "norm": ("make_norm", "num_sublayers", "dropout"),
    "norm-type": ("d_model",),
    "feedforward": ("d_model", "d_ff", "dropout"),
    "embedding": ("src_vocab", "tgt_vocab", "d_model"),
    "head": ("d_model", "tgt_vocab"),
    "masking": ("pad",),
    "mask": (),
    "init": (),
    "loss": ("pad",),
    "schedule": ("steps", "warmup"),
    "optimizer": ("params", "lr"),
    "decoding": (),
    "assembly": ("parts",),
}
"""What each axis hands to the class of every variant, in this order."""

ALLOWED = ("causal-mask",)
"""Rules that a part may break here: a property says so, with what it did."""
PAD, SOS, EOS, VOCAB, MAX_LEN = 0, 1, 2, 11, 16


@dataclass(frozen=True)
class Part:
    """A variant with its options.

    Attributes:
        text: as it was typed, without the axis.
        options: those given, by name.
    """

    variant: Variant
    text: str
    options: Mapping[str, Any] = field(default_factory=dict)
    registry: Registry = field(default_factory=get_registry)

    @property
    def axis(self) -> str:
        return self.variant.axis

    @property
    def name(self) -> str:
        """Return what it is called in a report."""
        return self.text if self.variant.is_file else f"{self.axis}/{self.text}"

    @cached_property
    def cls(self) -> Callable[..., Any]:
        """The class behind it. Raises ZooError if it cannot be imported."""
        return self.variant.load()

    @cached_property
    def file(self) -> str:
        """The file that defines the class, "" if unknown."""
        try:
            return inspect.getsourcefile(self.cls) or ""
        except TypeError:  # no class or function
            return ""

    def can(self, capability: str) -> Any:
        """Return what it declares."""
        return self.variant.capabilities[capability]

    def must(self, capability: str) -> None:
        """Raises DoesNotApply unless it declares `capability`."""
        if not self.can(capability):
            raise DoesNotApply(f"It does not declare {capability}.")

    @cached_property
    def sizes(self) -> Sizes:
        """Those of a small model into which it fits."""
        shared = self.options.get("num_kv_heads")
        heads = 2 * shared if isinstance(shared, int) else 2
        width = math.lcm(4, self.variant.capabilities.get("head_multiple", 1))
        limit = self.variant.capabilities.get("max_length") or MAX_LEN
        return Sizes(
            d_model=heads * width,
            num_heads=heads,
            d_ff=16,
            num_encoder_layers=2,
            num_decoder_layers=2,
            dropout=0.1,
            src_vocab=VOCAB,
            tgt_vocab=VOCAB,
            max_len=min(MAX_LEN, limit),
            pad=PAD,
        )

    def make(self, **changes: Any) -> Any:
        """A fresh one, made as the builder would, with these arguments in place of those of a small model.

        A dropout that was given as an option is left out: looking at dropout needs one of its own.
        """
        if self.axis == "optimizer":
            return self.optimizer_of(self.model())
        sizes = {**asdict(self.sizes), "dropout": 0.0, "causal": False, "num_sublayers": 2}
        sizes["head_dim"] = sizes["d_model"] // sizes["num_heads"]
        known = {**sizes, "make_norm": self.make_norm, "steps": 10, "warmup": 3, **changes}
        handed = HANDED[self.axis]
        if "parts" in handed:
            known["parts"] = Parts(make_plan(self.blueprint, self.registry))
        options = {n: v for n, v in self.options.items() if v is not None and n not in handed}
        needs = {name: known[name] for name in self.variant.capabilities.get("needs", ())}
        return self.cls(*(known[name] for name in handed), **options, **needs)

    def optimizer_of(self, model: nn.Module) -> torch.optim.Optimizer:
        """The chosen optimizer, for the parameters of `model`."""
        return build_optimizer(self.blueprint, model, Recipe(), self.registry)

    def module(self, **changes: Any) -> Any:
        """A fresh one in the dtype that is worked in, no parameter at a value that hides anything (0 or 1)."""
        return stirred(self.make(**changes).to(self.dtype))

    def make_norm(self) -> nn.Module:
        """The norm that a norm placement is given."""
        return nn.LayerNorm(self.sizes.d_model)

    @cached_property
    def blueprint(self) -> Blueprint:
        """A small model with the part; if something does not fit it, one other axis is changed.

        Raises DoesNotApply if no change of one axis is enough.
        """
        argument = {self.axis.replace("-", "_"): self.text}
        blueprint = make_blueprint(self.registry, **argument, **asdict(self.sizes))
        if not problems(make_plan(blueprint, self.registry)):
            return blueprint
        for variant in self.registry.variants():
            if variant.axis in (self.axis, "assembly"):
                continue
            other = blueprint.with_choices(self.registry, **{variant.axis: variant.name})
            if not problems(make_plan(other, self.registry)):
                return other
        reasons = " ".join(problems(make_plan(blueprint, self.registry)).values())
        raise DoesNotApply(f"No model with it can be built. {reasons}")

    def model(self, seed: int = 0) -> Model:
        """A small model with it, in eval mode, in the dtype that is worked in."""
        made = build(self.blueprint, seed=seed, registry=self.registry, allow=ALLOWED)
        stirred(made.to(self.dtype), seed)
        return made.eval()

    @cached_property
    def dtype(self) -> torch.dtype:
        """Return what is worked in: float64 if a model with this part runs in it, else float32."""
        try:
            model = build(self.blueprint, seed=0, registry=self.registry, allow=ALLOWED).double().eval()
            tokens = words(2, 4)
            with torch.no_grad():
                right = model(*[tokens for _ in model.stacks]).dtype == torch.float64
        except (Exception, SystemExit):  # noqa: BLE001 - a stranger's code; a property of its own says so
            right = not self.variant.is_file
        return torch.float64 if right else torch.float32

    def randn(self, *shape: int) -> Tensor:
        """Random numbers in the dtype that is worked in."""
        return torch.randn(*shape, dtype=self.dtype)


def stirred(module: Any, seed: int = 0) -> Any:
    """`module` with noise on all its parameters: a gate that starts at 0 would hide what is behind it."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in module.parameters():
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter += 0.3 * noise.to(parameter.dtype)
    return module


def words(rows: int, length: int, seed: int = 0) -> Tensor:
    """Tokens that are neither PAD nor SOS nor EOS. [B, T]"""
    return torch.randint(3, VOCAB, (rows, length), generator=torch.Generator().manual_seed(seed))


def other_words(tokens: Tensor) -> Tensor:
    """Another word in place of each. [B, T] -> [B, T]"""
    return tokens % (VOCAB - 3) + 3


def ragged(tokens: Tensor) -> Tensor:
    """The same with rows that end in more and more padding; the first is full, no row is empty. [B, T]"""
    kept = torch.arange(tokens.size(0), 0, -1)[:, None] * tokens.size(1) // tokens.size(0)
    return tokens.masked_fill(torch.arange(tokens.size(1)) >= kept, PAD)


def part_of(registry: Registry, axis: str, text: str) -> Part:
    """The part that is typed so on `axis`. Raises ZooError."""
    variant, options = registry.resolve(axis, text)
    part = Part(variant, text, options, registry)
    if not callable(part.cls):  # imports it: what is wrong with the file is said once, here
        raise ZooError(f"{text} is not a class (see `zoo list {axis}`).")
    return part
