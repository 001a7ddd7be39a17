"""Fused kernels in steps. Fully masked rows give NaN here; there the kernel's own numbers stay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def _softmax(x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    e = (x - x.amax(dim, keepdim=True)).exp()
    return e / e.sum(dim, keepdim=True)


def _softmax_backward(gradient: Tensor, y: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    products = (
        gradient * y * torch.zeros_like(y).exp()
    )  # a perturbed 1: with one key, nothing else is rounded
    return (gradient - products.sum(dim, keepdim=True)) * y


def _log_softmax(x: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    largest = x.amax(dim, keepdim=True)
    total = (x - largest).exp().sum(dim, keepdim=True)
    return (x - total.log() - largest).clamp(max=0.0)


def _log_softmax_backward(gradient: Tensor, y: Tensor, dim: int, *_: Any, **__: Any) -> Tensor:
    return gradient - y.exp() * gradient.sum(dim, keepdim=True)


def _logsumexp(x: Tensor, dim: list[int], keepdim: bool = False, **_: Any) -> Tensor:
    largest = x.amax(dim, keepdim=True)
    total = (x - largest).exp().sum(dim, keepdim=keepdim)
    return total.log() + (largest if keepdim else largest.amax(dim))


def _variance(x: Tensor, dim: Any = None, *_: Any, correction: Any = 1, keepdim: bool = False) -> Tensor:
    dims = list(range(x.dim())) if dim in (None, []) else dim
    centred = x - x.mean(dims, keepdim=True)
    count = x.numel() // max(1, x.sum(dims).numel())
    return (centred * centred).sum(dims, keepdim=keepdim) / max(
        0, count - (1 if correction is None else correction)
    )


def _variance_and_mean(
    x: Tensor, dim: Any = None, *_: Any, correction: Any = 1, keepdim: bool = False
) -> Any:
    dims = list(range(x.dim())) if dim in (None, []) else dim
    return _variance(x, dim, correction=correction, keepdim=keepdim), x.mean(dims, keepdim=keepdim)


def _deviation(*args: Any, **kwargs: Any) -> Tensor:
    return _variance(*args, **kwargs).sqrt()


def _deviation_and_mean(*args: Any, **kwargs: Any) -> Any:
    variance, mean = _variance_and_mean(*args, **kwargs)
    return variance.sqrt(), mean


def _layer_norm(
    x: Tensor, shape: Sequence[int], gain: Tensor | None, bias: Tensor | None, eps: float, **_: Any
) -> tuple[Tensor, Tensor, Tensor]:
    dims = list(range(-len(shape), 0))
    mean = x.mean(dims, keepdim=True)
    centred = x - mean
    root = ((centred * centred).mean(dims, keepdim=True) + eps).rsqrt()
    out = centred * root
    out = out if gain is None else out * gain
    return (out if bias is None else out + bias), mean, root


def _layer_norm_backward(
    gradient: Tensor,
    x: Tensor,
    shape: Sequence[int],
    mean: Tensor,
    root: Tensor,
    gain: Tensor | None,
    bias: Tensor | None,
    wanted: Sequence[bool],
    **_: Any,
) -> list[Tensor | None]:
    dims, lead = list(range(-len(shape), 0)), list(range(x.dim() - len(shape)))
    normed = (x - mean) * root
    inner = gradient if gain is None else gradient * gain
    dx = inner - inner.mean(dims, keepdim=True) - normed * (inner * normed).mean(dims, keepdim=True)
    to_gain, to_bias = gradient * normed, gradient
    if lead:
        to_gain, to_bias = to_gain.sum(lead), to_bias.sum(lead)
    return [
        found if asked else None for found, asked in zip((root * dx, to_gain, to_bias), wanted, strict=True)
    ]


def _scores(query: Tensor, key: Tensor, causal: bool, mask: Tensor | None, scale: float | None) -> Tensor:
    scores = query @ key.mT * (query.size(-1) ** -0.5 if scale is None else scale)
    if causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
        scores = scores.masked_fill(hidden, -torch.inf)
    if mask is None:
        return scores
    return scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout: float = 0.0,
    causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor]:
    scores = _scores(query, key, causal, attn_mask, scale)
    largest = scores.amax(-1, keepdim=True)
    e = (scores - largest).exp()
    total = e.sum(-1, keepdim=True)
    return (e @ value) / total, (largest + total.log()).squeeze(-1)


def _attention_backward(
    gradient: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    out: Tensor,
    logs: Tensor,
    dropout: float,
    causal: bool,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    scores = _scores(query, key, causal, attn_mask, scale)
    weights = (scores - logs.reshape(*scores.shape[:-1], 1)).exp().nan_to_num(0.0)
    inner = gradient @ value.mT - (gradient * out).sum(-1, keepdim=True)
    to_scores = weights * inner * (query.size(-1) ** -0.5 if scale is None else scale)
    return to_scores @ key, to_scores.mT @ query, weights.mT @ gradient


STEPS: dict[str, Callable[..., Any]] = {
    "_softmax": _softmax,
    "_safe_softmax": _softmax,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax": _log_softmax,
    "_log_softmax_backward_data": _log_softmax_backward,
    "logsumexp": _logsumexp,
    "var": _variance,
    "std": _deviation,
    "var_mean": _variance_and_mean,
    "std_mean": _deviation_and_mean,
    "native_layer_norm": _layer_norm,
    "native_layer_norm_backward": _layer_norm_backward,
    "_scaled_dot_product_flash_attention_for_cpu": _attention,
    "_scaled_dot_product_flash_attention_for_cpu_backward": _attention_backward,
}
