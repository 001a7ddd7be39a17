"""The zoo as a library: what `import zoo` offers. Importing this imports no torch; `build` does."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Literal, overload

from zoo.core.blueprint import Blueprint, Sizes, get_preset, get_presets
from zoo.core.blueprint import make_blueprint as _default_blueprint
from zoo.core.errors import ZooError as ZooError
from zoo.core.plugins import get_registry

if TYPE_CHECKING:
    from zoo.models.decoder_only import DecoderOnly
    from zoo.models.encoder_only import EncoderOnly
    from zoo.models.transformer import Model, Transformer


def list_axes() -> list[str]:
    """Return the names of the axes: the kinds of parts that a model is made of.

    >>> import zoo
    >>> zoo.list_axes()[:3]
    ['attention', 'encoding', 'norm']
    """
    return [axis.name for axis in get_registry().axes]


def list_variants(axis: str) -> list[str]:
    """Return the names of the variants of `axis`, in the order of registration, with those of plugins.

    >>> import zoo
    >>> "fused" in zoo.list_variants("attention")
    True

    Raises:
        ZooError: there is no such axis; the text names the nearest.
    """
    return [variant.name for variant in get_registry().variants(axis.replace("_", "-"))]


def list_presets() -> list[str]:
    """Return the names of the presets, with those of plugins.

    >>> import zoo
    >>> "vaswani2017" in zoo.list_presets()
    True
    """
    return list(get_presets())


def make_blueprint(preset: str | None = None, /, *, corrected: bool = False, **choices: Any) -> Blueprint:
    """Return what a model is made of: one variant per axis, and sizes. Nothing is built.

    >>> import zoo
    >>> blueprint = zoo.make_blueprint("vaswani2017", norm="pre", d_model=256)
    >>> str(blueprint["norm"]), blueprint.sizes.d_model
    ('pre', 256)

    Args:
        preset: where to start, one of `list_presets()`; from the default of every axis if None.
        corrected: whether to take the preset with its known mistakes fixed (`zoo show preset NAME`).
        choices: variants by axis (a hyphen is written as an underscore: norm_type="rmsnorm"), as on the command
            line: a name, a name with options ("eager:bias=false"), or a class in a file ("mine.py:Attention").
            And sizes by name: d_model, num_heads, d_ff, num_encoder_layers, num_decoder_layers, dropout,
            src_vocab, tgt_vocab, max_len, pad.

    Raises:
        ZooError: no such preset, axis, size, variant or option, or a value out of range.
    """
    if preset is None:
        if corrected:
            raise ZooError("corrected=True fixes the known mistakes of a preset: name one.")
        return _default_blueprint(**choices)
    sizes = {name: choices.pop(name) for name in Sizes.__dataclass_fields__ if name in choices}
    return get_preset(preset).blueprint(corrected, choices, sizes)


@overload
def build(
    blueprint: None = None,
    /,
    *,
    assembly: Literal["encoder-decoder"] = "encoder-decoder",
    seed: int | None = None,
    corrected: bool = False,
    allow: Collection[str] = (),
    **choices: Any,
) -> Transformer: ...
@overload
def build(
    blueprint: str | Blueprint,
    /,
    *,
    assembly: Literal["encoder-decoder"],
    seed: int | None = None,
    corrected: bool = False,
    allow: Collection[str] = (),
    **choices: Any,
) -> Transformer: ...
@overload
def build(
    blueprint: str | Blueprint | None = None,
    /,
    *,
    assembly: Literal["decoder"],
    seed: int | None = None,
    corrected: bool = False,
    allow: Collection[str] = (),
    **choices: Any,
) -> DecoderOnly: ...
@overload
def build(
    blueprint: str | Blueprint | None = None,
    /,
    *,
    assembly: Literal["encoder"],
    seed: int | None = None,
    corrected: bool = False,
    allow: Collection[str] = (),
    **choices: Any,
) -> EncoderOnly: ...
@overload
def build(
    blueprint: str | Blueprint | None = None,
    /,
    *,
    seed: int | None = None,
    corrected: bool = False,
    allow: Collection[str] = (),
    **choices: Any,
) -> Model: ...
def build(
    blueprint: str | Blueprint | None = None,
    /,
    *,
    seed: int | None = None,
    corrected: bool = False,
    allow: Collection[str] = (),
    **choices: Any,
) -> Model:
    """Return a model (an `nn.Module`) in train mode, float32, on the CPU.

    By default it is an encoder-decoder, a `Transformer`: `model(src [B, S], tgt [B, L])` gives scores of the next
    token, [B, L, V]. With `assembly` it is a `DecoderOnly`, an `EncoderOnly`, whose `model(tokens [B, L])` gives
    [B, L, V], or a `VisionEncoder`. Type checkers know which where `assembly` is written out; a preset's or a
    blueprint's they do not, and `isinstance` tells.

    >>> import zoo
    >>> model = zoo.build("reverse", attention="fused", seed=0)
    >>> type(model.encoder.layers[0].self_attention).__name__
    'FusedAttention'

    Args:
        blueprint: a preset's name, or a blueprint; the default of every axis if None.
        seed: of the initial weights; they come from torch's global generator if None.
        corrected, choices: as in `make_blueprint`, in place of those of the preset or the blueprint.
        allow: rules of combination that may be broken, by name.

    Raises:
        CombinationError: the parts or sizes do not go together; the text says why, and what would work. It is a
            ZooError, as all errors of the zoo.
        ZooError: as `make_blueprint` does, or a part from a file is missing, broken or not written yet.
    """
    from zoo.models.builder import build as build_blueprint

    if isinstance(blueprint, Blueprint):
        if corrected:
            raise ZooError("corrected=True fixes the known mistakes of a preset, not of a blueprint.")
        sizes = {name: choices.pop(name) for name in Sizes.__dataclass_fields__ if name in choices}
        texts = {axis.replace("_", "-"): text for axis, text in choices.items()}
        blueprint = blueprint.with_choices(**texts).with_sizes(**sizes)
    else:
        blueprint = make_blueprint(blueprint, corrected=corrected, **choices)
    return build_blueprint(blueprint, seed=seed, allow=allow)
