"""torch.compile: every model is one graph, and gives what it gives without."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.zoo.torch_features import AROUND, Batch, batch, covering, make, run
from zoo.models.transformer import Transformer
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding

COMPILER = shutil.which(os.environ.get("CXX", "g++"))
CASES = covering(*AROUND)


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Nothing compiled is kept: the models share their code, and only so many versions of it are."""
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def same(model: Transformer, compiled: object, given: Batch, tolerance: float = 1e-9) -> None:
    """Outputs and gradients with and without compilation."""
    expected, expected_gradients = run(model, model, given)
    got, gradients = run(compiled, model, given)
    torch.testing.assert_close(got, expected, rtol=tolerance, atol=tolerance)
    torch.testing.assert_close(gradients, expected_gradients, rtol=tolerance, atol=10 * tolerance)


@pytest.mark.parametrize("case", CASES[::6])
@pytest.mark.sampled(2)
def test_a_model_becomes_one_graph_that_equals_it(case: str) -> None:
    """Some models; all are in the next test."""
    model = make(case)
    same(model, torch.compile(model, backend="eager", fullgraph=True), batch())


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_every_variant_becomes_one_graph_in_training_and_for_any_shape(case: str) -> None:
    """In training with dropout; then without, at two other shapes, for which torch takes sizes for variables."""
    model = make(case, dropout=0.3)
    compiled = torch.compile(model, backend="eager", fullgraph=True)
    outputs = []
    for _ in range(2):
        out, gradients = run(compiled, model, batch())
        assert torch.isfinite(out).all()
        assert all(torch.isfinite(gradient).all() for gradient in gradients.values())
        outputs.append(out)
    assert not torch.equal(*outputs)
    model.eval()
    for given in (batch(2, 9, 7, seed=1), batch(4, 5, 11, seed=2)):
        same(model, compiled, given)


def test_training_with_dropout_is_one_graph() -> None:
    for attention in ("eager", "fused"):
        torch._dynamo.reset()
        model = make(f"attention={attention}", dropout=0.3)
        compiled = torch.compile(model, backend="eager", fullgraph=True)
        first, second = (run(compiled, model, batch())[0] for _ in range(2))
        assert torch.isfinite(first).all()
        assert not torch.equal(first, second)


def test_a_compiled_model_decodes_as_before() -> None:
    model, src = make("attention=fused"), batch().src
    expected = generate(model, src, 6, GreedyDecoding())
    compiled: Transformer = torch.compile(model, backend="eager")  # type: ignore[assignment]
    assert torch.equal(generate(compiled, src, 6, GreedyDecoding()), expected)


@torch.no_grad()
def test_encoding_and_decoding_are_graphs_by_themselves() -> None:
    model, given = make("attention=fused").eval(), batch()
    encode = torch.compile(model.encode, backend="eager", fullgraph=True)
    decode = torch.compile(model.decode, backend="eager", fullgraph=True)
    got = decode(given.tgt, encode(given.src), given.src)
    torch.testing.assert_close(got[given.real], model(*given)[given.real])


@pytest.mark.slow
@pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler, and there is none")
@pytest.mark.filterwarnings(  # torch's own, while it imports its compiler
    "ignore:.torch.jit.script_method. is deprecated:DeprecationWarning"
)
def test_what_the_compiler_makes_of_it_equals_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default backend: C++ here, forward and backward, and torch's fused kernel."""
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path))
    case = "attention=gqa,encoding=rotary,norm=post,norm-type=rmsnorm,feedforward=swiglu,mask=additive"
    model = make(case, dtype=torch.float32)
    same(model, torch.compile(model, fullgraph=True), batch(), tolerance=1e-4)
