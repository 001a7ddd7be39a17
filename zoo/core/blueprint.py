"""The blueprint of a model: one choice per axis, and sizes. Metadata only, no torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import groupby
from operator import index
from typing import Any

from zoo.core.errors import PluginError, ZooError, unknown_name
from zoo.core.frozen import FrozenMapping
from zoo.core.pattern import LONGEST, check_length, format_pattern, shortest, split_pattern
from zoo.core.plugins import get_plugins, get_registry
from zoo.core.recipe import Recipe
from zoo.core.registry import Axis, Registry, Variant

FORMAT = 1


@dataclass(frozen=True)
class Choice:
    """The variant chosen on one axis, with the options given; one that is None is left to the variant.

    Where layers differ, it is that of the first layer, and `then` has those of the layers after it, up to where
    the pattern is repeated.

    Attributes:
        name: a registered name, or "path/to/file.py:Class".
        options: by name, all of them, checked.
        variant: what the name stands for; None in a choice made by hand, and then looked up when it is built.
        then: the choices of the next layers; empty if all layers have the same.
    """

    name: str
    options: Mapping[str, Any] = field(default_factory=lambda: FrozenMapping({}))
    variant: Variant | None = field(default=None, repr=False, compare=False)
    then: tuple[Choice, ...] = ()

    @property
    def layers(self) -> tuple[Choice, ...]:
        """The choice of each layer of the pattern, by itself; one if all layers have the same."""
        return (replace(self, then=()), *self.then)

    def __str__(self) -> str:
        if self.then:
            return format_pattern(map(str, self.layers))
        given = (f"{key}={_text(value)}" for key, value in self.options.items() if value is not None)
        return ":".join([self.name, *given])

    def to_json(self) -> dict[str, Any]:
        """A JSON object: name and options, or `layers`, a list of such with the number of `times` each is taken."""
        if not self.then:
            return {"name": self.name, "options": dict(self.options)}
        runs = [(one, len(list(run))) for one, run in groupby(self.layers)]
        return {"layers": [{**one.to_json(), "times": times} for one, times in runs]}


def layered(axis: Axis, layers: Sequence[Choice]) -> Choice:
    """One choice out of those of the layers, which repeat. Raises ZooError if the layers may not differ in it."""
    first, *then = shortest(layers)
    if then and not axis.per_layer:
        raise ZooError(
            f"--{axis.name}={format_pattern(map(str, layers))}: all layers have the same {axis.name}. Use one choice "
            f"such as {axis.name}={first.name}."
        )
    return replace(first, then=tuple(then))


def layer_kinds(*choices: Choice) -> list[tuple[tuple[Choice, ...], list[int]]]:
    """Different layers: what each choice gives them, and their numbers, counted from 1, until all patterns repeat."""
    patterns = [choice.layers for choice in choices]
    found: dict[tuple[str, ...], tuple[tuple[Choice, ...], list[int]]] = {}
    for number in range(min(LONGEST, math.lcm(*map(len, patterns)))):
        here = tuple(layers[number % len(layers)] for layers in patterns)
        found.setdefault(tuple(map(str, here)), (here, []))[1].append(number + 1)
    return list(found.values())


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True)
class Sizes:
    """The sizes of a model. The help texts become the command line's."""

    d_model: int = field(default=512, metadata={"help": "width D of the hidden vectors", "minimum": 1})
    num_heads: int = field(default=8, metadata={"help": "attention heads H; divides d_model", "minimum": 1})
    d_ff: int = field(
        default=2048, metadata={"help": "inner width of the feed-forward network", "minimum": 1}
    )
    num_encoder_layers: int = field(default=6, metadata={"help": "layers of the encoder", "minimum": 1})
    num_decoder_layers: int = field(default=6, metadata={"help": "layers of the decoder", "minimum": 1})
    dropout: float = field(default=0.1, metadata={"help": "dropout probability, 0 <= p < 1", "minimum": 0})
    src_vocab: int = field(default=1000, metadata={"help": "source vocabulary", "minimum": 1})
    tgt_vocab: int = field(default=1000, metadata={"help": "target vocabulary", "minimum": 1})
    max_len: int = field(default=512, metadata={"help": "longest sequence", "minimum": 1})
    pad: int = field(default=0, metadata={"help": "token id of padding, on both sides", "minimum": 0})

    def __post_init__(self) -> None:
        for one in fields(self):
            value, kind = getattr(self, one.name), float if one.name == "dropout" else int
            try:
                if type(value) is bool:
                    raise TypeError
                value = index(value) if kind is int else float(value + 0)  # numpy's numbers are numbers too
            except (TypeError, ValueError, OverflowError):
                expected = "a number" if kind is float else "a whole number"
                raise ZooError(f"{one.name}={value!r}: expected {expected}.") from None
            object.__setattr__(self, one.name, value)
            if value < one.metadata["minimum"]:
                raise ZooError(f"{one.name}={value}: expected at least {one.metadata['minimum']}.")
        if self.dropout >= 1 or math.isnan(self.dropout):
            raise ZooError(f"dropout={self.dropout}: expected a probability below 1.")
        if self.pad >= min(self.src_vocab, self.tgt_vocab):
            raise ZooError(
                f"pad={self.pad} is not a token of the vocabularies (src_vocab={self.src_vocab}, "
                f"tgt_vocab={self.tgt_vocab}): expected an id below both."
            )


@dataclass(frozen=True)
class Blueprint:
    """One choice per axis, and sizes: what `build` takes, what is saved beside the weights.

    Every axis has a choice; every option of every choice is filled in, so that a saved blueprint keeps
    its meaning when a default changes. Make one with `make_blueprint` or `from_json`.
    """

    choices: Mapping[str, Choice]
    sizes: Sizes

    def __getitem__(self, axis: str) -> Choice:
        return self.choices[axis]

    def with_sizes(self, /, **sizes: Any) -> Blueprint:
        """The same with other sizes. Raises ZooError for a size that is unknown or out of range."""
        for name in sizes:
            if name not in (one.name for one in fields(Sizes)):
                raise unknown_name("size", name, (one.name for one in fields(Sizes)))
        return replace(self, sizes=replace(self.sizes, **sizes))

    def with_choices(self, registry: Registry | None = None, **choices: str) -> Blueprint:
        """The same with other variants, as a user types them. Raises UnknownNameError, ZooError."""
        registry = registry or get_registry()
        changed = {axis: choose(registry, axis, text) for axis, text in choices.items()}
        return replace(self, choices=FrozenMapping({**self.choices, **changed}))

    def to_json(self) -> dict[str, Any]:
        """A JSON object; `from_json` reads it back to an equal blueprint."""
        return {
            "format": FORMAT,
            "choices": {axis: choice.to_json() for axis, choice in self.choices.items()},
            "sizes": {one.name: getattr(self.sizes, one.name) for one in fields(Sizes)},
        }

    @classmethod
    def from_json(cls, data: object, registry: Registry | None = None) -> Blueprint:
        """A blueprint from `to_json`'s object (or its text). Raises ZooError for anything else."""
        registry = registry or get_registry()
        try:
            data = json.loads(data) if isinstance(data, str) else data
        except (ValueError, RecursionError) as error:  # malformed, a number of 5,000 digits, 100,000 brackets
            raise ZooError(f"This is not a blueprint: {error}.") from error
        if not isinstance(data, dict) or not {"format", "choices", "sizes"} <= data.keys():
            raise ZooError(
                "This is not a blueprint: expected an object with 'format', 'choices' and 'sizes'."
            )
        if data["format"] != FORMAT:
            raise ZooError(
                f"The blueprint has format {data['format']!r}; this version reads format {FORMAT}."
            )
        if not isinstance(data["choices"], dict) or not isinstance(data["sizes"], dict):
            raise ZooError("This is not a blueprint: 'choices' and 'sizes' must be objects.")
        choices = {axis: _choice_from_json(registry, axis, one) for axis, one in data["choices"].items()}
        return _complete(registry, choices).with_sizes(**data["sizes"])


def json_layers(data: object) -> list[object]:
    """The choice of each layer in a saved choice, which may be anything. Raises ZooError for no list of layers."""
    if not isinstance(data, dict) or "layers" not in data:
        return [data]
    found: list[object] = []
    for one in data["layers"] if isinstance(data["layers"], list) else ():
        times = one.get("times", 1) if isinstance(one, dict) else 1
        if type(times) is not int or not 1 <= times <= LONGEST:
            raise ZooError(f"This is not a blueprint: {times!r} is not a number of layers.")
        found += [one] * times
        check_length(found)
    if not found:
        raise ZooError("This is not a blueprint: expected a list of choices as 'layers'.")
    return found


def _choice_from_json(registry: Registry, axis: str, data: object) -> Choice:
    if isinstance(data, dict) and "layers" in data:
        made: dict[int, Choice] = {}  # a choice that is taken several times is looked up once
        for one in (layers := json_layers(data)):
            if id(one) not in made:
                plain = {} if isinstance(one, dict) and "layers" in one else one
                made[id(one)] = _choice_from_json(registry, axis, plain)
        return layered(registry.axis(axis), [made[id(one)] for one in layers])
    if not isinstance(data, dict) or not isinstance(data.get("name"), str):
        raise ZooError(f"This is not a blueprint: the choice for '{axis}' has no name.")
    options = data.get("options", {})
    if not isinstance(options, dict):
        raise ZooError(f"This is not a blueprint: the options of '{axis}' are not an object.")
    variant, typed = registry.resolve(axis, data["name"])
    checked = {key: variant.option(key).check(value) for key, value in options.items()}
    return _filled(variant, {**typed, **checked})


def _filled(variant: Variant, given: Mapping[str, object]) -> Choice:
    defaults = {option.name: option.default for option in variant.options}
    name = variant.path if variant.is_file else variant.name
    return Choice(name, FrozenMapping({**defaults, **given}), variant)


def choose(registry: Registry, axis: str, text: object) -> Choice:
    """The choice that a user types for an axis, as `make_blueprint` takes it. Raises UnknownNameError, ZooError."""
    if not isinstance(text, str):
        raise ZooError(f"{axis}={text!r}: expected the name of a variant, as `zoo list {axis}` shows them.")
    kind, texts = registry.axis(axis), split_pattern(text)
    made = {one: _filled(*registry.resolve(axis, one)) for one in dict.fromkeys(texts)}
    return layered(kind, [made[one] for one in texts])


def _complete(registry: Registry, choices: Mapping[str, Choice]) -> Blueprint:
    rest = {
        axis.name: choose(registry, axis.name, axis.default)
        for axis in registry.axes
        if axis.name not in choices
    }
    ordered = {axis.name: {**rest, **choices}[axis.name] for axis in registry.axes}
    for axis in choices:
        registry.axis(axis)
    return Blueprint(FrozenMapping(ordered), Sizes())


def make_blueprint(registry: Registry | None = None, **given: Any) -> Blueprint:
    """A blueprint from variants as a user types them and sizes; the rest takes its defaults.

    `make_blueprint(attention="fused", norm="pre", d_model=128)`; an axis with a hyphen may be given with
    an underscore.

    Raises:
        UnknownNameError: no such axis, size, variant or option.
        ZooError: a value out of range.
    """
    registry = registry or get_registry()
    axes = {name: axis.name for axis in registry.axes for name in (axis.name.replace("-", "_"), axis.name)}
    sizes = {one.name for one in fields(Sizes)}
    for name in given:
        if name not in axes and name not in sizes:
            raise unknown_name(
                "axis or size", name, [*(axis.name for axis in registry.axes), *sizes], "zoo list"
            )
    choices = {axes[name]: choose(registry, axes[name], text) for name, text in given.items() if name in axes}
    return _complete(registry, choices).with_sizes(**{n: v for n, v in given.items() if n in sizes})


@dataclass(frozen=True)
class Preset:
    """A named blueprint, and how to train it.

    Attributes:
        name: as it is typed (`--preset`).
        summary: one line.
        choices: variants as a user types them, by axis; the rest takes its defaults.
        sizes: by name; the rest takes its defaults.
        source: who described it: a paper, an article.
        recipe: fields of `zoo.core.recipe.Recipe` in which training differs from the default.
        tasks: fields of a task's own settings (`zoo.training.translation.settings.Settings`, for one), by task.
        corrected: choices that fix the pitfalls of the source (`--corrected`).
        notes: what one should know, a few sentences each.
    """

    name: str
    summary: str
    choices: Mapping[str, str]
    sizes: Mapping[str, Any]
    source: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict)
    tasks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    corrected: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def blueprint(
        self,
        corrected: bool = False,
        choices: Mapping[str, str] | None = None,
        sizes: Mapping[str, Any] | None = None,
    ) -> Blueprint:
        """The blueprint of this preset, with its traps fixed if `corrected`.

        Args:
            corrected: whether to take the choices of `corrected`.
            choices: variants as a user types them, by axis, in place of the preset's.
            sizes: by name, in place of the preset's.

        Raises:
            UnknownNameError: no such axis, size, variant or option.
            ZooError: a value out of range, or there is nothing to correct.
        """
        if corrected and not self.corrected:
            raise ZooError(f"Preset '{self.name}' has nothing to correct: omit --corrected.")
        written = {axis.name.replace("-", "_"): axis.name for axis in get_registry().axes}
        layers = (self.choices, self.corrected if corrected else {}, choices or {})
        merged = {written.get(axis, axis): text for layer in layers for axis, text in layer.items()}
        return make_blueprint(**{**merged, **self.sizes, **(sizes or {})})

    def check(self) -> None:
        """Raises PluginError if it names what is not there: a variant, a size, a field of the recipe."""
        try:
            for corrected in (False, *([True] if self.corrected else [])):
                self.blueprint(corrected)
            known = [one.name for one in fields(Recipe)]
            for name in self.recipe:
                if name not in known:
                    raise unknown_name("field of a recipe", name, known)
            Recipe(**self.recipe)
        except (ZooError, TypeError) as error:
            raise PluginError(f"preset '{self.name}': {error}") from error


@cache
def get_presets() -> Mapping[str, Preset]:
    """All presets of all plugins, by name. A plugin that repeats a name, or names what is not there, is skipped.

    The built-in presets are not looked up here: listing names takes no look-up.
    """
    get_registry()  # first, so that a plugin whose variants are broken is told of as that
    return get_plugins().collect("zoo_presets", Preset, Preset.check)


def get_preset(name: str) -> Preset:
    """The preset called `name`. Raises UnknownNameError."""
    if name not in get_presets():
        raise unknown_name("preset", name, get_presets(), "zoo list presets")
    return get_presets()[name]
