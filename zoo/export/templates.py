"""The parts of a file that come from no class: its head, decoding, loading and `main`."""

HEADER = '''"""{title}

One file of plain PyTorch.{start}{command}
"""
'''

_CACHED = ", with keys and values of earlier positions kept"

_READS = '''@torch.no_grad()
def generate(model: {model}, src: Tensor, max_new_tokens: int, sos: int = 1, eos: int = 2, pad: int = {pad}) -> Tensor:
    """The most probable token at each step, in answer to src [B, S]{how}.

    Returns [B, <= max_new_tokens], without `sos`; a row goes on with `eos` after its first.
    """
    model.eval()
    memory = model.encode(src)  # [B, S, D]
    tokens = src.new_full((src.size(0), 1), sos)
    {caches}for _ in range(max_new_tokens):
        scores = model.decode(tokens, memory{src}{more})[:, -1]  # [B, new, V] -> [B, V]
        scores[:, pad] = -torch.inf  # never chosen
        ended = (tokens == eos).any(dim=1)
        following = scores.argmax(dim=-1).masked_fill(ended, eos)
        tokens = torch.cat((tokens, following[:, None]), dim=1)  # [B, L] -> [B, L + 1]
        if bool((tokens == eos).any(dim=1).all()):
            break
    return tokens[:, 1:]'''

_CONTINUES = '''@torch.no_grad()
def generate(model: {model}, prompt: Tensor, max_new_tokens: int, pad: int = {pad}) -> Tensor:
    """The most probable token at each step, after prompt [B, L]{how}.

    Returns [B, L + max_new_tokens], the prompt first.
    """
    model.eval()
    tokens = prompt
    {caches}for _ in range(max_new_tokens):
        scores = model.decode(tokens{more})[:, -1]  # [B, new, V] -> [B, V]
        scores[:, pad] = -torch.inf  # never chosen
        tokens = torch.cat((tokens, scores.argmax(dim=-1, keepdim=True)), dim=1)  # [B, L] -> [B, L + 1]
    return tokens'''


def _filled(template: str, cached: bool) -> str:
    return (
        template.replace("{how}", _CACHED if cached else "")
        .replace("{caches}", "caches = model.new_caches()\n    " if cached else "")
        .replace("{more}", ", caches" if cached else "")
    )


GENERATE = {
    (reads, cached): _filled(_READS if reads else _CONTINUES, cached)
    for reads in (True, False)
    for cached in (True, False)
}
"""By whether the model reads a source, and whether it keeps keys and values."""

LOAD = '''def load(config: Config) -> {model}:
    """The trained model: its weights are in the file beside this one."""
    model = {model}(config)
    state = load_file(Path(__file__).with_name("{weights}"))
    model.to(next(iter(state.values())).dtype).load_state_dict(state)
    return model.eval()'''

_MAIN = '''def main() -> None:
    """Make a model, and run it on random tokens."""
    config = Config()
    # model
    print(f"{{sum(p.numel() for p in model.parameters()):,}} parameters")
{lines}

if __name__ == "__main__":
    main()'''

MAIN = {
    (True, True, False): _MAIN.replace(
        "{lines}",
        """    src = torch.randint(3, config.src_vocab, (2, {length}))
    tgt = torch.randint(3, config.tgt_vocab, (2, {length}))
    print(f"scores {{list(model(src, tgt).shape)}}")
    print(f"answers {{generate(model, src, max_new_tokens={length}).tolist()}}")
""",
    ),
    (False, True, False): _MAIN.replace(
        "{lines}",
        """    tokens = torch.randint(config.tgt_vocab, (2, {length}))
    print(f"scores {{list(model(tokens).shape)}}")
    print(f"generated {{generate(model, tokens, max_new_tokens={length})[:, {length}:].tolist()}}")
""",
    ),
    (True, False, True): _MAIN.replace(
        "{lines}",
        """    images = torch.randn(2, *model.embeddings.shape)
    print(f"scores {{list(model(images).shape)}}")
""",
    ),
    (True, False, False): _MAIN.replace(
        "{lines}",
        """    tokens = torch.randint(config.src_vocab, (2, {length}))
    print(f"scores {{list(model(tokens).shape)}}")
""",
    ),
}
"""By whether the model reads a source, whether it writes, and whether what it reads are images."""
