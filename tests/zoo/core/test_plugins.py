"""Plugins: from the entry-point group, broken ones of every kind, the strict switch, and hook order."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from zoo import __version__
from zoo.core.errors import PluginError
from zoo.core.plugins import DEFAULT_PLUGINS, Plugins, get_plugins, get_registry, load_plugins, make_registry
from zoo.core.tasks import Task

GROUP = "zoo-test"
VARIANT = 'Variant("feedforward", "{name}", "zoo.parts.feedforward.relu:ReluFeedForward", "mine")'
HEAD = "from zoo.core.hookspecs import hookimpl\nfrom zoo.core.registry import Variant\n"
GOOD = HEAD + f"@hookimpl\ndef zoo_variants():\n    yield {VARIANT.format(name='mine')}\n"
Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Put a distribution on the path whose entry points are the modules given, by name."""
    monkeypatch.syspath_prepend(str(tmp_path))

    def install(distribution: str = "my-zoo", version: str = "1.2", **modules: str) -> None:
        info = tmp_path / f"{distribution}-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {distribution}\nVersion: {version}\n")
        lines = [f"{name} = {distribution.replace('-', '_')}_{name}" for name in modules]
        (info / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *lines]) + "\n")
        for name, code in modules.items():
            module = f"{distribution.replace('-', '_')}_{name}"
            (tmp_path / f"{module}.py").write_text(code)
            monkeypatch.delitem(sys.modules, module, raising=False)

    return install


def load() -> Plugins:
    return load_plugins(group=GROUP)


def test_the_built_ins_are_plugins_too() -> None:
    plugins = load()
    assert tuple(plugins.loaded) == DEFAULT_PLUGINS
    assert all(one.version == __version__ and not one.problem for one in plugins.loaded.values())


def test_the_grader_is_a_plugin_and_nothing_is_broken() -> None:
    assert "transformer-zoo" in get_plugins().loaded["grader"].source
    assert not [one for one in get_plugins().loaded.values() if one.problem]


def test_an_outside_plugin_is_loaded_with_version_and_source(install: Install) -> None:
    install(parts=GOOD)
    plugins = load()
    loaded = plugins.loaded["parts"]
    assert (loaded.name, loaded.version, loaded.source, loaded.problem) == (
        "parts",
        "1.2",
        "my-zoo (my_zoo_parts)",
        "",
    )
    assert make_registry(plugins).get("feedforward", "mine").origin == "parts"


BROKEN = {
    "an import that fails": ("import no_such_module", "import of my_zoo_bad: ModuleNotFoundError"),
    "an exit at import": ("raise SystemExit(1)", "import of my_zoo_bad: SystemExit"),
    "no Python": ("def (", "import of my_zoo_bad: SyntaxError"),
    "a misspelt hook": (HEAD + "@hookimpl\ndef zoo_varients():\n    return []", "unknown hook 'zoo_varients'"),
    "a wrong argument": (HEAD + "@hookimpl\ndef zoo_commands(click):\n    pass", "zoo_commands"),
    "a hook that raises": (HEAD + "@hookimpl\ndef zoo_variants():\n    1 / 0", "zoo_variants(): ZeroDivisionError"),
    "a hook that raises half way": (GOOD + "    1 / 0", "zoo_variants(): ZeroDivisionError"),
    "a hook that exits": (HEAD + "@hookimpl\ndef zoo_variants():\n    raise SystemExit", "zoo_variants(): SystemExit"),
    "a wrong type": (GOOD + "    yield 'two'", "expected Variant objects, got str"),
    "nothing iterable": (HEAD + "@hookimpl\ndef zoo_variants():\n    return 5", "expected a list or tuple, got int"),
    "no return": (HEAD + "@hookimpl\ndef zoo_variants():\n    []", "got None: is there a `return`?"),
    "a duplicate": (GOOD + f"    yield {VARIANT.format(name='relu')}", "'relu' is registered twice: by zoo.parts.feed"),
    "a bad name": (GOOD + f"    yield {VARIANT.format(name='Mine')}", "'Mine' is not a valid variant name"),
    "a name that is none": (GOOD + "    yield Variant('feedforward', 5, 'a:B', '')", "TypeError"),
}  # fmt: skip


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_reported_and_skipped_whole(
    kind: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    code, reason = BROKEN[kind]
    install(bad=code)
    install("other-zoo", good=GOOD.replace("mine", "fine"))
    plugins = load()
    registry = make_registry(plugins)
    said = capsys.readouterr().err
    assert said.startswith("zoo: plugin 'bad' is broken and skipped. ")
    assert reason in said
    assert reason in plugins.loaded["bad"].problem
    assert plugins.loaded["bad"].version == "1.2"
    assert not plugins.manager.has_plugin("bad")
    names = [variant.name for variant in registry.variants("feedforward")]
    assert "mine" not in names
    assert "fine" in names


@pytest.mark.parametrize("kind", BROKEN)
def test_the_strict_switch_makes_it_an_error(
    kind: str, install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZOO_STRICT_PLUGINS", "1")
    code, reason = BROKEN[kind]
    install(bad=code)
    with pytest.raises(PluginError, match="Plugin 'bad' is broken") as caught:
        make_registry(load())
    assert reason in str(caught.value)


def test_a_name_that_is_taken_is_kept_by_its_first_owner(install: Install) -> None:
    install(parts=GOOD)
    install("other-zoo", parts=GOOD.replace("mine", "fine"))
    plugins = load()
    registry = make_registry(plugins)
    assert {"parts", "other-zoo:parts"} < plugins.loaded.keys() or {
        "parts",
        "my-zoo:parts",
    } < plugins.loaded.keys()
    assert registry.get("feedforward", "mine").origin != registry.get("feedforward", "fine").origin


def names(plugins: Plugins) -> list[str]:
    return [name for name in plugins.loaded if name not in DEFAULT_PLUGINS]


def test_zoo_plugins_names_those_that_are_loaded(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install(one=GOOD, two=GOOD.replace("mine", "other"))
    assert names(load()) == ["one", "two"]
    monkeypatch.setenv("ZOO_PLUGINS", " two, ")
    assert names(load()) == ["two"]
    assert make_registry(load()).get("feedforward", "other").origin == "two"
    monkeypatch.setenv("ZOO_PLUGINS", "")
    assert names(load()) == []


def test_a_plugin_that_is_left_out_is_not_even_imported(
    install: Install, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(bad="raise RuntimeError")
    monkeypatch.setenv("ZOO_STRICT_PLUGINS", "1")
    monkeypatch.setenv("ZOO_PLUGINS", "")
    assert names(load()) == []


def test_a_plugin_that_is_named_and_not_installed_is_reported(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install(one=GOOD)
    monkeypatch.setenv("ZOO_PLUGINS", "one,gone")
    assert load().loaded["gone"].problem == "ZOO_PLUGINS: PluginError: no plugin of this name is installed"
    assert "zoo: plugin 'gone' is broken and skipped." in capsys.readouterr().err
    monkeypatch.setenv("ZOO_STRICT_PLUGINS", "1")
    with pytest.raises(PluginError, match="no plugin of this name is installed"):
        load()


def test_hooks_run_in_the_order_of_registration_built_ins_first(install: Install) -> None:
    install(parts=GOOD)
    plugins = load()
    called: list[str] = []
    plugins.each("zoo_variants", lambda name, _items: called.append(name))
    assert called[-1] == "parts"
    assert called[:-1] == [name for name in DEFAULT_PLUGINS if name in called]


MARKED = GOOD.replace("@hookimpl", "@hookimpl({mark})")


def called(plugins: Plugins) -> list[str]:
    found: list[str] = []
    plugins.each("zoo_variants", lambda name, _items: found.append(name))
    return found


@pytest.mark.parametrize(("mark", "place"), [("tryfirst=True", 0), ("trylast=True", -1)])
def test_a_plugin_can_ask_to_be_called_first_or_last(mark: str, place: int, install: Install) -> None:
    install(marked=MARKED.replace("{mark}", mark), plain=GOOD.replace("mine", "other"))
    plugins = load()
    assert called(plugins)[place] == "marked"
    rest = [name for name in called(plugins) if name != "marked"]
    assert rest == [name for name in DEFAULT_PLUGINS if name in rest] + ["plain"]
    assert make_registry(plugins).get("feedforward", "mine").origin == "marked"


WRAPPERS = {
    "new style": "@hookimpl(wrapper=True)\ndef zoo_variants():\n    {before}\n    results = yield\n    {after}\n"
    "    return [[v for v in one if v.name != 'relu'] for one in results]\n",
    "old style": "@hookimpl(hookwrapper=True)\ndef zoo_variants():\n    {before}\n    outcome = yield\n    {after}\n"
    "    outcome.force_result([[v for v in one if v.name != 'relu'] for one in outcome.get_result()])\n",
}


@pytest.mark.parametrize("style", WRAPPERS)
def test_a_hook_wrapper_runs_around_every_plugin(style: str, install: Install) -> None:
    install(around=HEAD + WRAPPERS[style].format(before="pass", after="pass"), parts=GOOD)
    plugins = load()
    registry = make_registry(plugins)
    assert registry.get("feedforward", "mine").origin == "parts"
    assert "relu" not in [variant.name for variant in registry.variants("feedforward")]
    assert not [one for one in plugins.loaded.values() if one.problem]


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_hook_wrapper_that_breaks_is_skipped_and_what_it_wraps_is_not(where: str, install: Install) -> None:
    code = WRAPPERS["new style"].format(**{"before": "pass", "after": "pass", where: "1 / 0"})
    install(around=HEAD + code, parts=GOOD)
    plugins = load()
    registry = make_registry(plugins)
    assert plugins.loaded["around"].problem == "zoo_variants(): ZeroDivisionError: division by zero"
    assert [one.name for one in plugins.loaded.values() if one.problem] == ["around"]
    assert registry.get("feedforward", "mine").origin == "parts"
    assert len(registry.variants()) == len(make_registry(load_plugins(group="none")).variants()) + 1


def test_a_plugin_that_breaks_inside_a_wrapper_is_the_one_that_is_skipped(install: Install) -> None:
    code = WRAPPERS["new style"].format(before="pass", after="pass")
    install(around=HEAD + code, bad=HEAD + "@hookimpl\ndef zoo_variants():\n    1 / 0")
    plugins = load()
    make_registry(plugins)
    assert [one.name for one in plugins.loaded.values() if one.problem] == ["bad"]


def test_call_monitoring_sees_every_call(install: Install) -> None:
    install(parts=GOOD)
    plugins, seen = load(), []

    def before(hook: str, implementations: Any, _arguments: Any) -> None:
        seen.append((hook, [one.plugin_name for one in implementations]))

    undo = plugins.manager.add_hookcall_monitoring(before, lambda *_: None)
    names_called = called(plugins)
    undo()
    assert seen == [("zoo_variants", [name]) for name in names_called]
    assert "parts" in names_called


def test_a_plugin_can_add_hooks_of_its_own(install: Install) -> None:
    specs = "from zoo.core.hookspecs import hookspec\n@hookspec\ndef zoo_snacks():\n    pass\n"
    install(
        host=HEAD
        + "import my_zoo_specs\n@hookimpl\ndef zoo_addhooks(manager):\n    manager.add_hookspecs(my_zoo_specs)",
        guest=HEAD + "@hookimpl\ndef zoo_snacks():\n    return ['nuts']",
        specs=specs,
    )
    plugins, got = load(), []
    plugins.each("zoo_snacks", lambda name, items: got.append((name, items)))
    assert got == [("guest", ["nuts"])]


def test_named_things_are_collected_once(capsys: pytest.CaptureFixture[str], install: Install) -> None:
    task = "Task('{}', 'mine', 'a:B', 'reverse')"
    head = "from zoo.core.hookspecs import hookimpl\nfrom zoo.core.tasks import Task\n"
    head += "@hookimpl\ndef zoo_tasks():\n    return "
    install(good=f"{head}[{task.format('mine')}]")
    install("other-zoo", twice=f"{head}[{task.format('new')}, {task.format('reverse')}]")
    tasks = load().collect("zoo_tasks", Task)
    assert {"reverse", "mine"} <= tasks.keys()
    assert "new" not in tasks
    assert "task 'reverse' is registered twice" in capsys.readouterr().err


def test_the_processs_own_registry_is_made_once() -> None:
    assert get_registry() is get_registry()


@pytest.mark.parametrize(
    "code",
    [
        "import zoo.core.plugins as p; p.get_registry().variants(); p.get_plugins().collect('zoo_presets', object)",
        "from zoo.core.tasks import get_tasks; get_tasks()",
        "from zoo.core.blueprint import make_blueprint, get_presets; make_blueprint(attention='fused'); get_presets()",
        "import zoo.core.blueprint as b, zoo.core.plan as p, zoo.core.rules as r\n"
        "r.check(p.make_plan(b.make_blueprint()))",
        "import importlib, zoo.core.plugins as p; [importlib.import_module(m) for m in p.DEFAULT_PLUGINS]",
    ],
)
def test_listing_imports_no_torch(code: str) -> None:
    check = f"{code}\nimport sys; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", check], check=True, timeout=600)


def hooks_of(module: Any) -> list[str]:
    return [name for name, value in vars(module).items() if hasattr(value, "zoo_impl")]


@pytest.mark.parametrize("name", DEFAULT_PLUGINS)
def test_every_built_in_plugin_implements_a_hook(name: str) -> None:
    assert hooks_of(sys.modules[name])
