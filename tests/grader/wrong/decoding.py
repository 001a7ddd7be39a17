"""Wrong decoding as beginners write it."""

from __future__ import annotations

from collections.abc import Mapping

RIGHT_PARTS = {
    "greedy": """
@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    memory = model.encode(src)
    tokens = torch.full((src.size(0), 1), sos, dtype=torch.long, device=src.device)
    ended = torch.zeros(src.size(0), dtype=torch.bool, device=src.device)
    for _ in range(max_len):
        chosen = model.decode(tokens, memory, src)[:, -1].argmax(-1)
        chosen = torch.where(ended, torch.full_like(chosen, pad), chosen)
        tokens = torch.cat([tokens, chosen[:, None]], 1)
        ended = ended | (chosen == eos)
        if ended.all():
            break
    return tokens[:, 1:]
""",
    "beam": """
@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    results = []
    for row in src:
        row = row[None]
        memory = model.encode(row)
        beams = [([sos], 0.0)]
        for _ in range(max_len):
            candidates = []
            for ids, score in beams:
                if ids[-1] == eos and len(ids) > 1:
                    candidates.append((ids, score))
                    continue
                tokens = torch.tensor([ids], device=src.device)
                chances = model.decode(tokens, memory, row)[0, -1].log_softmax(-1)
                for i, p in enumerate(chances.tolist()):
                    candidates.append((ids + [i], score + p))
            candidates.sort(key=lambda pair: -pair[1])
            beams = candidates[:beam]
            if all(ids[-1] == eos for ids, _ in beams):
                break
        best = max(beams, key=lambda pair: pair[1] / ((5 + len(pair[0]) - 1) / 6) ** length_penalty)
        results.append(torch.tensor(best[0][1:]))
    return torch.nn.utils.rnn.pad_sequence(results, batch_first=True, padding_value=pad)
""",
}


def file(*changes: tuple[str, str]) -> str:
    """The right file with these lines changed, in both functions."""
    text = "import torch\n" + "".join(RIGHT_PARTS.values())
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


FILLED = "        chosen = torch.where(ended, torch.full_like(chosen, pad), chosen)\n"

WRONG: Mapping[str, tuple[frozenset[str], str]] = {
    "nothing after EOS is filled": (frozenset({"ids-after-eos"}), file((FILLED, ""))),
    "the flag is filled before EOS is written": (
        frozenset({"eos-cut-off"}),
        file(
            (
                FILLED + "        tokens =",
                "        ended = ended | (chosen == eos)\n" + FILLED + "        tokens =",
            ),
            ("torch.tensor(best[0][1:])", "torch.tensor([i for i in best[0][1:] if i != eos])"),
        ),
    ),
    "SOS is left in the result": (
        frozenset({"sos-in-result"}),
        file(("return tokens[:, 1:]", "return tokens"), ("best[0][1:]", "best[0]")),
    ),
    "the loop counts SOS": (
        frozenset({"max-len-off-by-one"}),
        file(("range(max_len)", "range(max_len - 1)")),
    ),
    "if on a batch of flags": (
        frozenset({"one-sentence-only"}),
        file(("        if ended.all():", "        if chosen == eos:")),
    ),
    "argmax over the first position": (
        frozenset({"logits-of-first-position"}),
        file(("memory, src)[:, -1]", "memory, src)[:, 0]"), ("[0, -1]", "[0, 0]")),
    ),
    "drawn from the softmax": (
        frozenset({"sampled-in-place-of-argmax"}),
        file((".argmax(-1)", ".softmax(-1).multinomial(1).squeeze(1)")),
    ),
    "without no_grad": (frozenset({"gradients-recorded"}), file(("@torch.no_grad()\n", ""))),
    "train mode in the end": (
        frozenset({"mode-left-changed"}),
        file(
            ("    memory = model.encode(src)\n", "    model.eval()\n    memory = model.encode(src)\n"),
            ("    return tokens", "    model.train()\n    return tokens"),
            ("    return torch.nn", "    model.train()\n    return torch.nn"),
        ),
    ),
    "ids written as numbers": (
        frozenset({"special-ids-hard-coded"}),
        file(("chosen == eos", "chosen == 2"), ("[-1] == eos", "[-1] == 2")),
    ),
    "the flag is set anew": (
        frozenset({"ended-flag-forgotten"}),
        file(("ended | (chosen == eos)", "chosen == eos")),
    ),
    "the model is run once": (
        frozenset({"one-pass-only"}),
        file(
            (
                "    memory = model.encode(src)\n    tokens",
                "    return model(src, src).argmax(-1)[:, :max_len]\n    tokens",
            )
        ),
    ),
    "rows in a list": (
        frozenset({"list-returned"}),
        file(("return tokens[:, 1:]", "return list(tokens[:, 1:])")),
    ),
    "each hypothesis by itself": (
        frozenset({"beam-is-greedy"}),
        file(
            (
                "for i, p in enumerate(chances.tolist()):",
                "for p, i in [(chances.max().item(), chances.argmax().item())]:",
            )
        ),
    ),
    "any ended": (frozenset({"stops-with-first-row"}), file(("ended.all()", "ended.any()"))),
    "finished hypotheses go on": (
        frozenset({"finished-hypotheses-extended"}),
        file(("                if ids[-1] == eos and len(ids) > 1:", "                if False:")),
    ),
    "the best of the sums": (
        frozenset({"length-penalty-missing"}),
        file((" / ((5 + len(pair[0]) - 1) / 6) ** length_penalty", "")),
    ),
    "SOS counts as an id": (
        frozenset({"length-counted-wrong"}),
        file(("(5 + len(pair[0]) - 1)", "(5 + len(pair[0]))")),
    ),
    "probabilities added up": (
        frozenset({"probabilities-summed"}),
        file((".log_softmax(-1)", ".softmax(-1)")),
    ),
    "raw logits added up": (frozenset({"logits-summed"}), file((".log_softmax(-1)", ""))),
    "ends with the first finished one": (
        frozenset({"stops-at-first-finished"}),
        file(("if all(ids[-1] == eos for", "if any(ids[-1] == eos for")),
    ),
    "the smallest of the scores": (
        frozenset({"worst-returned"}),
        file(("max(beams, key", "min(beams, key")),
    ),
    "beam search calls greedy decoding": (
        frozenset({"beam-is-greedy"}),
        "import torch\n"
        + RIGHT_PARTS["greedy"]
        + """
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    return greedy_decode(model, src, max_len, sos, eos, pad)
""",
    ),
    "EOS is never looked at, and memory is tiled": (
        frozenset({"eos-not-obeyed", "sentences-mixed", "ids-after-eos"}),
        """
import torch

@torch.no_grad()
def greedy_decode(model, src, max_len, sos=1, eos=2, pad=0):
    tokens = torch.full((src.size(0), 1), sos)
    for _ in range(max_len):
        tokens = torch.cat([tokens, model(src, tokens)[:, -1].argmax(-1, keepdim=True)], dim=1)
    return tokens[:, 1:]

@torch.no_grad()
def beam_search(model, src, beam, max_len, length_penalty=0.6, sos=1, eos=2, pad=0):
    batch = src.size(0)
    memory = model.encode(src).repeat(beam, 1, 1)
    src = src.repeat(beam, 1)
    tokens = torch.full((batch * beam, 1), sos)
    scores = torch.full((batch, beam), float("-inf"))
    scores[:, 0] = 0.0
    ended = torch.zeros(batch, beam, dtype=torch.bool)
    lengths = torch.zeros(batch, beam)
    for _ in range(max_len):
        chances = model.decode(tokens, memory, src)[:, -1].log_softmax(-1)
        vocab = chances.size(-1)
        chances = chances.view(batch, beam, vocab)
        closed = torch.full((vocab,), float("-inf"))
        closed[pad] = 0.0
        chances = torch.where(ended[..., None], closed, chances)
        scores, index = (scores[..., None] + chances).view(batch, -1).topk(beam)
        parent, chosen = index // vocab, index % vocab
        rows = (torch.arange(batch)[:, None] * beam + parent).view(-1)
        tokens = torch.cat([tokens[rows], chosen.view(-1, 1)], 1)
        ended, lengths = ended.gather(1, parent), lengths.gather(1, parent)
        lengths = lengths + (~ended).float()
        ended = ended | (chosen == eos)
        if ended.all():
            break
    best = (scores / ((5 + lengths) / 6) ** length_penalty).argmax(1)
    return tokens.view(batch, beam, -1)[torch.arange(batch), best][:, 1:]
""",
    ),
}
