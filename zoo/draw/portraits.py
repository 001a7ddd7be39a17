"""One variant by itself, small: what the part computes for a fixed input. For galleries.

A picture of an axis is made by the same means for every variant, so a plugin's part gets one too.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from matplotlib.colors import ListedColormap
from matplotlib.figure import Figure
from torch import Tensor, nn

from zoo.core.blueprint import Blueprint, make_blueprint
from zoo.core.errors import ZooError
from zoo.core.plugins import get_registry
from zoo.core.recipe import Recipe
from zoo.draw.assembly import model as draw_model
from zoo.draw.canvas import HIDDEN, LINES, heat, is_signed, limits_of, new_figure, styled
from zoo.draw.differences import LENGTH, SIZES, VOCABULARY, allowed, losses, small_model
from zoo.draw.encodings import positions
from zoo.draw.masks import mask
from zoo.draw.pieces import make_part
from zoo.draw.rates import schedule
from zoo.draw.weights import captured
from zoo.models.builder import build, build_optimizer
from zoo.models.transformer import Model
from zoo.training.tasks.base import EOS, PAD, SOS

WIDTH, HEIGHT = 5.2, 2.7
"""Inches."""
DEPTH, ANSWERS, STEPS = 8, 300, 80
"""Layers of a stack, answers of a decoding, steps of an optimizer."""
BRIGHTEST = 0.5
"""The weight of the last colour; the first rows of a decoder have more, and would leave the rest dark."""
CURVATURES = (0.05, 0.6)
"""Of the valley along its two directions."""
SHOWN_AS = {"sliding": "sliding:window=2"}
"""Attentions whose own options show nothing at so few tokens."""


@styled
def part(axis: str, name: str) -> Figure:
    """Draw what one variant computes for a fixed input: weights, curves, vectors, whatever its axis is about.

    Args:
        axis: the axis.
        name: its variant, as a user types it.

    Raises:
        ZooError: no such axis or variant; an axis without pictures; a variant that cannot be drawn.
    """
    registry = get_registry()
    registry.axis(axis)
    registry.resolve(axis, name)
    if axis not in PORTRAITS:
        raise ZooError(f"There are no pictures of the axis {axis}. There are of {', '.join(PORTRAITS)}.")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return PORTRAITS[axis](name)


def _tokens() -> tuple[Tensor, Tensor]:
    """Source and target [1, T] that all pictures of models share."""
    generator = torch.Generator().manual_seed(0)
    src, tgt = (torch.randint(3, VOCABULARY, (1, LENGTH), generator=generator) for _ in range(2))
    tgt[:, 0] = SOS
    return src, tgt


def _attention(name: str) -> Figure:
    """The weights of two heads of the encoder and one of the decoder; influences where weights are never formed."""
    shown = SHOWN_AS.get(name, name)
    model = small_model("attention", shown)
    try:
        weights = captured(model, *_tokens())
        heads = (("encoder", 1), ("encoder", 2), ("decoder", 1))
        found = {f"{stack}, head {head}": weights[stack, 1][head - 1].numpy() for stack, head in heads}
        label = "weight"
    except ZooError:
        found, label = {stack: _influence(model, stack) for stack in ("encoder", "decoder")}, "influence"
    signed = any(map(is_signed, found.values()))
    low, high = limits_of([*found.values()], signed)
    clipped = high > BRIGHTEST and not signed
    figure = new_figure(1.75 * len(found) + 0.9, 2.4, shown if shown != name else "")
    panels = figure.subplots(1, len(found), squeeze=False)[0]
    for panel, (title, array) in zip(panels, found.items(), strict=True):
        later = np.triu(np.ones(array.shape, bool), 1) & (array == 0) & title.startswith("decoder")
        image = heat(
            panel,
            np.ma.masked_array(array, mask=later),
            signed=signed,
            limits=(low, BRIGHTEST if clipped else high),
            aspect="equal",
        )
        panel.set_title(title)
        panel.set_xlabel("key")
    panels[0].set_ylabel("query")
    _bar(figure, image, label, panels, extend="max" if clipped else "neither")
    return figure


def _influence(model: Model, stack: str) -> Any:
    """Return how much each output of a stack's first attention depends on each input: norms of derivatives [T, T]."""
    layers: Any = model.get_submodule(f"{stack}.layers")
    attention, x = layers[0].self_attention.eval(), torch.randn(1, LENGTH, int(SIZES["d_model"]))
    later = torch.ones(LENGTH, LENGTH, dtype=torch.bool).tril()[None, None] if stack == "decoder" else None
    keep = None if later is None else model.mask_form.encode(later, x.dtype)
    adapter: Any = model.get_submodule(stack).adapter
    ready = adapter(keep, LENGTH, x.dtype)
    found = torch.autograd.functional.jacobian(lambda h: attention(h, h, h, ready), x)
    return found[0, :, :, 0].norm(dim=(1, 3)).numpy()  # [T, D, T, D] -> [T, T]


def _norm(name: str) -> Figure:
    """Through a deep stack before its first step: the size of the vectors, and of the gradients."""
    given: dict[str, Any] = {"attention": "eager", **SIZES, "num_decoder_layers": DEPTH, "norm": name}
    model: Any = build(allowed(make_blueprint(assembly="decoder", **given), "norm"), seed=0)
    sizes: list[float] = []
    for layer in model.decoder.layers:
        layer.register_forward_hook(
            lambda _m, _a, out: sizes.append(float(out.detach().square().mean().sqrt()))
        )
    tokens, _ = _tokens()
    nn.functional.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()).backward()
    gradients = [
        float(torch.stack([p.grad.norm() for p in layer.parameters() if p.grad is not None]).norm())
        for layer in model.decoder.layers
    ]
    figure = new_figure(WIDTH + 1, HEIGHT)
    panels = figure.subplots(1, 2)
    for panel, values, label in zip(
        panels, (sizes, gradients), ("vectors leaving it (RMS)", "norm of its gradient"), strict=True
    ):
        panel.plot(range(1, DEPTH + 1), values, color=LINES[0], marker="o", markersize=3)
        panel.set_xlabel(f"layer, of {DEPTH}")
        panel.set_ylabel(label)
        panel.set_ylim(0, 1.12 * max(values) or 1.0)
    return figure


def _norm_type(name: str) -> Figure:
    """Vectors of different size and mean, before and after."""
    pattern = torch.randn(12)
    scales, means = (
        torch.tensor([0.5, 1.0, 2.0, 1.0, 1.0])[:, None],
        torch.tensor([0.0, 0, 0, 2, -2])[:, None],
    )
    before = pattern * scales + means  # [5, 12]
    with torch.no_grad():
        after = make_part("norm-type", name, before.size(1)).eval()(before[None])[0]
    figure = new_figure(WIDTH + 1.2, HEIGHT)
    panels = figure.subplots(1, 2)
    rows = ["half", "as it is", "double", "plus 2", "minus 2"]
    limits = limits_of([before.numpy(), after.numpy()], True)
    for panel, values, title in zip(panels, (before, after), ("before", "after"), strict=True):
        image = heat(
            panel, values.numpy(), rows=rows if title == "before" else [], signed=True, limits=limits
        )
        panel.set_title(title)
        panel.set_xlabel("component")
    _bar(figure, image, "value", panels)
    return figure


@torch.no_grad()
def _feedforward(name: str) -> Figure:
    """One unit whose weights are 1: what comes out for what goes in."""
    network = make_part("feedforward", name, 1, 1).eval()
    for parameter in network.parameters():
        parameter.fill_(1.0 if parameter.ndim > 1 else 0.0)
    x = torch.linspace(-3, 3, 121)
    return _curve(x, network(x[None, :, None]).flatten(), "input", "output")


def _loss(name: str) -> Figure:
    """The loss of one token by the probability of the right one."""
    x = np.linspace(0.02, 0.98, 97)
    figure = _curve(x, losses(name, x.tolist()), "probability of the right token", "loss (nats)")
    figure.axes[0].set_ylim(bottom=0)
    return figure


def _curve(x: Any, y: Any, across: str, up: str) -> Figure:
    figure = new_figure(WIDTH - 1, HEIGHT)
    panel = figure.subplots()
    panel.axhline(0, color="0.75", linewidth=0.8, zorder=0)
    panel.plot(np.asarray(x), np.asarray(y), color=LINES[0], linewidth=2)
    panel.set_xlabel(across)
    panel.set_ylabel(up)
    return figure


@torch.no_grad()
def _embedding(name: str) -> Figure:
    """The vectors of some tokens on both sides, and the rows of the head for them."""
    model = small_model("embedding", name)
    ids = torch.arange(3, 8)[None]
    head: Any = next(p for p in model.head.parameters() if p.ndim == 2)
    found = [
        ("source", model.embeddings.src(ids)[0]),
        ("target", model.embeddings.tgt(ids)[0]),
        ("rows of the head", head[ids[0]]),
    ]
    figure = new_figure(7.0, 2.2)
    panels = figure.subplots(1, 3)
    rows = [str(i) for i in ids[0].tolist()]
    for number, (panel, (title, values)) in enumerate(zip(panels, found, strict=True)):
        heat(panel, values.numpy(), rows=[] if number else rows, signed=True)
        panel.set_title(f"{title} (RMS {float(values.square().mean().sqrt()):.2g})")
        panel.set_xlabel("component")
    panels[0].set_ylabel("token")
    return figure


@torch.no_grad()
def _head(name: str) -> Figure:
    """The scores of all tokens for one vector."""
    scores = make_part("head", name, 16, VOCABULARY)(torch.randn(1, 1, 16) * 2)[0, 0]
    figure = new_figure(WIDTH - 1, HEIGHT)
    panel = figure.subplots()
    panel.bar(range(VOCABULARY), scores.numpy(), color=LINES[0])
    panel.axhline(0, color="0.3", linewidth=0.8)
    panel.set_xticks(range(VOCABULARY))
    panel.set_xlabel("token")
    panel.set_ylabel("score")
    sums = f"they add up to {float(scores.sum()):.2f}, their exponentials to {float(scores.exp().sum()):.2f}"
    panel.set_title(sums.replace("-", "−"))
    return figure


def _mask(name: str) -> Figure:
    """The mask of a decoder with four words and one place of padding, in this form."""
    keep = torch.ones(5, 5, dtype=torch.bool).tril() & (torch.arange(5) < 4)
    values = (
        make_part("mask", name).encode(keep[None, None], torch.float32).flatten(0, -2)
    )  # [5, 5], or [5, 1]
    square = values.shape == keep.shape
    figure = new_figure(WIDTH - 1.2, HEIGHT)
    panel = figure.subplots()
    shown = (keep if square else torch.ones(values.shape)).float()
    places = [str(i + 1) for i in range(5)]
    image = heat(panel, shown.numpy(), rows=places, columns=places if square else [])
    image.set_cmap(ListedColormap([HIDDEN, "#9ecae1"]))
    image.set_clim(0, 1)
    for (row, column), value in np.ndenumerate(values.numpy()):
        text = str(bool(value)) if values.dtype == torch.bool else f"{value:g}".replace("-inf", "−∞")
        panel.text(column, row, text, ha="center", va="center", fontsize=8)
    panel.set_ylabel("query")
    panel.set_xlabel("key" if square else "all keys")
    panel.set_title(
        f"{str(values.dtype).removeprefix('torch.')}{'; grey: may not be attended to' if square else ''}"
    )
    return figure


def _init(name: str) -> Figure:
    """Draw the distribution of the initial weights, by kind of tensor."""
    given: dict[str, Any] = {**SIZES, "attention": "eager", "d_model": 64, "d_ff": 256, "init": name}
    model = build(allowed(make_blueprint(**given), "init"), seed=0)
    kinds: dict[str, list[Tensor]] = {}
    for path, value in model.named_parameters():
        for kind in ("attention", "feed_forward", "embeddings"):
            if kind in path and value.ndim == 2:
                kinds.setdefault(kind.replace("_", "-"), []).append(value.detach().flatten())
    figure = new_figure(WIDTH - 1, HEIGHT)
    panel = figure.subplots()
    most = max(float(torch.cat(found).abs().quantile(0.99)) for found in kinds.values())
    for number, (kind, found) in enumerate(kinds.items()):
        values = torch.cat(found)
        label = f"{kind} (std {float(values.std()):.2g})"
        bins = np.linspace(-1.2 * most, 1.2 * most, 60).tolist()
        panel.hist(values.numpy(), bins=bins, density=True, histtype="step", color=LINES[number], label=label)
    panel.set_xlabel("weight")
    panel.set_ylabel("density")
    panel.legend(loc="upper left", fontsize=7)
    panel.set_ylim(top=1.45 * panel.get_ylim()[1])
    return figure


class _Valley(nn.Module):
    """A point in a narrow valley, as the matrix [1, 2] of a layer."""

    stacks = ("decoder",)

    def __init__(self) -> None:
        super().__init__()
        self.decoder = nn.Module()
        self.decoder.layers = nn.ModuleList([nn.Linear(2, 1, bias=False)])
        nn.init.constant_(self.point, 1.0)
        with torch.no_grad():
            self.point[0, 0] = -2.0

    @property
    def point(self) -> nn.Parameter:
        """The current point."""
        return self.get_parameter("decoder.layers.0.weight")

    def forward(self) -> Tensor:
        """The height there."""
        return (self.point * self.point * torch.tensor(CURVATURES)).sum() / 2


def _optimizer(name: str) -> Figure:
    """The way from one point down a narrow valley, always at the same learning rate."""
    valley, rate = _Valley(), 0.1
    optimizer = build_optimizer(make_blueprint(optimizer=name), valley, Recipe(lr=rate))
    way = [valley.point.detach().clone()[0]]
    for _ in range(STEPS):
        optimizer.zero_grad()
        valley().backward()
        optimizer.step()
        way.append(valley.point.detach().clone()[0])
    x, y = torch.stack(way).T.numpy()
    figure = new_figure(WIDTH, HEIGHT)
    panel = figure.subplots()
    across, up = np.meshgrid(np.linspace(-2.5, 2.5, 80), np.linspace(-1.4, 1.4, 60))
    height = (CURVATURES[0] * across**2 + CURVATURES[1] * up**2) / 2
    panel.contour(
        across, up, height, levels=np.geomspace(0.005, 0.7, 9).tolist(), colors=HIDDEN, linewidths=0.8
    )
    panel.plot(x, y, color=LINES[0], linewidth=1.0, marker=".", markersize=4)
    panel.plot(x[:1], y[:1], "o", color=LINES[1], label="start")
    panel.plot([0], [0], "x", color="black", label="lowest point")
    panel.set_xlim(-2.5, 2.5)
    panel.set_ylim(-1.4, 1.4)
    panel.set_xlabel("first weight")
    panel.set_ylabel("second weight")
    panel.legend(loc="lower right")
    return figure


class _Chain:
    """Stands for a model in decoding: what comes next depends on the last token alone.

    After the likeliest first token nothing is likely; after the second likeliest one token is, so that a beam finds
    an answer that greedy decoding misses.
    """

    def __init__(self, rows: int) -> None:
        self.tokens = torch.empty(rows, 0, dtype=torch.int64)
        table = torch.full((9, 9), 0.02)
        for before, then in (
            (SOS, {3: 0.45, 4: 0.4}),
            (3, {5: 0.3, 6: 0.28, 7: 0.26}),
            (4, {8: 0.9}),
            (5, {3: 0.5, 6: 0.3}),
            (6, {7: 0.5, 5: 0.3}),
            (7, {6: 0.6, 5: 0.2}),
            (8, {4: 0.9}),
        ):
            for token, share in then.items():
                table[before, token] = share
        table[:, [PAD, SOS, EOS]] = 0.0
        self.scores = (table / table.sum(-1, keepdim=True)).log()

    def step(self, tokens: Tensor) -> Tensor:
        """Add tokens [R]; log-probabilities of what comes next, [R, V]."""
        self.tokens = torch.cat((self.tokens, tokens[:, None]), dim=1)
        return self.scores[tokens]

    def select(self, rows: Tensor) -> None:
        """Go on with these rows."""
        self.tokens = self.tokens[rows]


def _decoding(name: str) -> Figure:
    """Draw the tokens of the chosen answers, by position."""
    longest, first, last = 8, 3, 9
    chain: Any = _Chain(ANSWERS)
    answers = make_part("decoding", name)(chain, torch.full((ANSWERS,), SOS), longest, EOS, PAD)
    shares = np.stack([(answers == token).float().mean(0).numpy() for token in range(first, last)])
    figure = new_figure(WIDTH - 0.6, HEIGHT)
    panel = figure.subplots()
    letters = [chr(ord("a") + number) for number in range(last - first)]
    places = [str(place + 1) for place in range(shares.shape[1])]
    image = heat(panel, shares, rows=letters, columns=places, limits=(0.0, 1.0))
    panel.set_xlabel("place in the answer")
    panel.set_ylabel("token")
    _bar(figure, image, f"share of {ANSWERS} answers", [panel])
    return figure


def _assembly(name: str) -> Figure:
    blueprint: Blueprint = make_blueprint(assembly=name)
    return draw_model(allowed(blueprint, "assembly"))


def _bar(figure: Figure, image: Any, label: str, panels: Any, extend: str = "neither") -> None:
    bar = figure.colorbar(image, ax=list(panels), shrink=0.9, aspect=16, label=label, extend=extend)
    bar.outline.set_visible(False)


PORTRAITS: dict[str, Callable[[str], Figure]] = {
    "attention": _attention,
    "encoding": lambda name: positions([name]),
    "norm": _norm,
    "norm-type": _norm_type,
    "feedforward": _feedforward,
    "embedding": _embedding,
    "head": _head,
    "masking": lambda name: mask(name, lengths=(5, 3)),
    "mask": _mask,
    "init": _init,
    "loss": _loss,
    "schedule": lambda name: schedule([name]),
    "optimizer": _optimizer,
    "decoding": _decoding,
    "assembly": _assembly,
}
"""How a variant of each axis is drawn."""
