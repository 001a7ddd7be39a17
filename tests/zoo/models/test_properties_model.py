"""What must hold for a Transformer whatever it is built from, beside what `zoo.analysis.checks` looks at.

Every variant is in one of the models; `test_pairs` has all pairs.
"""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from tests.zoo.support import fitting
from tests.zoo.torch_features import AROUND, covering, flex_is_slow
from zoo.core.blueprint import Blueprint
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.models.builder import build
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.models.transformer import Transformer
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding

PAD, SOS, EOS, VOCAB, MAX_LEN = 0, 1, 2, 11, 16
SIZES = {
    "d_model": 8,
    "num_heads": 2,
    "d_ff": 12,
    "num_encoder_layers": 2,
    "num_decoder_layers": 2,
    "dropout": 0.1,  # no effect in eval mode, in which all of this runs
    "src_vocab": VOCAB,
    "tgt_vocab": VOCAB,
    "max_len": MAX_LEN,
}


CASES = covering(*AROUND)
every_variant = pytest.mark.parametrize("case", flex_is_slow(CASES))


def blueprint_of(case: str) -> Blueprint:
    """The default blueprint with these choices, and what goes with them; skipped where a rule refuses it."""
    blueprint = fitting(dict(part.split("=") for part in case.split(",")), **SIZES)
    refused = problems(make_plan(blueprint))
    if refused:
        pytest.skip("; ".join(refused.values()))
    return blueprint


def make(case: str, seed: int = 0) -> Transformer:
    """The model in eval mode and float64, no parameter of it at a value that hides anything (0 or 1)."""
    model = build(blueprint_of(case), seed=seed).double().eval()
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return model


def words(rows: int, length: int, seed: int = 0) -> Tensor:
    """Tokens that are neither PAD nor SOS nor EOS. [B, T]"""
    return torch.randint(3, VOCAB, (rows, length), generator=torch.Generator().manual_seed(seed))


def ragged(tokens: Tensor) -> Tensor:
    """The same with rows that end in more and more padding; the first is full, no row is empty."""
    kept = torch.arange(tokens.size(0), 0, -1)[:, None] * tokens.size(1) // tokens.size(0)
    return tokens.masked_fill(torch.arange(tokens.size(1)) >= kept, PAD)


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-10)


def differ(a: Tensor, b: Tensor) -> bool:
    return bool((a - b).abs().max() > 1e-6)


@every_variant
def test_no_gradient_comes_from_later_positions_and_some_from_all_earlier_ones(case: str) -> None:
    model, src, tgt = make(case), ragged(words(3, 5)), words(3, 6, seed=1)
    memory = model.encode(src)
    x = model.tgt_positions(model.embeddings.tgt(tgt)).detach().requires_grad_()
    positions = model.tgt_positions.positions(6, 6, x)
    hidden = model.decoder(x, memory, model.src_mask(src, x), model.tgt_mask(tgt, x), positions=positions)
    cotangent = torch.randn(hidden.size(-1), dtype=hidden.dtype)  # a plain sum is blind behind a norm
    for place in range(6):
        (gradient,) = torch.autograd.grad((hidden[:, place] * cotangent).sum(), x, retain_graph=True)
        assert torch.all(gradient[:, place + 1 :] == 0)
        assert torch.all(gradient[:, : place + 1].abs().amax(-1) > 0)


@every_variant
def test_the_encoder_is_permutation_equivariant_just_where_positions_are_not_told_apart(case: str) -> None:
    model, src = make(case), words(2, 6)
    blueprint = blueprint_of(case)
    positional = get_registry().get("encoding", blueprint["encoding"].name).capabilities["positional"]
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    permuted, expected = model.encode(src[:, order]), model.encode(src)[:, order]
    if positional:
        assert differ(permuted, expected)
    else:
        close(permuted, expected)


@pytest.mark.parametrize("attention", [v.name for v in get_registry().variants("attention")])
def test_without_positions_the_order_of_the_source_does_not_matter_to_the_logits(attention: str) -> None:
    model, src, tgt = make(f"attention={attention},encoding=none"), words(2, 6), words(2, 4, seed=1)
    close(model(src.flip(1), tgt), model(src, tgt))


def ends(rows: Tensor) -> list[int]:
    """At which step each row ended; one past the last if it did not."""
    return [row.index(EOS) if EOS in row else len(row) for row in rows.tolist()]


@every_variant
@pytest.mark.sampled(3)
def test_greedy_decoding_of_a_batch_equals_row_by_row(case: str) -> None:
    src, steps = ragged(words(6, 5)), 8
    for seed in range(100):  # until the rows of a random model end at different steps
        model = make(case, seed)
        together = generate(model, src, steps, GreedyDecoding())
        if len(set(ends(together))) > 2:
            break
    else:
        pytest.fail("no model of 100 ended its rows at three different steps")
    for row, end in zip(range(6), ends(together), strict=True):
        alone = generate(model, src[row : row + 1], steps, GreedyDecoding())
        assert alone.size(1) == min(end + 1, steps)
        assert alone[0].tolist() == together[row, : alone.size(1)].tolist()
        assert torch.all(together[row, alone.size(1) :] == PAD)


@every_variant
def test_a_saved_and_reloaded_model_gives_the_same_logits_bit_for_bit(case: str, tmp_path: Path) -> None:
    model, src, tgt = make(case).float(), ragged(words(3, 5)), words(3, 4, seed=1)
    save_checkpoint(tmp_path, model, blueprint_of(case))
    loaded = load_checkpoint(tmp_path)
    assert loaded.blueprint == blueprint_of(case)
    assert torch.equal(loaded.model(src, tgt), model(src, tgt))
