"""Simulates another processor on this one: floating-point results are off by one unit in the last place.

On another processor, torch's kernels sum in another order, use FMA or not, and approximate `exp` differently. Every
intermediate differs in its last bits, and a gradient that is exactly 0 here is 1e-8 there. `Noise` perturbs the result
of each operation, forward and backward, by its own rounding error:

- copies, indexing, masks, max, relu and random draws are exact on every machine, and stay as they are;
- one rounding (add, mul, sqrt): one unit, unless float64 shows that nothing was rounded;
- a sum of products: epsilon times the sum of absolute terms. 0 by cancellation becomes 1e-8, a sum of zeros stays 0;
- a fused kernel (softmax, layer norm, attention) is computed in steps, each of them perturbed;
- any other operation: one unit, and 0 stays 0.

16-bit results are computed in float32, perturbed there, and then rounded: most of them do not change.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from tests.grader.fused_kernels import STEPS

ULPS = float(os.environ.get("NOISE_ULPS", "1"))


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Operations by name; those in place have the same name and an underscore. What returns a view is left alone anyway.
EXACT = _names(
    """
    _to_copy copy clone lift lift_fresh lift_fresh_copy detach alias cat stack _stack constant_pad_nd repeat
    index index_select _unsafe_index _unsafe_masked_index gather take masked_select embedding _unsafe_view _reshape_copy
    where masked_fill masked_scatter scatter index_fill index_copy fill fill_diagonal zero select_scatter slice_scatter
    diagonal_scatter as_strided_scatter tril triu diag_embed flip roll unsafe_split unsafe_split_with_sizes
    expand_copy permute_copy view_copy unfold_copy slice_copy select_copy split_copy diagonal_copy
    slice_backward select_backward diagonal_backward value_selecting_reduction_backward masked_scatter_backward
    masked_select_backward index_select_backward threshold_backward hardtanh_backward
    zeros zeros_like ones ones_like full full_like new_zeros new_ones new_full new_empty new_empty_strided empty
    empty_like empty_strided empty_permuted _efficientzerotensor arange eye scalar_tensor tril_indices
    resize resize_as set set_ _resize_output
    maximum minimum max min amax amin aminmax fmax fmin cummax cummin sort topk kthvalue median nanmedian mode
    relu threshold clamp clamp_min clamp_max hardtanh relu6 neg abs sign sgn copysign round floor ceil trunc frac
    heaviside nan_to_num nextafter frexp complex conj_physical _conj_physical
    eq ne lt le gt ge logical_and logical_or logical_not logical_xor
    rand rand_like randn randn_like randint randint_like randperm normal normal_functional uniform bernoulli random
    exponential geometric multinomial
    max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices reflection_pad1d replication_pad1d
    _pack_padded_sequence _pack_padded_sequence_backward _pad_packed_sequence
    """
)
ROUNDED = _names(
    """
    add sub rsub mul div reciprocal sqrt square pow remainder fmod floor_divide addcmul addcdiv lerp linspace addr
    _foreach_add _foreach_sub _foreach_mul _foreach_div _foreach_sqrt _foreach_addcmul _foreach_addcdiv _foreach_lerp
    """
)
SUMS = _names(
    """
    sum nansum mean trace cumsum mm bmm mv dot vdot addmm addbmm baddbmm addmv _addmm_activation linear _trilinear
    linear_backward mkldnn_linear convolution convolution_backward mkldnn_convolution index_add scatter_add
    index_put _index_put_impl _unsafe_index_put embedding_dense_backward unfold_backward nll_loss_forward
    nll_loss2d_forward
    """
)
PUTS = frozenset({"index_put", "_index_put_impl", "_unsafe_index_put"})  # sums if they accumulate
DECIDED = ROUNDED | SUMS
FACTORS = frozenset({"alpha", "beta", "value"})


class Noise(TorchDispatchMode):
    """Perturbs floating-point results while it is entered. It has its own random generator.

    Args:
        seed: of the generator.
        ulps: amplitude, in units in the last place. Default: the environment variable NOISE_ULPS, or 1.

    Attributes:
        seen: how often each operation was perturbed.
    """

    supports_higher_order_operators = True

    def __init__(self, seed: int = 0, ulps: float = ULPS) -> None:
        super().__init__()
        self.ulps = ulps
        self.seen: dict[str, int] = {}
        self._draws = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        with torch._C.DisableTorchFunction():  # other modes must not see the operations below
            return self._run(func, args, dict(kwargs or {}))

    def _run(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        name = _name_of_rounded(func)
        if not name or (name in PUTS and not _accumulates(func, args, kwargs)):
            return func(*args, **kwargs)
        if name in STEPS:
            return self._in_steps(func, STEPS[name], args, kwargs)
        if name in DECIDED or not _is_composite(func):
            return self._at_once(func, name, args, kwargs)
        with self:  # composed of other operations; only inference mode hands these over whole
            return func.decompose(*args, **kwargs)

    def _at_once(self, func: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        # Without numbers among the arguments there is mostly none to move, and nothing is overwritten.
        early = any(map(_is_noisy, _tensors((args, kwargs))))
        rounding = _Rounding(func, name, args, kwargs) if early else None
        result = func(*args, **kwargs)
        for i, target in enumerate(_results(func, args, kwargs, result)):
            if _is_noisy(target):
                rounding = rounding or _Rounding(func, name, args, kwargs)
                self._move(target, rounding.wide(i, target), rounding.size(i, target))
                self.seen[name] = self.seen.get(name, 0) + 1
        return result

    def _in_steps(
        self, func: Any, steps: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Run a fused kernel, and replace its numbers with those of its perturbed steps."""
        with self:
            noisy = _tensors(steps(*_map(_widened, args), **_map(_widened, kwargs)))
        result = func(*args, **kwargs)
        for target, value in zip(_tensors(result), noisy, strict=True):
            _replace(target, value)
        return result

    def _move(self, target: Tensor, value: Tensor, size: Tensor) -> None:
        """Overwrite a tensor with `value` plus or minus `size`."""
        if target.is_complex():
            return self._move(
                torch.view_as_real(target),
                torch.view_as_real(value),
                size.unsqueeze(-1).expand(*size.shape, 2),
            )
        signs = torch.randint(0, 2, target.shape, generator=self._draws) * (2 * self.ulps) - self.ulps
        return _replace(target, value.double() + signs * size)


class _Rounding:
    """The rounding error of one operation. Made before the operation runs, which may overwrite its arguments."""

    def __init__(self, func: Any, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        again = _Again(func, args, kwargs)
        narrow = any(_wider(x.dtype) != x.dtype for x in _tensors((args, kwargs)) if x.is_floating_point())
        known = name in DECIDED or (narrow and torch.Tag.nondeterministic_seeded not in func.tags)
        self._name, self._again, self._exact = name, again, again.exact() if known else []
        self._absolute = again.absolute() if name in SUMS else []
        if name in SUMS and _written(func)[0]:
            _ = again.terms, again.short_terms  # while its arguments are what they are

    def wide(self, i: int, x: Tensor) -> Tensor:
        """Return a 16-bit result as it was before its last rounding, and any other as it is."""
        if _wider(x.dtype) == x.dtype or not self._exact:
            return x
        near = (x - self._exact[i]).abs() <= 2 * _ulp(x) * _eps(x.dtype) / _eps(torch.float32)
        return self._exact[i].where(near, x.double())

    def size(self, i: int, x: Tensor) -> Tensor:
        """Return the error of each element of a result."""
        if self._name in ROUNDED:
            unit = _ulp(x)
            return unit.masked_fill(_unrounded(x, self._exact[i], unit), 0.0)
        if self._name not in SUMS:
            return _ulp(x)
        size = _eps(_wider(x.dtype)) * _magnitude(self._absolute[i])
        unrounded = _unrounded(x, self._exact[i], _ulp(x))
        if not unrounded.any():
            return size
        terms, short = self._again.terms[i], self._again.short_terms[i]
        alone = (terms < 1.5) & (self._name != "mean")  # a mean's terms are not counted
        return size.masked_fill(unrounded & (alone | (short == terms)), 0.0)


class _Again:
    """Repeats an operation on modified copies of its arguments."""

    def __init__(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self._func, self._args, self._kwargs = func, args, kwargs

    def absolute(self) -> list[Tensor]:
        """Return the sums of absolute terms."""
        return self._run(torch.abs, abs)

    @cached_property
    def terms(self) -> list[Tensor]:
        """The number of nonzero terms of each sum."""
        return self._run(lambda x: (x != 0).to(x.dtype), lambda factor: float(factor != 0))

    @cached_property
    def short_terms(self) -> list[Tensor]:
        """The number of nonzero terms with so few significant bits that their sum is exact."""

        def short(x: Tensor) -> Tensor:
            if x.is_complex():
                return short(x.real) & short(x.imag)
            bits = x.double().frexp().mantissa * 2**10
            return bits == bits.round()

        return self._run(
            lambda x: ((x != 0) & short(x)).to(x.dtype), lambda factor: float(factor and factor % 1 == 0)
        )

    def exact(self) -> list[Tensor]:
        """Return the results in float64."""
        wide = any(x.dtype in (torch.float64, torch.complex128) for x in _tensors((self._args, self._kwargs)))

        def number(x: Any) -> Any:  # float32 kernels round Python numbers first
            return float(torch.tensor(x, dtype=torch.float32)) if isinstance(x, float) and not wide else x

        return self._run(
            lambda x: x.to(torch.promote_types(x.dtype, torch.float64), copy=True), number=number
        )

    def _run(
        self,
        change: Callable[[Tensor], Tensor],
        factor: Callable[[float], float] = lambda factor: factor,
        number: Callable[[Any], Any] = lambda number: number,
    ) -> list[Tensor]:
        def copied(x: Any) -> Any:
            if isinstance(x, torch.dtype) and x.is_floating_point:
                return change(torch.zeros(0, dtype=x)).dtype
            if isinstance(x, Tensor):
                return change(x) if x.is_floating_point() or x.is_complex() else x.clone()
            return number(x)

        args, kwargs = _map(copied, self._args), _map(copied, self._kwargs)
        kwargs = {
            k: factor(v) if k in FACTORS and isinstance(v, (int, float)) else v for k, v in kwargs.items()
        }
        return _results(self._func, args, kwargs, self._func(*args, **kwargs))


@cache
def _name(func: Any) -> str:
    """Return an operation's name, in place or not; "" for higher-order operators, which call others."""
    schema = getattr(func, "_schema", None)
    return "" if schema is None else schema.name.rpartition("::")[2].rstrip("_")


@cache
def _name_of_rounded(func: Any) -> str:
    """Return an operation's name, "" for one whose results are exact."""
    name = _name(func)
    if not name or name in EXACT or torch.Tag.inplace_view in func.tags:
        return ""
    to, own = _written(func)
    return name if to or any(own) else ""  # the others are views


@cache
def _is_composite(func: Any) -> bool:
    return isinstance(func, torch._ops.OpOverload) and bool(
        torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
    )


def _accumulates(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    return bool(args[3] if len(args) > 3 else kwargs.get("accumulate", False))


@cache
def _written(func: Any) -> tuple[list[tuple[int, str]], list[bool]]:
    """Return the arguments that an operation writes to, and which of its results are no views."""
    schema = func._schema
    to = [(i, a.name) for i, a in enumerate(schema.arguments) if a.alias_info and a.alias_info.is_write]
    return to, [r.alias_info is None for r in schema.returns]


def _results(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> list[Tensor]:
    """Return the tensors that an operation wrote to or made, views left out."""
    to, own = _written(func)
    if not to and _name(func) in DECIDED:  # all of it is new
        return _tensors(result)
    found = [args[i] if i < len(args) else kwargs.get(name) for i, name in to]
    if to and not any(own):
        return _tensors(found)
    several = result if isinstance(result, tuple) and len(own) > 1 else (result,)[: len(own)]
    found += [value for value, mine in zip(several, own, strict=True) if mine]
    given = {x.untyped_storage()._cdata for x in _tensors((args, kwargs)) if x.layout == torch.strided}
    written = {id(x) for x in _tensors(found[: len(to)])}
    return [
        x
        for x in _tensors(found)
        if id(x) in written or x.layout != torch.strided or x.untyped_storage()._cdata not in given
    ]


def _is_noisy(x: Tensor) -> bool:
    return (x.is_floating_point() or x.is_complex()) and x.layout == torch.strided and x.numel() > 0


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, (tuple, list)):
        return []
    found: list[Tensor] = []
    for item in value:
        if isinstance(item, Tensor):
            found.append(item)
        elif isinstance(item, (tuple, list, dict)):
            found += _tensors(item)
    return found


def _map(change: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _map(change, item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_map(change, item) for item in value]
    return change(value)


def _widened(x: Any) -> Any:
    """Return 16-bit tensors in float32, in which kernels compute."""
    half = isinstance(x, Tensor) and x.is_floating_point() and x.dtype.itemsize < 4
    return x.float() if half else x


@cache
def _wider(dtype: torch.dtype) -> torch.dtype:
    return torch.promote_types(dtype, torch.float32)


@cache
def _eps(dtype: torch.dtype) -> float:
    return torch.finfo(dtype).eps


def _magnitude(x: Tensor) -> Tensor:
    return x.abs().double()


def _ulp(x: Tensor) -> Tensor:
    """Return one unit in the last place of each element, of float32 for 16-bit types; 0 for 0."""
    size = x.abs().double()
    power = size / size.frexp().mantissa  # of 2, the next larger one; 0 / 0 for 0
    return power.nan_to_num_(0.0).mul_(_eps(_wider(x.dtype)) / 2)


def _unrounded(x: Tensor, exact: Tensor, unit: Tensor) -> Tensor:
    """Return where nothing was rounded, or so little that every machine rounds alike (1e20 + 1).

    For float64 there is nothing wider to compare with: a result of few bits counts as exact.
    """

    if _wider(x.dtype) == exact.dtype:
        return x.to(torch.complex64 if x.is_complex() else torch.float32) == x
    return (x - exact).abs() <= unit * 2**-10


def _replace(target: Tensor, value: Tensor) -> None:
    value = value.to(target.dtype).reshape(target.shape)
    finite = (target.abs() < torch.inf) & (value.abs() < torch.inf)  # `isfinite` takes six times as long
    target.copy_(value.where(finite, target))
