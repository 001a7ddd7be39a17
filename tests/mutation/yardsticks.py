"""Root causes of published studies as mutants of the solutions, and what the grader says of each.

`python -m tests.mutation.yardsticks` grades them, and writes the tables of docs/mutation.md. That page says what the
list rests on, and what was left out.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.core.mutation import Mutant
from tests import ROOT, solution_file
from tests.mutation.measure import Row, identity
from tests.mutation.pool import Job, measured

PAGE = ROOT / "docs" / "mutation.md"
DEFAULT = "DEFault++"
FAILS = "Why Attention Fails"


@dataclass(frozen=True)
class Yardstick:
    """A root cause, written as a change of a solution.

    Attributes:
        study: where it is from.
        category: of the fault, as the study has it.
        cause: the root cause; a study's own name where it has one.
        exercise: whose solution is changed.
        old, new: the text, and what stands there instead.
    """

    study: str
    category: str
    cause: str
    exercise: str
    old: str
    new: str

    def mutant(self) -> tuple[str, Mutant]:
        """The solution, and the changed file. Raises ValueError if the text is not there, or more than once."""
        text = solution_file(self.exercise).read_text(encoding="utf-8")
        if text.count(self.old) != 1:
            raise ValueError(f"{self.cause}: {self.old!r} is {text.count(self.old)} times in {self.exercise}")
        changed = text.replace(self.old, self.new)
        lines = list(zip(text.splitlines(), changed.splitlines(), strict=False))
        differing = [number for number, (a, b) in enumerate(lines, start=1) if a != b]
        more = changed.count("\n") - text.count("\n")
        first = differing[0]
        last = differing[-1] if not more else first + self.new.count("\n")
        return text, Mutant(self.cause, first, last, changed)


_SCORES = "scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))"
_KEEP = "keep = mask if mask.dtype == torch.bool else mask == 0"
_Q, _K, _V = (
    f"self._split(self.{one}_proj({name}))," for one, name in (("q", "query"), ("k", "key"), ("v", "value"))
)
_K_CACHE = "k = torch.cat([cache[0], k], dim=2)  # [B, H, T, d]"
_PRE = "x = x + self.dropout(self.feed_forward(self.norm2(x)))"
_POST = "x = self.norm1(x + self.dropout(self.self_attention(x, x, x, src_mask)))"


def _default() -> Iterator[tuple[str, str, str, str, str]]:
    yield "masking", "zero_mask", "attention", _KEEP, "keep = torch.ones_like(mask, dtype=torch.bool)"
    yield (
        "masking",
        "inverted_mask",
        "attention",
        _KEEP,
        "keep = ~mask if mask.dtype == torch.bool else mask != 0",
    )
    yield "masking", "inverted_mask", "masks", "(tokens != pad)", "(tokens == pad)"
    yield "masking", "wrong_mask_broadcast", "masks", "[:, None, None, :]", "[:, None, :, None]"
    yield "masking", "wrong_mask_broadcast", "transformer", "[:, None, None, :]", "[:1, None, None, :]"
    yield "masking", "break_causal_mask", "masks", ".tril()", ".tril(diagonal=1)"
    yield "masking", "break_causal_mask", "transformer", ".tril()  #", ".tril(diagonal=1)  #"
    yield "masking", "over_mask", "masks", ".tril()", ".tril(diagonal=-1)"
    yield (
        "masking",
        "pad_masking_error",
        "transformer",
        "tgt_mask = causal & self._padding_mask(tgt)",
        "tgt_mask = causal",
    )
    yield "masking", "pad_masking_error", "masks", " & padding_mask(tokens, pad)", " & padding_mask(tokens)"
    yield "QKV", "zero_query", "attention", _Q, "self._split(0 * self.q_proj(query)),"
    yield "QKV", "zero_key", "attention", _K, "self._split(torch.zeros_like(self.k_proj(key))),"
    yield "QKV", "zero_value", "attention", _V, "self._split(0 * self.v_proj(value)),"
    yield (
        "QKV",
        "swapped_qk",
        "attention",
        "attention_weights(q, k, mask)  #",
        "attention_weights(k, q, mask)  #",
    )
    yield (
        "QKV",
        "tie_heads",
        "attention",
        _Q,
        "self._split(self.q_proj(query))[:, :1].expand(-1, self.num_heads, -1, -1),",
    )
    yield (
        "QKV",
        "tie_heads",
        "kv_cache",
        "self._split(self.q_proj(x)), ",
        "self._split(self.q_proj(x))[:, :1], ",
    )
    yield "score", "missing_scaling", "attention", _SCORES, "scores = query @ key.transpose(-2, -1)"
    yield (
        "score",
        "wrong_scaling_factor",
        "attention",
        "math.sqrt(query.size(-1))",
        "(10 * math.sqrt(query.size(-1)))",
    )
    yield "score", "wrong_scaling_factor", "kv_cache", "math.sqrt(q.size(-1))", "q.size(-1)"
    yield (
        "positional",
        "missing_positional",
        "transformer",
        "self.positions(self.src_embed(src) * self.scale)",
        "self.src_embed(src) * self.scale",
    )
    yield (
        "positional",
        "off_by_one",
        "positions",
        "position = torch.arange(max_len, ",
        "position = 1 + torch.arange(max_len, ",
    )
    yield (
        "positional",
        "off_by_one",
        "positions",
        "        self.table = nn.Parameter(0.02 * torch.randn(max_len, d_model))\n",
        "        self.table = nn.Parameter(0.02 * torch.randn(max_len + 1, d_model))\n",
    )
    yield "positional", "truncate", "positions", "angle = position /", "angle = position.clamp(max=63) /"
    yield "kernel", "wrong_dropout", "attention", "nn.Dropout(dropout)", "nn.Dropout(dropout + 0.1)"
    yield (
        "kernel",
        "wrong_dropout",
        "attention",
        "heads = self.dropout(weights) @ v",
        "heads = nn.functional.dropout(weights, self.dropout.p) @ v",
    )
    yield (
        "variant",
        "wrong_variant (one head)",
        "attention",
        "self.num_heads = num_heads",
        "self.num_heads = 1",
    )
    yield (
        "variant",
        "causal_in_bidirectional",
        "encoder",
        "x = layer(x, src_mask)",
        "x = layer(x, x.new_ones(x.size(1), x.size(1)).tril().bool())",
    )
    yield (
        "KV cache",
        "stale_cache",
        "kv_cache",
        "return self.out_proj(merged), (k, v)",
        "return self.out_proj(merged), (cache or (k, v))",
    )
    yield (
        "KV cache",
        "off_by_one_index",
        "kv_cache",
        _K_CACHE,
        "k = torch.cat([cache[0][:, :, 1:], k], dim=2)",
    )
    yield (
        "KV cache",
        "truncated_cache",
        "kv_cache",
        "return self.out_proj(merged), (k, v)",
        "return self.out_proj(merged), (k[:, :, -4:], v[:, :, -4:])",
    )
    yield (
        "KV cache",
        "cross_request_leak",
        "kv_cache",
        "if cache is not None:",
        "cache = cache or self.__dict__.get('seen')\n"
        "        self.__dict__['seen'] = (k, v)\n"
        "        if cache is not None and len(cache[0]) == len(x):",
    )
    yield (
        "embedding",
        "embedding_zero",
        "transformer",
        "self.tgt_embed(tgt) *",
        "self.tgt_embed(tgt * (tgt != 3)) *",
    )
    yield (
        "embedding",
        "embedding_swap",
        "transformer",
        "self.positions(self.tgt_embed(tgt)",
        "self.positions(self.src_embed(tgt)",
    )
    yield "feed-forward", "weight_scaling", "feedforward", "self.down(hidden)", "self.down(0.5 * hidden)"
    yield (
        "feed-forward",
        "neuron_drop",
        "feedforward",
        "self.down(hidden)",
        "self.down(nn.functional.pad(hidden[..., 1:], (1, 0)))",
    )
    yield "feed-forward", "activation", "feedforward", "self.up(x).relu()", "nn.functional.gelu(self.up(x))"
    yield "layer norm", "ln_gamma_fault", "norm", "self.gain * normed", "0.3 * self.gain * normed"
    yield "layer norm", "ln_beta_fault", "norm", "+ self.bias)", "+ self.bias + 0.1)"
    yield "layer norm", "ln_stats", "norm", "variance + self.eps", "variance + 100 * self.eps"
    yield (
        "layer norm",
        "ln_stats",
        "norm",
        "centred.square().mean(dim=-1, keepdim=True)",
        "wide.var(dim=-1, keepdim=True)",
    )
    yield "residual", "residual_drop", "encoder", _PRE, "x = self.dropout(self.feed_forward(self.norm2(x)))"
    yield (
        "residual",
        "residual_scale",
        "encoder",
        _POST,
        "x = self.norm1(0.3 * x + self.dropout(self.self_attention(x, x, x, src_mask)))",
    )
    yield (
        "residual",
        "residual_noise",
        "encoder",
        _PRE,
        "x = x + 0.05 * x.new_empty(x.shape).normal_() + self.dropout(self.feed_forward(self.norm2(x)))",
    )
    yield (
        "residual",
        "residual_drop",
        "norm",
        "output: Tensor = x + self.dropout(self.sublayer",
        "output: Tensor = self.dropout(self.sublayer",
    )
    yield "output", "out_scale", "transformer", "self.output(self.decoder(", "self.output(0.5 * self.decoder("
    yield (
        "output",
        "out_row_drop",
        "transformer",
        "return logits",
        "return logits * (torch.arange(logits.size(-1)) > 0)",
    )
    yield (
        "output",
        "out_noise",
        "transformer",
        "return logits",
        "return logits + 0.1 * torch.randn_like(logits)",
    )


def _fails() -> Iterator[tuple[str, str, str, str, str]]:
    yield (
        "masking",
        "a mask of the other meaning (True = blocked)",
        "attention",
        "masked_fill(~keep, torch",
        "masked_fill(keep, torch",
    )
    yield "masking", "an additive mask taken for a bool one", "attention", _KEEP, "keep = mask.bool()"
    yield (
        "masking",
        "a mask that is handed over and not used",
        "encoder",
        "self.self_attention(y, y, y, src_mask)",
        "self.self_attention(y, y, y, None)",
    )
    yield (
        "masking",
        "the mask of the other sequence",
        "decoder",
        "x = x + self.dropout(self.self_attention(y, y, y, tgt_mask))",
        "x = x + self.dropout(self.self_attention(y, y, y, src_mask))",
    )
    yield (
        "masking",
        "masked after the softmax",
        "attention",
        "scores = scores.masked_fill(~keep, torch.finfo(scores.dtype).min)",
        "scores = scores",
    )
    yield (
        "masking",
        "a filling that half precision cannot hold",
        "attention",
        "torch.finfo(scores.dtype).min",
        "-1e4",
    )
    yield (
        "masking",
        "a row of nothing but padding becomes NaN",
        "attention",
        "masked_fill(~keep, torch.finfo(scores.dtype).min)",
        "masked_fill(~keep, -torch.inf)",
    )
    yield (
        "QKV projection",
        "one projection for two",
        "attention",
        "self._split(self.k_proj(key))",
        "self._split(self.q_proj(key))",
    )
    yield (
        "QKV projection",
        "keys from the queries' sequence",
        "attention",
        "self._split(self.k_proj(key))",
        "self._split(self.k_proj(query))",
    )
    yield (
        "QKV projection",
        "cross-attention without the memory",
        "decoder",
        "x = x + self.dropout(self.cross_attention(self.norm2(x), memory, memory, src_mask))",
        "x = x + self.dropout(self.cross_attention(self.norm2(x), memory, self.norm2(x), src_mask))",
    )
    yield (
        "QKV projection",
        "heads split without a transpose",
        "attention",
        "x.reshape(*x.shape[:2], self.num_heads, -1).transpose(1, 2)",
        "x.reshape(x.size(0), self.num_heads, x.size(1), -1)",
    )
    yield (
        "QKV projection",
        "heads merged without a transpose",
        "attention",
        "heads.transpose(1, 2).flatten(2)",
        "heads.reshape(query.shape)",
    )
    yield (
        "QKV projection",
        "a view that needs contiguous memory",
        "attention",
        "x.reshape(*x.shape[:2], self.num_heads, -1)",
        "x.view(*x.shape[:2], self.num_heads, -1)",
    )
    yield (
        "score",
        "softmax over the queries",
        "attention",
        "return scores.softmax(dim=-1).masked_fill",
        "return scores.softmax(dim=-2).masked_fill",
    )
    yield (
        "score",
        "scaled by the width of the model",
        "attention",
        "weights = attention_weights(q, k, mask)",
        "weights = attention_weights(q / math.sqrt(self.num_heads), k, mask)",
    )
    yield (
        "score",
        "multiplied by the root",
        "attention",
        "key.transpose(-2, -1) / math",
        "key.transpose(-2, -1) * math",
    )
    yield (
        "score",
        "scores in half precision",
        "attention",
        "scores = query @ key.transpose(-2, -1) /",
        "scores = (query.half() @ key.half().transpose(-2, -1)).to(query.dtype) /",
    )
    yield (
        "positional",
        "embeddings not scaled before the positions",
        "transformer",
        "self.positions(self.src_embed(src) * self.scale)",
        "self.positions(self.src_embed(src))",
    )
    yield (
        "positional",
        "positions along the batch",
        "positions",
        "return x + self.table[: x.size(1)]  # [B, T, D] + [T, D]\n\n\nclass",
        "return x + self.table[: x.size(0), None]  # [B, T, D] + [T, D]\n\n\nclass",
    )
    yield (
        "positional",
        "sine and cosine in halves",
        "positions",
        "table[:, 0::2] = angle.sin()",
        "table[:, : angle.size(1)] = angle.sin()",
    )
    yield (
        "positional",
        "a limit of the length that is not checked",
        "positions",
        "if length > max_len:",
        "if length > max_len + 1:",
    )
    yield (
        "kernel",
        "causal blocks for unequal lengths",
        "kv_cache",
        "weights = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(dim=-1)",
        "weights = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)))"
        ".masked_fill(torch.ones(q.size(2), k.size(2)).tril() == 0, -1e9).softmax(dim=-1)",
    )
    yield (
        "kernel",
        "weights that are not those that were used",
        "attention",
        "return weights @ value, weights",
        "return weights @ value, (query @ key.transpose(-2, -1)).softmax(dim=-1)",
    )
    yield (
        "kernel",
        "dropout in eval mode too",
        "attention",
        "heads = self.dropout(weights) @ v",
        "heads = nn.functional.dropout(weights, self.dropout.p, True) @ v",
    )
    yield (
        "variant",
        "norm at the other place",
        "encoder",
        _PRE,
        "x = self.norm2(x + self.dropout(self.feed_forward(x)))",
    )
    yield (
        "variant",
        "layers that share their weights",
        "encoder",
        "[make_layer() for _ in range(num_layers)]",
        "[make_layer()] * num_layers",
    )
    yield (
        "KV cache",
        "values of the cache not joined",
        "kv_cache",
        "v = torch.cat([cache[1], v], dim=2)",
        "v = v.expand_as(k)",
    )
    yield "KV cache", "the new position in front", "kv_cache", _K_CACHE, "k = torch.cat([k, cache[0]], dim=2)"
    yield "KV cache", "joined along the features", "kv_cache", _K_CACHE, "k = torch.cat([cache[0], k], dim=3)"
    yield (
        "KV cache",
        "the cache rolled by one",
        "kv_cache",
        _K_CACHE,
        "k = torch.cat([cache[0], k], dim=2).roll(1, 2)",
    )


YARDSTICKS = [
    *(Yardstick(DEFAULT, *one) for one in _default()),
    *(Yardstick(FAILS, *one) for one in _fails()),
]


def graded(some: Sequence[Yardstick], processes: int) -> list[tuple[Yardstick, Row]]:
    """Grade them, and print each as it comes."""
    mutants = [(one, *one.mutant()) for one in some]
    jobs = [Job(one.exercise, ("solution", text), mutant) for one, text, mutant in mutants]
    found = {}
    for row in measured(jobs, 0, name=True, cold=False, processes=processes):
        found[row.id] = row
        state = row.place if row.killed else f"alive {row.equal}"
        print(
            f"{row.exercise:12} {row.operator:40.40} {state:12} [{row.lines}] {row.named or row.said}",
            flush=True,
        )
    return [(one, found[identity(mutant.text)]) for one, _, mutant in mutants]


def table(rows: Sequence[tuple[Yardstick, Row]], study: str) -> str:
    """One study's table, in Markdown."""
    lines = [
        "| category | root cause | the changed line | the grader says | line |",
        "| --- | --- | --- | --- | --- |",
    ]
    for one, row in rows:
        if one.study == study:
            said = (
                " ".join(f"`{name}`" for name in row.named.split()) or row.said or "expected and got, no name"
            )
            if not row.killed:
                said = (
                    "passes"
                    if not row.equal.isdigit()
                    else f"passes, and changes nothing in {row.equal} answers"
                )
            cause = f"`{one.cause}`" if study == DEFAULT else one.cause
            place = {"right": "yes", "wrong": f"no: {row.lines}", "none": "none"}.get(row.place, "")
            change = row.change.partition("  #")[0].replace("|", "\\|")
            lines.append(
                f"| {one.category} | {cause} | {one.exercise}: `{change}` | {_cell(said)} | {place} |"
            )
    killed = sum(row.killed for one, row in rows if one.study == study)
    whole = sum(one.study == study for one, _ in rows)
    named = sum(row.killed and bool(row.named or row.said) for one, row in rows if one.study == study)
    right = sum(row.place == "right" for one, row in rows if one.study == study)
    lines += [
        "",
        f"{whole} mutants: {killed} killed, {named} of them named or explained, {right} at the right line.",
    ]
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")[:160]


def written(page: str, rows: Sequence[tuple[Yardstick, Row]]) -> str:
    """The page with the tables in it."""
    for name, study in (("default", DEFAULT), ("fails", FAILS)):
        start, end = (
            f"<!-- {name}: made by python -m tests.mutation.yardsticks -->\n",
            f"<!-- end of {name} -->",
        )
        before, _, rest = page.partition(start)
        _, _, after = rest.partition(end)
        page = f"{before}{start}{table(rows, study)}\n{end}{after}"
    return page


def main() -> None:
    """Grade all, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation.yardsticks", description=__doc__)
    parser.add_argument("--jobs", type=int, default=1, help="processes; 0: in this one")
    rows = graded(YARDSTICKS, parser.parse_args().jobs)
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), rows), encoding="utf-8")


if __name__ == "__main__":
    main()
