"""What zoo/README.md says is so."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import zoo
from zoo import hookspecs
from zoo.blueprint import make_blueprint
from zoo.builder import build
from zoo.plugins import Loaded, Plugins, load_plugins, make_registry

TEXT = (Path(zoo.__file__).parent / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n# (\w+)\.py[^\n]*\n(.*?)```", TEXT, re.DOTALL)


@pytest.fixture
def plugins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Plugins]:
    """The built-in plugins, and the one that the README shows."""
    for name, code in BLOCKS:
        (tmp_path / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = load_plugins(group="zoo-none")
    import my_parts

    found.register(my_parts, Loaded("my-parts", "1", "README"))
    yield found
    for name, _ in BLOCKS:
        sys.modules.pop(name, None)


def test_the_plugin_of_the_readme_is_listed_and_built(plugins: Plugins) -> None:
    registry = make_registry(plugins)
    assert registry.get("feedforward", "leaky").origin == "my-parts"
    assert not plugins.loaded["my-parts"].problem
    blueprint = make_blueprint(registry, feedforward="leaky:slope=0.1", d_model=8, num_heads=2, d_ff=8)
    model = build(blueprint, registry=registry)
    assert type(model.encoder.layers[0].feed_forward).__name__ == "LeakyFeedForward"
    assert model.encoder.layers[0].feed_forward.slope == 0.1


def test_every_hook_is_documented_with_its_signature() -> None:
    hooks = {name: f for name, f in vars(hookspecs).items() if name.startswith("zoo_")}
    assert hooks
    for name, function in hooks.items():
        arguments = ", ".join(inspect.signature(function).parameters)
        assert f"| `{name}({arguments})` |" in TEXT
        assert inspect.getdoc(function)
