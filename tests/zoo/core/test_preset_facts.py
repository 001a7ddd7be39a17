"""Presets that come from somewhere keep the facts of their source, its traps included."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from zoo.core.blueprint import get_preset
from zoo.core.errors import CombinationError
from zoo.core.plan import make_plan
from zoo.core.plugins import get_registry
from zoo.core.recipe import Recipe
from zoo.core.rules import problems
from zoo.models.builder import build, build_decoding, build_loss, build_schedule, parameters_by_block
from zoo.models.transformer import Transformer
from zoo.parts.attention.sliding import SlidingAttention
from zoo.parts.decoding.generate import generate
from zoo.training.trainer import exact_match, load_task, train

SMALL = {
    "d_model": 16, "num_heads": 2, "d_ff": 24, "num_encoder_layers": 2, "num_decoder_layers": 2,
    "src_vocab": 13, "tgt_vocab": 13, "max_len": 12,
}  # fmt: skip
PAPERS_SIZES = (512, 8, 2048, 6, 6)


def small(name: str, corrected: bool = False) -> Transformer:
    """The preset with small sizes, in eval mode and float64."""
    blueprint = get_preset(name).blueprint(corrected).with_sizes(**SMALL)
    return build(blueprint, seed=0).double().eval()


def whole(name: str) -> Transformer:
    """The preset as it is, its shapes without numbers."""
    with torch.device("meta"):
        return build(get_preset(name).blueprint(), seed=0)


def main_sizes(name: str) -> tuple[int, ...]:
    sizes = get_preset(name).blueprint().sizes
    return (
        sizes.d_model, sizes.num_heads, sizes.d_ff, sizes.num_encoder_layers, sizes.num_decoder_layers,
    )  # fmt: skip


def tokens(*rows: list[int]) -> Tensor:
    return torch.tensor(rows)


SRC, TGT = tokens([3, 4, 5, 6], [7, 8, 9, 10]), tokens([1, 5, 6], [1, 7, 8])
PADDED = tokens([3, 4, 5, 6, 0, 0], [7, 8, 9, 10, 0, 0])


def padding_matters(model: Transformer) -> bool:
    """Whether an answer depends on how much padding its source was given."""
    return not torch.allclose(model(PADDED, TGT), model(SRC, TGT), atol=1e-9)


def sees_the_future(model: Transformer) -> bool:
    later = TGT.clone()
    later[:, 2] = 11
    return not torch.allclose(model(SRC, later)[:, :2], model(SRC, TGT)[:, :2], atol=1e-9)


def norm_first(model: Transformer) -> bool:
    """Whether a layer is x + f(norm(x)); the alternative is norm(x + f(x))."""
    layer: Any = model.encoder.layers[0]
    x = torch.randn(1, 3, 16, dtype=torch.float64)
    doubled = layer.norm(x, lambda h: 0 * h, lambda h: 0 * h)
    return torch.allclose(doubled, x)


@pytest.mark.parametrize("name", ["from-scratch", "using-pytorch", "assembled"])
def test_the_articles_without_final_norms_norm_after_the_sum(name: str) -> None:
    model = small(name)
    assert not norm_first(model)
    assert isinstance(model.encoder.final_norm, nn.Identity)
    assert isinstance(model.decoder.final_norm, nn.Identity)


class TestFromScratch:
    def test_its_sizes(self) -> None:
        assert main_sizes("from-scratch") == PAPERS_SIZES
        sizes = get_preset("from-scratch").blueprint().sizes
        assert (sizes.dropout, sizes.max_len) == (0.0, 5000)

    def test_its_count_of_parameters(self) -> None:
        attention, network, norm = 4 * (512 * 512 + 512), 2 * 512 * 2048 + 2048 + 512, 2 * 512
        layers = 6 * (attention + network + 2 * norm) + 6 * (2 * attention + network + 3 * norm)
        tables = 1000 * 512 + (1000 * 512 + 1000)  # one embedding for both sides, and the head
        assert sum(p.numel() for p in whole("from-scratch").parameters()) == layers + tables

    def test_one_embedding_for_both_sides_unscaled(self) -> None:
        model = small("from-scratch")
        assert torch.equal(model.embeddings.src(SRC), model.embeddings.tgt(SRC))
        table = model.embeddings.table.weight  # type: ignore[union-attr]
        assert torch.equal(model.embeddings.src(SRC)[0, 0], table[3])

    def test_its_table_is_drawn_as_torch_does(self) -> None:
        blueprint = (
            get_preset("from-scratch").blueprint().with_sizes(num_encoder_layers=1, num_decoder_layers=1)
        )
        assert build(blueprint, seed=0).embeddings.table.weight.std().item() == pytest.approx(1, rel=0.02)  # type: ignore[union-attr]

    def test_the_target_is_causal_and_padding_is_attended_to(self) -> None:
        assert not sees_the_future(small("from-scratch"))
        assert padding_matters(small("from-scratch"))
        assert not padding_matters(small("from-scratch", corrected=True))

    def test_hidden_scores_are_filled(self) -> None:
        assert str(get_preset("from-scratch").blueprint()["attention"]).startswith("filled:")
        assert get_preset("from-scratch").blueprint()["attention"].options["fill"] == -1e9

    def test_greedy_and_beam_search_decode(self) -> None:
        model, blueprint = small("from-scratch"), get_preset("from-scratch").blueprint()
        assert blueprint["decoding"].name == "greedy"
        for one in (blueprint, blueprint.with_choices(decoding="beam")):
            assert generate(model, SRC, 4, build_decoding(one)).shape[0] == 2


class TestPublishedModels:
    """Numbers of parameters as published, to the last one."""

    @staticmethod
    def counts(name: str) -> dict[str, int]:
        with torch.device("meta"):
            model = build(get_preset(name).blueprint(), seed=0)
        found = parameters_by_block(model)
        assert sum(found.values()) == sum(p.numel() for p in model.parameters())
        return found

    def test_gpt2(self) -> None:
        counts = self.counts("gpt2")
        assert counts["embeddings"] == 50257 * 768
        assert counts["positions"] == 1024 * 768
        assert {n: c for n, c in counts.items() if "layer" in n} == {
            f"decoder layer {i}": 7_087_872 for i in range(1, 13)
        }
        assert sum(counts.values()) == 124_439_808

    def test_llama(self) -> None:
        counts = self.counts("llama-3.2-1b-like")
        assert counts["decoder layer 16"] == 60_821_504
        assert sum(counts.values()) == 1_235_814_400

    def test_gemma(self) -> None:
        counts = self.counts("gemma-3-like")
        assert counts["embeddings"] == 262_144 * 1152
        assert {n: c for n, c in counts.items() if "layer" in n} == {
            f"decoder layer {i}": 26_842_112 for i in range(1, 27)
        }
        assert sum(counts.values()) == 999_885_952

    def test_gemmas_layers_in_turn(self) -> None:
        sizes = {
            "d_model": 12,
            "num_decoder_layers": 26,
            "src_vocab": 9,
            "tgt_vocab": 9,
            "max_len": 8,
            "d_ff": 4,
        }
        model: Any = build(get_preset("gemma-3-like").blueprint().with_sizes(**sizes), seed=0)
        full = [
            number for number, layer in enumerate(model.decoder.layers, 1)
            if not isinstance(layer.self_attention, SlidingAttention)
        ]  # fmt: skip
        assert full == [6, 12, 18, 24]
        assert model.decoder.layers[0].self_attention.window == 512 - 1  # and the query itself
        for number, layer in enumerate(model.decoder.layers):
            attention = layer.self_attention
            assert (attention.num_heads, attention.num_kv_heads, attention.head_width) == (4, 1, 256)
            positions = model.tgt_positions.kinds[model.tgt_positions.layers[number]]
            base = 1_000_000 if number + 1 in full else 10_000
            second = positions.cos[1, 1].item()
            assert second == pytest.approx(math.cos(base ** (-2 / 256)), rel=1e-6)

    def test_bert(self) -> None:
        counts = self.counts("bert-base")
        assert sum(count for name, count in counts.items() if "layer" in name) == 85_054_464
        segments, norm, transform = 2 * 768, 2 * 768, 768 * 768 + 768 + 2 * 768
        published = 109_514_298  # with the head for masked tokens
        assert sum(counts.values()) + segments + norm + transform == published
        assert sum(counts.values()) == 108_919_098
        assert segments + norm + transform == 595_200

    @pytest.mark.parametrize(
        "name", ["gpt2", "llama-3.2-1b-like", "bert-base", "gpt-tiny", "bert-tiny", "modernbert-tiny"]
    )
    def test_the_head_shares_the_table(self, name: str) -> None:
        tiny = {"num_encoder_layers": 1, "num_decoder_layers": 1, "max_len": 8}
        vocabulary = {"src_vocab": 9, "tgt_vocab": 9}
        model = build(get_preset(name).blueprint().with_sizes(**tiny, **vocabulary), seed=0)
        table: Any = model.embeddings.tgt_table
        assert model.head.weight is table.weight
        assert table.weight.std().item() == pytest.approx(0.02, rel=0.1)
        tokens = tokens_of = torch.tensor([[3, 4, 5, 6]])
        side: Any = getattr(model.embeddings, "src" if "encoder" in model.stacks else "tgt")
        assert torch.equal(side(tokens_of), table(tokens))  # no factor

    def test_gpt2_norms_first_and_bert_after_the_sum(self) -> None:
        for name, last in (("gpt2", True), ("bert-base", False)):
            model: Any = build(get_preset(name).blueprint().with_sizes(**SMALL), seed=0)
            stack = model.get_submodule(model.stacks[0])
            assert isinstance(stack.final_norm, nn.LayerNorm) is last

    def test_bert_draws_all_its_matrices_alike(self) -> None:
        sizes = {**SMALL, "d_model": 128, "d_ff": 128}
        state = build(get_preset("bert-base").blueprint().with_sizes(**sizes), seed=0).state_dict()
        for name in ("self_attention.out_proj", "self_attention.q_proj", "feed_forward.down_proj"):
            assert state[f"encoder.layers.0.{name}.weight"].std().item() == pytest.approx(0.02, rel=0.05)


class TestUsingPytorch:
    def test_its_recipe_is_adam_on_cross_entropy_that_leaves_0_out(self) -> None:
        preset = get_preset("using-pytorch")
        recipe = Recipe(**preset.recipe)
        assert (recipe.lr, recipe.betas, recipe.eps, recipe.weight_decay) == (1e-4, (0.9, 0.98), 1e-9, 0.0)
        assert (recipe.steps, recipe.batch_size) == (100, 64)
        schedule = build_schedule(preset.blueprint(), recipe.steps, recipe.warmup)
        assert {schedule(step) for step in range(100)} == {1.0}
        logits = torch.randn(1, 2, 5)
        expected = nn.functional.cross_entropy(logits[0, :1], torch.tensor([3]))
        torch.testing.assert_close(build_loss(preset.blueprint())(logits, tokens([3, 0])), expected)

    def test_two_embeddings_and_dropout_on_branches_and_embeddings_alone(self) -> None:
        model = build(get_preset("using-pytorch").blueprint().with_sizes(**SMALL), seed=0)
        assert not torch.equal(model.embeddings.src(SRC), model.embeddings.tgt(SRC))
        rates = {name: m.p for name, m in model.named_modules() if isinstance(m, nn.Dropout)}
        assert {rate for name, rate in rates.items() if "attention" in name or "feed_forward" in name} == {
            0.0
        }
        assert {rate for name, rate in rates.items() if ".norm." in name or name == "dropout"} == {0.1}

    def test_a_padded_row_of_the_target_sees_everything(self) -> None:
        """The trap: the row is hidden whole, and an even softmax is left of it."""
        tgt, later = tokens([0, 5, 6], [0, 7, 8]), tokens([0, 5, 11], [0, 7, 12])

        def leaks(model: Transformer) -> bool:
            return not torch.allclose(model(SRC, tgt)[:, 0], model(SRC, later)[:, 0], atol=1e-9)

        assert leaks(small("using-pytorch"))
        assert not leaks(small("using-pytorch", corrected=True))

    def test_with_padding_at_the_end_no_real_position_sees_it(self) -> None:
        model = small("using-pytorch")
        longer = nn.functional.pad(TGT, (0, 2))
        torch.testing.assert_close(model(SRC, longer)[:, :3], model(SRC, TGT))
        assert not padding_matters(model)


class TestAssembled:
    def test_its_own_example(self) -> None:
        model = build(get_preset("assembled").blueprint(), seed=0)
        assert main_sizes("assembled") == (128, 4, 512, 2, 2)
        src, tgt = torch.randint(0, 1000, (2, 10)), torch.randint(0, 1000, (2, 8))
        out = model(src, tgt)
        assert out.shape == (2, 8, 1000)
        torch.testing.assert_close(model.decode(tgt, model.encode(src), src), out)

    def test_it_is_built_on_torchs_attention(self) -> None:
        model = small("assembled")
        inner = [m for m in model.modules() if isinstance(m, nn.MultiheadAttention)]
        assert len(inner) == 2 + 2 * 2
        assert torch.equal(model.embeddings.src(SRC), model.embeddings.tgt(SRC))

    def test_the_encoder_ignores_padding_until_corrected(self) -> None:
        assert padding_matters(small("assembled"))
        assert not padding_matters(small("assembled", corrected=True))
        assert not sees_the_future(small("assembled"))


class TestWriteYourOwn:
    def test_attention_has_no_biases_and_shows_its_weights(self) -> None:
        blueprint = get_preset("write-your-own").blueprint()
        model = small("write-your-own")
        assert not [name for name, _ in model.named_parameters() if "attention" in name and "bias" in name]
        assert get_registry().get("attention", blueprint["attention"].name).capabilities["returns_weights"]

    def test_masks_travel_as_numbers_to_add(self) -> None:
        mask = small("write-your-own").src_mask(PADDED, torch.zeros(1))
        assert mask is not None
        assert mask.dtype.is_floating_point
        assert set(mask.flatten().tolist()) == {0.0, -math.inf}

    def test_the_norm_is_on_the_branch(self) -> None:
        model = small("write-your-own")
        x, norm = torch.randn(1, 3, 16, dtype=torch.float64), model.encoder.layers[0].norm
        with torch.no_grad():
            branch = nn.functional.layer_norm(torch.tanh(x), (16,))
            after = x + branch
            expected = after + nn.functional.layer_norm(torch.sin(after), (16,))
            torch.testing.assert_close(norm(x, torch.tanh, torch.sin), expected)  # type: ignore[operator]
        assert isinstance(model.encoder.final_norm, nn.Identity)

    def test_d_ff_is_d_model_and_only_the_encoders_embedding_is_scaled(self) -> None:
        sizes = get_preset("write-your-own").blueprint().sizes
        assert sizes.d_ff == sizes.d_model
        for corrected, factor in ((False, 1.0), (True, 4.0)):
            embeddings: Any = small("write-your-own", corrected).embeddings
            torch.testing.assert_close(embeddings.src(SRC), 4 * embeddings.src_table(SRC))
            torch.testing.assert_close(embeddings.tgt(SRC), factor * embeddings.tgt_table(SRC))

    @pytest.mark.slow
    def test_corrected_it_spells_words_backwards(self) -> None:
        preset = get_preset("write-your-own")
        model, data, recipe = (
            build(preset.blueprint(corrected=True), seed=0),
            load_task("reverse"),
            Recipe(**preset.recipe),
        )
        train(model, data, recipe)
        assert exact_match(model, data, data.held_out[:300]).share > 0.9


class TestDeepLearningFromScratch:
    def test_its_sizes(self) -> None:
        assert main_sizes("deep-learning-from-scratch") == PAPERS_SIZES
        sizes = get_preset("deep-learning-from-scratch").blueprint().sizes
        assert (sizes.dropout, sizes.max_len) == (0.1, 75)
        blueprint = get_preset("deep-learning-from-scratch").blueprint()
        assert blueprint["attention"].options["fill"] == -1e10
        assert blueprint["mask"].name == "bool"

    def test_pre_norm_with_final_norms(self) -> None:
        model = small("deep-learning-from-scratch")
        assert norm_first(model)
        for stack in (model.encoder, model.decoder):
            out = stack.final_norm(torch.randn(2, 3, 16, dtype=torch.float64))
            torch.testing.assert_close(out.mean(-1), torch.zeros(2, 3, dtype=torch.float64))

    def test_the_head_gives_log_probabilities_which_the_loss_takes(self) -> None:
        model, blueprint = (
            small("deep-learning-from-scratch"),
            get_preset("deep-learning-from-scratch").blueprint(),
        )
        torch.testing.assert_close(model(SRC, TGT).exp().sum(-1), torch.ones(2, 3, dtype=torch.float64))
        assert (blueprint["loss"].name, blueprint["loss"].options["smoothing"]) == ("kl", 0.1)
        assert build_loss(blueprint)(model(SRC, TGT), tokens([5, 6, 2], [7, 8, 2])) > 0

    def test_another_head_is_refused(self) -> None:
        blueprint = get_preset("deep-learning-from-scratch").blueprint().with_choices(head="logits")
        assert "unbounded below" in problems(make_plan(blueprint))["loss-and-head"]
        with pytest.raises(CombinationError, match="head=log-softmax or loss="):
            build(blueprint)

    def test_every_matrix_is_drawn_by_xavier_and_layers_start_apart(self) -> None:
        model = build(get_preset("deep-learning-from-scratch").blueprint().with_sizes(**SMALL), seed=0)
        for name, value in model.state_dict().items():
            if value.dim() > 1:
                bound = (6 / sum(value.shape)) ** 0.5
                assert 0.8 * bound < value.abs().max() <= bound, name
        first, second = (layer.feed_forward.up_proj.weight for layer in model.encoder.layers)  # type: ignore[union-attr]
        assert not torch.equal(first, second)  # type: ignore[arg-type]

    def test_corrected_a_source_of_padding_alone_is_attended_to_by_nobody(self) -> None:
        nothing = tokens([0, 0, 0], [0, 0, 0])
        for corrected in (False, True):
            attention: Any = small("deep-learning-from-scratch", corrected).encoder.layers[0].self_attention  # type: ignore[union-attr]
            x, keep = torch.randn(2, 3, 16, dtype=torch.float64), (nothing != 0)[:, None, None]
            weights = attention.forward_with_weights(x, x, x, keep)[1]
            expected = torch.full_like(weights, 0.0 if corrected else 1 / 3)
            torch.testing.assert_close(weights, expected)


class TestVaswani:
    def test_the_size_of_the_base_model(self) -> None:
        assert main_sizes("vaswani2017") == PAPERS_SIZES
        count = sum(p.numel() for p in whole("vaswani2017").parameters())
        assert count == pytest.approx(65e6, rel=0.04)  # table 3

    def test_one_table_serves_all_three_and_is_scaled(self) -> None:
        model = small("vaswani2017")
        assert model.head.weight is model.embeddings.tgt_table.weight  # type: ignore[union-attr]
        assert torch.equal(model.embeddings.src(SRC), model.embeddings.tgt(SRC))
        torch.testing.assert_close(model.embeddings.src(SRC), 4 * model.head.weight[SRC])  # type: ignore[index]

    def test_the_rate_is_that_of_section_5_3(self) -> None:
        preset = get_preset("vaswani2017")
        recipe = Recipe(**preset.recipe)
        schedule = build_schedule(preset.blueprint(), recipe.steps, recipe.warmup)
        for step in (1, 100, 4000, 4001, 50_000):
            expected = 512**-0.5 * min(step**-0.5, step * 4000**-1.5)
            assert recipe.lr * schedule(step - 1) == pytest.approx(expected)
        assert (recipe.betas, recipe.eps, recipe.weight_decay) == ((0.9, 0.98), 1e-9, 0.0)

    def test_it_decodes_with_a_beam_of_4_and_penalty_of_0_6(self) -> None:
        options = get_preset("vaswani2017").blueprint()["decoding"].options
        assert options == {"size": 4, "length_penalty": 0.6}
        assert get_preset("vaswani2017").blueprint()["loss"].options["smoothing"] == 0.1


def test_modern_is_what_it_says() -> None:
    model = small("modern")
    names = [type(part).__name__ for part in (model.encoder.final_norm, model.src_positions)]
    assert names == ["RMSNorm", "RotaryPositions"]
    layer: Any = model.decoder.layers[0]
    assert layer.self_attention.num_kv_heads == 2
    assert not padding_matters(model)
    assert not sees_the_future(model)
    assert not [name for name, _ in model.named_parameters() if name.endswith("bias") and "norm" not in name]


@pytest.mark.parametrize("name", ["reverse", "vaswani2017", "modern"])
def test_what_has_no_trap_has_nothing_to_correct(name: str) -> None:
    with pytest.raises(Exception, match="nothing to correct: omit --corrected"):
        get_preset(name).blueprint(corrected=True)
