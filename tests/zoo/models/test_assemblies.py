"""Models of one stack: what they take and give, their masks, caches and tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import CombinationError, ZooError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.rules import problems
from zoo.models.builder import build, build_decoding, parameters_by_block
from zoo.models.checkpoint import load_checkpoint, save_checkpoint
from zoo.models.transformer import Model
from zoo.parts.decoding.generate import generate
from zoo.parts.decoding.greedy import GreedyDecoding
from zoo.parts.decoding.stepper import Stepper
from zoo.training.gradients import GradientNorms

SIZES = {
    "d_model": 8, "num_heads": 2, "d_ff": 12, "num_encoder_layers": 2, "num_decoder_layers": 2,
    "src_vocab": 11, "tgt_vocab": 11, "max_len": 12, "dropout": 0.1,
}  # fmt: skip
ONE_STACK = ("decoder", "encoder")
TOKENS = torch.tensor([[3, 4, 5, 6], [7, 8, 9, 10]])
PADDED = torch.tensor([[3, 4, 5, 6, 0, 0], [7, 8, 0, 0, 0, 0]])


def blueprint(assembly: str, **changes: Any) -> Blueprint:
    return make_blueprint(**{**SIZES, "assembly": assembly, **changes})


def make(assembly: str, **changes: Any) -> Any:
    """The model in eval mode and float64, its parameters away from 0 and 1."""
    return stirred(build(blueprint(assembly, **changes), seed=0))


def stirred(model: nn.Module) -> Any:
    generator = torch.Generator().manual_seed(0)
    model.double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=generator, dtype=parameter.dtype)
    return model


def close(got: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(got, expected, rtol=1e-9, atol=1e-10)


def changed(tokens: Tensor, place: int) -> Tensor:
    other = tokens.clone()
    other[:, place] = tokens[:, place] % 8 + 3
    return other


@pytest.mark.parametrize("assembly", ONE_STACK)
def test_tokens_in_and_scores_for_each_position_out(assembly: str) -> None:
    assert make(assembly)(TOKENS).shape == (2, 4, 11)


def test_each_position_of_a_decoder_sees_itself_and_what_came_before() -> None:
    model = make("decoder")
    before = model(TOKENS)
    for place in range(4):
        moved = (model(changed(TOKENS, place)) - before).abs().amax(-1) > 1e-9  # [B, L]
        assert not moved[:, :place].any()
        assert moved[:, place:].all()


def test_each_position_of_an_encoder_sees_all() -> None:
    model = make("encoder")
    before = model(TOKENS)
    for place in range(4):
        assert ((model(changed(TOKENS, place)) - before).abs().amax(-1) > 1e-9).all()


@pytest.mark.parametrize("assembly", ONE_STACK)
def test_padding_is_hidden(assembly: str) -> None:
    model = make(assembly)
    together = model(PADDED)
    close(together[:1, :4], model(PADDED[:1, :4]))
    close(together[1:, :2], model(PADDED[1:, :2]))


def test_the_names_in_state_dict_are_those_of_the_same_stack_in_an_encoder_decoder() -> None:
    whole = build(blueprint("encoder-decoder"), seed=0).state_dict()
    for assembly, side in (("decoder", "tgt"), ("encoder", "src")):
        state = build(blueprint(assembly, encoding="learned"), seed=0).state_dict()
        names = {name for name in state if not name.startswith(f"{side}_positions.")}
        assert names <= whole.keys()
        assert {name.partition(".")[0] for name in state} == {
            "embeddings", f"{side}_positions", assembly, "head"
        }  # fmt: skip


def test_an_encoder_by_itself_is_that_of_an_encoder_decoder() -> None:
    whole, alone = stirred(build(blueprint("encoder-decoder"), seed=0)), make("encoder")
    alone.load_state_dict({name: whole.state_dict()[name] for name in alone.state_dict()})
    close(alone.encode(PADDED), whole.encode(PADDED))


@pytest.mark.parametrize(
    ("assembly", "embedding"),
    [
        (assembly, one.name)
        for assembly in ONE_STACK
        for one in get_registry().variants("embedding")
        if not problems(make_plan(blueprint(assembly, embedding=one.name)))
    ],
)
def test_no_table_is_without_use(assembly: str, embedding: str) -> None:
    model: Any = build(blueprint(assembly, embedding=embedding), seed=0)
    model(TOKENS).sum().backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    tables = [name for name, _ in model.named_parameters(remove_duplicate=False) if "table" in name]
    assert len(tables) == 1
    if get_registry().get("embedding", embedding).capabilities["tied"]:
        assert model.head.weight is model.get_parameter(tables[0])


@pytest.mark.parametrize("assembly", ONE_STACK)
def test_parameters_by_block_sum_to_the_total(assembly: str) -> None:
    model = build(blueprint(assembly, encoding="learned"), seed=0)
    counts = parameters_by_block(model)
    assert sum(counts.values()) == sum(p.numel() for p in model.parameters())
    assert list(counts) == [
        "embeddings", "positions", f"{assembly} layer 1", f"{assembly} layer 2", f"{assembly} final norm", "head",
    ]  # fmt: skip
    assert GradientNorms(model).columns == (
        "grad embeddings", f"grad {assembly} 1", f"grad {assembly} 2", "grad head",
    )  # fmt: skip


@pytest.mark.parametrize("assembly", ONE_STACK)
@pytest.mark.parametrize("embedding", ["scaled", "three-way"])
def test_a_checkpoint_comes_back(assembly: str, embedding: str, tmp_path: Path) -> None:
    chosen = blueprint(assembly, embedding=embedding)
    model = build(chosen, seed=1).eval()
    save_checkpoint(tmp_path, model, chosen)
    loaded = load_checkpoint(tmp_path)
    assert loaded.blueprint == chosen
    assert type(loaded.model) is type(model)
    assert torch.equal(loaded.model(TOKENS), model(TOKENS))


@pytest.mark.parametrize(
    ("assembly", "alpha", "gain"),
    [("decoder", (2 * 2) ** 0.25, (8 * 2) ** -0.25), ("encoder", (2 * 2) ** 0.25, (8 * 2) ** -0.25)],
)
def test_deepnorm_has_the_constants_of_one_stack(assembly: str, alpha: float, gain: float) -> None:
    layer: Any = build(blueprint(assembly, norm="deepnorm"), seed=0).get_submodule(f"{assembly}.layers.0")
    assert (layer.norm.alpha, layer.norm.gain) == (alpha, gain)


def test_the_last_matrix_of_a_branch_is_drawn_smaller_with_depth_by_gpt2() -> None:
    sizes = {"d_model": 128, "num_decoder_layers": 8, "num_encoder_layers": 1}
    state = build(blueprint("decoder", init="gpt2", **sizes), seed=0).state_dict()
    for name in ("self_attention.out_proj", "feed_forward.down_proj"):
        std = state[f"decoder.layers.0.{name}.weight"].std().item()
        assert std == pytest.approx(0.02 / 4, rel=0.1)


class TestGenerating:
    """A decoder goes on with a prompt."""

    @pytest.mark.parametrize("variant", get_registry().variants("decoding"), ids=lambda v: v.name)
    def test_cached_answers_are_those_computed_anew(self, variant: Any) -> None:
        chosen = blueprint("decoder", decoding=variant.name)
        model, decoding = make("decoder"), build_decoding(chosen)
        answers = []
        for cached in (True, False):
            torch.manual_seed(3)
            answers.append(generate(model, PADDED[:, :4], 6, decoding, cached=cached))
        assert torch.equal(*answers)
        assert answers[0].shape[0] == 2

    def test_the_cache_gives_what_the_whole_gives(self) -> None:
        for attention in ("eager", "fused", "gqa", "mqa"):
            for encoding in ("sinusoidal", "rotary", "alibi", "learned"):
                model = make("decoder", attention=attention, encoding=encoding)
                caches = model.new_caches()
                first = model.decode(TOKENS[:, :2], caches)
                steps = [model.decode(TOKENS[:, :n], caches) for n in (3, 4)]
                close(torch.cat((first, *steps), dim=1), model(TOKENS))

    def test_a_prompt_is_gone_on_with_and_not_repeated(self) -> None:
        model, tokens = make("decoder"), TOKENS
        got = generate(model, tokens, 5, GreedyDecoding(), eos=99)
        assert got.shape == (2, 5)
        for _ in range(5):
            output = model(tokens)[:, -1].clone()
            output[:, 0] = float("-inf")  # padding never comes
            tokens = torch.cat((tokens, output.argmax(-1, keepdim=True)), dim=1)
        assert torch.equal(got, tokens[:, 4:])

    def test_prompts_of_different_lengths_do_not_disturb_each_other(self) -> None:
        model = make("decoder")
        together = generate(model, PADDED, 4, GreedyDecoding(), eos=99)
        for row in range(2):
            assert torch.equal(
                together[row : row + 1], generate(model, PADDED[row : row + 1], 4, GreedyDecoding(), eos=99)
            )

    def test_without_a_prompt_it_starts_with_sos(self) -> None:
        model = make("decoder")
        empty, sos = torch.zeros(1, 2, dtype=torch.int64), torch.ones(1, 1, dtype=torch.int64)
        assert torch.equal(*(generate(model, one, 4, GreedyDecoding()) for one in (empty, sos)))
        assert torch.equal(
            generate(model, torch.zeros(1, 0, dtype=torch.int64), 4, GreedyDecoding()),
            generate(model, sos, 4, GreedyDecoding()),
        )

    def test_rows_are_reordered_with_their_caches(self) -> None:
        model = make("decoder")
        steppers = [Stepper(model, TOKENS, cached) for cached in (True, False)]
        token = TOKENS[:, -1]
        for rows in ([1, 0], [0, 0, 1], [2, 1]):
            got, expected = (stepper.step(token) for stepper in steppers)
            close(got, expected)
            for stepper in steppers:
                stepper.select(torch.tensor(rows))
            token = torch.arange(len(rows)) + 4

    def test_an_encoder_generates_nothing(self) -> None:
        with pytest.raises(CombinationError, match=r"it has no decoder\. Use assembly=decoder, or"):
            generate(make("encoder"), TOKENS, 3, GreedyDecoding())


class TestOwn:
    """An assembly from somebody's own file."""

    def build(self, file: Path, code: str) -> Model:
        file.write_text(code)
        return build(make_blueprint(**SIZES, assembly=f"{file}:Mine"), seed=0)

    def test_a_class_derived_from_model_will_do(self, tmp_path: Path) -> None:
        code = (
            "from zoo.models.transformer import Model\n\n"
            "class Mine(Model):\n"
            "    stacks = ('decoder',)\n"
            "    def __init__(self, parts):\n"
            "        super().__init__(parts)\n"
            "        self.embeddings, self.tgt_positions = parts.embeddings('tgt'), parts.positions(causal=True)\n"
            "        self.decoder, self.head = parts.causal_decoder(), parts.head(self.embeddings)\n"
            "    def forward(self, tokens):\n"
            "        x, more = self.embed_tgt(tokens)\n"
            "        return self.head(self.decoder(x, self.tgt_mask(tokens, x), **more))\n"
        )
        model = self.build(tmp_path / "mine.py", code)
        same = build(blueprint("decoder"), seed=0).eval()
        same.load_state_dict(model.state_dict())
        assert torch.equal(model.eval()(TOKENS), same(TOKENS))

    def test_another_class_is_refused_with_a_sentence(self, tmp_path: Path) -> None:
        code = "from torch import nn\nclass Mine(nn.Identity): pass"
        with pytest.raises(
            ZooError, match=r"expected a class derived from zoo\.models\.transformer\.Model, got Mine"
        ):
            self.build(tmp_path / "mine.py", code)
