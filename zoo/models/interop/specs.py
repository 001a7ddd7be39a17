"""Specifications of parts without weights: read from torch's modules and built as the zoo's, or vice versa."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AttentionSpec:
    """Exact multi-head attention: width D, heads H, dropout on the weights, and whether projections have a bias."""

    d_model: int
    num_heads: int
    dropout: float
    bias: bool


@dataclass(frozen=True)
class NormSpec:
    """A layer norm over the last dimension D, and which of gain and bias it has."""

    d_model: int
    eps: float
    weight: bool
    bias: bool


@dataclass(frozen=True)
class FeedForwardSpec:
    """Two matrices with an activation (relu or gelu) between; dropout after it; which of both has a bias."""

    d_model: int
    d_ff: int
    activation: str
    dropout: float
    biases: tuple[bool, bool]


@dataclass(frozen=True)
class LayerSpec:
    """One layer: self-attention (and cross-attention in a decoder), feed-forward, and the residual blocks.

    Attributes:
        norm: pre or post, as the axis `norm` names it.
        norms: one a sublayer.
        dropout: on what each sublayer adds to the stream.
    """

    attentions: tuple[AttentionSpec, ...]
    feed_forward: FeedForwardSpec
    norm: str
    norms: tuple[NormSpec, ...]
    dropout: float


@dataclass(frozen=True)
class StackSpec:
    """Layers, and the norm behind the last, if any."""

    layers: tuple[LayerSpec, ...]
    final_norm: NormSpec | None


@dataclass(frozen=True)
class StacksSpec:
    """An encoder and a decoder."""

    encoder: StackSpec
    decoder: StackSpec


Spec = AttentionSpec | LayerSpec | StackSpec | StacksSpec
