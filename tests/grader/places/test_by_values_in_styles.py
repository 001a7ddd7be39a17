"""The changed line is found in right files of other styles."""

from __future__ import annotations

import pytest

from tests.grader.places.placed import line_of, place
from tests.grader.right import right_files


@pytest.mark.slow
@pytest.mark.parametrize(
    ("exercise", "base", "old", "new"),
    [
        # a helper gives another right value back than is meant; gives too few
        (
            "transformer",
            "none_where_nothing_is_masked_and_an_embedding_for_a_head",
            " if padding is None else causal.logical_and(padding)",
            "",
        ),
        ("kv_cache", "per_head_modules_nested_lists", "return self.o(y), memory", "return self.o(y)"),
        # what it was made with has another dtype
        ("kv_cache", "interleaved_qkv_per_head", "1, dtype=x.dtype, device", "1, device"),
        # the field that an exception speaks of
        (
            "decoding",
            "heapq_dataclass_hypotheses_keyword_only",
            "field(compare=False, default=False)",
            "field(compare=False)",
        ),
        # inside `torch.vmap`
        (
            "loss",
            "vmap_per_token_jax_manner",
            "(1 - smoothing) * one_hot",
            "(1 - smoothing) * one_hot.square().cumsum(0)",
        ),
        # a part of an argument is written to
        (
            "positions",
            "student",
            "return x + self.waves[:, :steps]",
            "part = x[:]; part += self.waves[:, :steps]; return x",
        ),
        # dropout, by hand and switched off
        ("decoder", "dropout_by_hand_and_a_warning", "not self.training or self.rate == 0", "self.rate == 0"),
        (
            "attention",
            "packed_vkq_with_bias",
            "F.dropout(w, self.p, self.training)",
            "F.dropout(w, self.p, False)",
        ),
        # heads of a batch meet a batch of heads
        ("attention", "heads_before_batch", "mask.transpose(0, 1).reshape", "mask.reshape"),
        # a mask that hides nothing is no evidence for what it is made of
        ("attention", "port_with_biases_of_masks", "all(dim=-1", "all(dim=-2"),
        # in a helper's caller, which hands another right value on
        ("decoder", "helper_for_each_sublayer", "z + self.think_over(z)", "z + self.think_over(y)"),
        # one column of a table, and the rest is right
        (
            "positions",
            "columns_one_by_one",
            "self.column(t, c))",
            "self.column(t, c) if c < d_model - d_model % 2 else torch.zeros_like(t))",
        ),
        # new numbers of the size of a value have no gradient, and need none
        ("kv_cache", "slots_that_double", "write(cache, k, v)", "write(cache, k.detach(), v)"),
        # halves side by side, of which a slice is the first that shows it
        (
            "positions",
            "annotated_float32_buffer",
            "pe.unsqueeze(0)",
            "torch.cat([pe[:, 0::2], pe[:, 1::2]], 1).unsqueeze(0)",
        ),
        # a mask inverted in a helper; a way to read the weights that proves nothing
        ("attention", "one_module_per_head", "masked_fill_(~mask", "masked_fill_(mask"),
        ("norm", "bias_and_gain_in_one_parameter", "bias, self.eps)", "bias, self.eps).half().float()"),
        # a call for what it does, about where right code has it; a value that nothing gets
        ("training", "autograd_grad_by_hand", "model.train(True)", "pass"),
        ("decoding", "recursion_and_namedtuples", "return hyp.total", "hyp.total"),
        # what an earlier call gave back, and this one gets
        ("kv_cache", "solution", "return self.out_proj(merged), (k, v)", "return self.out_proj(merged), k"),
        # a condition that is a constant; a part that is made once
        ("attention", "solution", "if mask is None:", "if False:"),
        ("loss", "callable_instances_constant_pad_module", "(1, -1)", "(1, 1)"),
        # two names exchanged in several calls of a line
        (
            "attention",
            "packed_per_head",
            "self.part(query, 0), self.part(key, 1)",
            "self.part(key, 0), self.part(query, 1)",
        ),
        # the function that gave what a line gets wrongly, or was called with the wrong arguments
        ("training", "autograd_grad_by_hand", ".sum() / real.sum()", " / real.sum()"),
        (
            "transformer",
            "annotated_generator_class",
            "Generator(d_model, tgt_vocab)",
            "Generator(tgt_vocab, d_model)",
        ),
        ("masks", "forbidden_first", "_is_padding(tokens, pad)[:, None, None, :] | ", ""),
        # a keyword of a function; an index along one axis alone
        ("loss", "ids_in_second_place", "target, ignore_index=pad, ", "target, "),
        ("masks", "einops_static_methods", "mask[rows, cols]", "mask[rows]"),
        # what is made once and kept; a `return` in a function that torch calls
        ("masks", "callable_objects_with_buffers", 'device="cpu").tril()', 'device="cpu")'),
        ("positions", "vmap_compiled_einops", "return out, None", "out, None"),
        # a condition that makes all right, if only at the expense of others
        ("encoder", "functions_in_place_of_classes_hooks", '        if norm == "pre":', "        if False:"),
        # a condition in the constructor, beside the method whose values are wrong
        ("encoder", "sequential_subclass_stack", 'if norm == "pre":', 'if norm != "pre":'),
        # another attribute makes it right: how this one was made
        (
            "encoder",
            "pytorch_tutorial_blocks_protocol_generic",
            "self.dropout1 = nn.Dropout(dropout)",
            "self.dropout1 = nn.Dropout(layer_norm_eps)",
        ),
        # a backward pass of one's own: where no record has its values, and where torch refuses what it returns
        ("feedforward", "handwritten_autograd_function", "db1 = dpre.sum(0)", "db1 = dpre.mean(0)"),
        ("norm", "handwritten_autograd_function", " - g.mean(-1, keepdim=True)", ""),
        ("attention", "hand_written_backward", "if size == 1 and", "if size == 2 and"),
        # what an index is out of
        ("training", "numpy_minded", "tgt = np.zeros((n, width + 1)", "tgt = np.zeros((n, width)"),
    ],
)
def test_the_line_is_found_in_other_styles(exercise: str, base: str, old: str, new: str) -> None:
    text = right_files(exercise)[base]
    assert text.count(old) == 1
    found = place(exercise, text.replace(old, new))
    assert found is not None
    assert line_of(text, old) in found.lines
