"""Solutions (encoder to kv_cache) against torch's own layers and brute force; their pages are stubs."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import itertools
import math
from types import ModuleType

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from grader.exercises.attention import solution as attention
from grader.exercises.decoder import solution as decoder
from grader.exercises.decoding import solution as decoding
from grader.exercises.encoder import solution as encoder
from grader.exercises.kv_cache import solution as kv_cache
from grader.exercises.training import solution as training
from grader.exercises.transformer import solution as transformer
from tests import ROOT, template_file

NAMES = ("encoder", "decoder", "transformer", "decoding", "training", "kv_cache")
EXERCISES = ROOT / "exercises"
D, HEADS = 8, 2


def random(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def feed_forward() -> nn.Module:
    return nn.Sequential(nn.Linear(D, 16), nn.ReLU(), nn.Linear(16, D))


def copy_attention(ours: nn.Module, theirs: nn.MultiheadAttention) -> None:
    assert theirs.in_proj_weight is not None
    for i, name in enumerate(("q_proj", "k_proj", "v_proj")):
        projection = ours.get_submodule(name)
        projection.weight.data.copy_(theirs.in_proj_weight.data[i * D : (i + 1) * D])
        projection.bias.data.copy_(theirs.in_proj_bias.data[i * D : (i + 1) * D])
    ours.get_submodule("out_proj").load_state_dict(theirs.out_proj.state_dict())


def shaken(module: nn.Module) -> nn.Module:
    """The module with other weights in every norm, too: a norm in a wrong place shows."""
    for i, parameter in enumerate(module.double().parameters()):
        parameter.data.add_(0.3 * random(*parameter.shape, seed=i))
    return module


def copy_rest(ours: nn.Module, theirs: nn.Module, norms: int) -> None:
    ours.get_submodule("feed_forward.0").load_state_dict(theirs.get_submodule("linear1").state_dict())
    ours.get_submodule("feed_forward.2").load_state_dict(theirs.get_submodule("linear2").state_dict())
    for i in range(1, norms + 1):
        ours.get_submodule(f"norm{i}").load_state_dict(theirs.get_submodule(f"norm{i}").state_dict())


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_an_encoder_layer_is_torchs(norm: str) -> None:
    theirs = nn.TransformerEncoderLayer(D, HEADS, 16, 0.0, batch_first=True, norm_first=norm == "pre")
    shaken(theirs)
    ours = encoder.EncoderLayer(attention.MultiHeadAttention(D, HEADS), feed_forward(), D, norm=norm).double()
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_rest(ours, theirs, 2)
    x, keep = random(3, 5, D), torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 1, 1]]).bool()
    wanted = theirs(x, src_key_padding_mask=~keep)
    torch.testing.assert_close(ours(x, keep[:, None, None]), wanted, rtol=0, atol=1e-12)
    stack = encoder.Encoder(lambda: ours, 1, D, norm).double()
    last = F.layer_norm(wanted, (D,)) if norm == "pre" else wanted
    torch.testing.assert_close(stack(x, keep[:, None, None]), last, rtol=0, atol=1e-12)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_decoder_layer_is_torchs(norm: str) -> None:
    theirs = nn.TransformerDecoderLayer(D, HEADS, 16, 0.0, batch_first=True, norm_first=norm == "pre")
    shaken(theirs)
    parts = [attention.MultiHeadAttention(D, HEADS) for _ in range(2)]
    ours = decoder.DecoderLayer(*parts, feed_forward(), D, norm=norm).double()
    copy_attention(ours.self_attention, theirs.self_attn)
    copy_attention(ours.cross_attention, theirs.multihead_attn)
    copy_rest(ours, theirs, 3)
    x, memory = random(2, 4, D), random(2, 6, D, seed=1)
    causal, keep = (
        torch.ones(4, 4).tril().bool(),
        torch.tensor([[1, 1, 1, 1, 0, 0], [0, 1, 1, 0, 1, 1]]).bool(),
    )
    wanted = theirs(x, memory, tgt_mask=~causal, memory_key_padding_mask=~keep)
    got = ours(x, memory, keep[:, None, None], causal)
    torch.testing.assert_close(got, wanted, rtol=0, atol=1e-12)
    stack = decoder.Decoder(lambda: ours, 1, D, norm).double()
    last = F.layer_norm(wanted, (D,)) if norm == "pre" else wanted
    torch.testing.assert_close(stack(x, memory, keep[:, None, None], causal), last, rtol=0, atol=1e-12)


def assembled(norm: str = "pre") -> transformer.Transformer:
    def make() -> nn.Module:
        return attention.MultiHeadAttention(D, HEADS)

    return transformer.Transformer(
        encoder.Encoder(lambda: encoder.EncoderLayer(make(), feed_forward(), D, norm=norm), 2, D, norm),
        decoder.Decoder(
            lambda: decoder.DecoderLayer(make(), make(), feed_forward(), D, norm=norm), 2, D, norm
        ),
        nn.Embedding(9, D),
        nn.Embedding(9, D),
        nn.Identity(),
        D,
        9,
    ).double()


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_transformer_sees_neither_the_future_nor_padding(norm: str) -> None:
    model = assembled(norm)
    src, tgt = torch.tensor([[5, 4, 3, 0]]), torch.tensor([[1, 7, 8, 3, 6]])
    logits = model(src, tgt)
    assert logits.shape == (1, 5, 9)
    other = torch.tensor([[1, 7, 8, 4, 5]])
    changed = (model(src, other) - logits).abs().amax(-1)[0] > 1e-9
    assert changed.tolist() == [False, False, False, True, True]
    torch.testing.assert_close(model(src[:, :3], tgt), logits, rtol=0, atol=1e-12)
    torch.testing.assert_close(model.decode(tgt, model.encode(src), src), logits, rtol=0, atol=0)


def test_cached_attention_is_causal_attention_step_by_step() -> None:
    ours, full = kv_cache.CachedAttention(D, HEADS).double(), attention.MultiHeadAttention(D, HEADS).double()
    full.load_state_dict(ours.state_dict())
    x, outputs, cache = random(3, 7, D), [], None
    for t in range(7):
        out, cache = ours(x[:, t : t + 1], cache)
        outputs.append(out)
    wanted = full(x, x, x, torch.ones(7, 7).tril().bool())
    torch.testing.assert_close(torch.cat(outputs, 1), wanted, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="multiple"):
        kv_cache.CachedAttention(D, 3)


class Table(nn.Module):
    """What follows a prefix is drawn from the prefix and the first id of src alone."""

    def encode(self, src: Tensor) -> Tensor:
        return src[..., None].double()

    def decode(self, tgt: Tensor, memory: Tensor, src: Tensor) -> Tensor:
        rows = []
        for prefix, first in zip(tgt.tolist(), memory[:, 0, 0].tolist(), strict=True):
            rows.append([self.follow([int(first), *prefix[: i + 1]]) for i in range(len(prefix))])
        return torch.tensor(rows, dtype=torch.float64)

    def follow(self, prefix: list[int]) -> list[float]:
        seed = 0
        for one in prefix:
            seed = seed * 7 + one + 1
        return (2 * random(5, seed=seed)).tolist()


def every_ending(model: Table, first: int, max_len: int) -> dict[tuple[int, ...], float]:
    """Sum of log-probabilities of each sequence that ends with EOS or is max_len long."""
    found: dict[tuple[int, ...], float] = {}
    for ids in itertools.product(range(5), repeat=max_len):
        end = ids.index(2) + 1 if 2 in ids else max_len
        total = 0.0
        for i in range(end):
            total += math.log(torch.tensor(model.follow([first, 1, *ids[:i]])).softmax(0)[ids[i]].item())
        found[ids[:end]] = total
    return found


def test_a_beam_that_holds_everything_finds_the_best_of_all() -> None:
    model = Table()
    src = torch.tensor([[3], [4], [5]])
    for penalty in (0.0, 0.6, 2.0):
        got = decoding.beam_search(model, src, 125, 3, penalty).tolist()
        for first, row in zip((3, 4, 5), got, strict=True):
            sums = every_ending(model, first, 3)
            best = max(sums, key=lambda ids: sums[ids] / ((5 + len(ids)) / 6) ** penalty)
            assert tuple(row[: len(best)]) == best
            assert not any(row[len(best) :])


def test_a_beam_of_one_is_greedy_and_greedy_takes_the_best_each_time() -> None:
    model, src = Table(), torch.arange(3, 15)[:, None]
    greedy = decoding.greedy_decode(model, src, 6)
    assert torch.equal(decoding.beam_search(model, src, 1, 6), greedy)
    ends = set()
    for first, row in zip(src.flatten().tolist(), greedy.tolist(), strict=True):
        ids: list[int] = []
        while len(ids) < 6 and 2 not in ids:
            logits = model.follow([first, 1, *ids])
            ids.append(logits.index(max(logits)))
        ends.add(len(ids))
        assert row == ids + [0] * (len(row) - len(ids))
    assert len(ends) > 1


@pytest.mark.parametrize(("d_model", "warmup"), [(512, 4000), (64, 20)])
def test_noam_is_the_formula(d_model: int, warmup: int) -> None:
    for step in (1, 2, warmup - 1, warmup, warmup + 1, 10 * warmup):
        rising, falling = step / warmup**1.5, 1 / math.sqrt(step)
        got = training.noam(step, d_model, warmup)
        assert isinstance(got, float)
        assert got == pytest.approx(min(rising, falling) / math.sqrt(d_model), rel=1e-12)


def test_words_are_spelled_backwards_and_a_step_is_one_step() -> None:
    src, tgt = training.reverse_words(["cab", "to"])
    assert src.tolist() == [[5, 3, 4], [22, 17, 0]]
    assert tgt.tolist() == [[4, 3, 5, 2], [17, 22, 2, 0]]
    assert src.dtype == tgt.dtype == torch.int64
    model = assembled().eval()
    src, tgt = src.clamp(max=8), tgt.clamp(max=8)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    shown = torch.tensor([[1, 4, 3, 5], [1, 8, 8, 2]])
    log_probs = model(src, shown).log_softmax(-1)
    wanted = -torch.stack(
        [log_probs[b, i, tgt[b, i]] for b in range(2) for i in range(4) if tgt[b, i]]
    ).mean()
    gradients = torch.autograd.grad(wanted, list(model.parameters()))
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    got = training.train_step(model, torch.optim.SGD(model.parameters(), lr=0.5), src, tgt)
    assert got == pytest.approx(wanted.item(), abs=1e-12)
    assert model.training
    for parameter, old, gradient in zip(model.parameters(), before, gradients, strict=True):
        torch.testing.assert_close(parameter.detach(), old - 0.5 * gradient, rtol=0, atol=1e-12)


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"page_{name}", template_file(name))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_its_exercise_and_imports_torch_and_math_only(name: str) -> None:
    text = template_file(name).read_text(encoding="utf-8")
    assert (EXERCISES / f"{name}.py").read_text(encoding="utf-8") == text
    tree = ast.walk(ast.parse(text))
    nodes = [node for node in tree if isinstance(node, ast.Import | ast.ImportFrom)]
    found = {(getattr(node, "module", None) or node.names[0].name).partition(".")[0] for node in nodes}
    assert found <= {"torch", "math"}


@pytest.mark.parametrize("name", NAMES)
def test_everything_on_a_page_is_still_to_be_written_and_has_three_hints(name: str) -> None:
    module = load(name)
    stubs = {
        key: one for key, one in vars(module).items() if getattr(one, "__module__", "") == module.__name__
    }
    assert stubs
    hints = importlib.import_module(f"grader.exercises.{name}.hints").HINTS
    assert set(hints) == set(stubs)
    assert {len(each) for each in hints.values()} == {3}
    for stub in stubs.values():
        arguments = [nn.Identity()] * (stub.__init__ if isinstance(stub, type) else stub).__code__.co_argcount
        with pytest.raises(NotImplementedError, match=f"^{name}: "):
            stub(*arguments[: len(arguments) - isinstance(stub, type)])
        for method in [one for key, one in vars(stub).items() if key in ("forward", "encode", "decode")]:
            with pytest.raises(NotImplementedError, match=f"^{name}: "):
                method(*[None] * method.__code__.co_argcount)
