"""`zoo plugins`, and what a plugin's variant, preset and task bring to the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli.commands import COMMANDS
from tests.zoo.cli.conftest import Zoo
from zoo import __version__
from zoo.core.blueprint import get_presets
from zoo.core.plugins import DEFAULT_PLUGINS
from zoo.core.tasks import get_tasks

Install = Callable[..., None]
HEAD = """
from zoo.core.blueprint import Preset
from zoo.core.hookspecs import hookimpl
from zoo.core.registry import Option, Variant
from zoo.core.tasks import Task
"""
GOOD = (
    HEAD
    + """
@hookimpl
def zoo_variants():
    yield Variant("feedforward", "mine", "zoo.parts.feedforward.relu:ReluFeedForward", "my own network")
@hookimpl
def zoo_presets():
    return [Preset("tiny", "two heads", {"feedforward": "mine"}, {"d_model": 8, "num_heads": 2, "d_ff": 8,
        "num_encoder_layers": 1, "num_decoder_layers": 1, "src_vocab": 9, "tgt_vocab": 9, "max_len": 8})]
@hookimpl
def zoo_tasks():
    return [Task("nap", "do nothing", "nowhere:Nap", "tiny")]
"""
)
TWICE = GOOD.replace('"mine"', '"relu"')
BROKEN = {
    "import that fails": ("import no_such_module", "ModuleNotFoundError"),
    "exit at import": ("raise SystemExit(3)", "SystemExit"),
    "message that raises": (
        "class E(Exception):\n    def __str__(self): raise self\nraise E",
        "E: (its message cannot be shown)",
    ),
    "message with a surrogate": ("raise ValueError('\\ud800 \\x1b[31m')", "ValueError: \\ud800 \\x1b[31m"),
    "misspelt hook": (HEAD + "@hookimpl\ndef zoo_varients():\n    return []", "unknown hook 'zoo_varients'"),
    "wrong type": (
        HEAD + "@hookimpl\ndef zoo_variants():\n    return [5]",
        "expected Variant objects, got int",
    ),
    "duplicate variant": (TWICE, "feedforward 'relu' is registered twice"),
}


SEVERAL = """
import json, sys
from click.testing import CliRunner
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins
cli = make_cli(get_plugins())
done = [CliRunner().invoke(cli, words, prog_name="zoo") for words in json.loads(sys.argv[1])]
print(json.dumps([[one.exit_code, one.stdout, one.stderr] for one in done]))
"""
"""Several commands in one process: importing torch takes longer than they do."""


def test_the_built_in_plugins_and_the_grader(zoo: Zoo) -> None:
    found = {one["name"]: one for one in zoo("plugins", "--json").json}
    assert set(DEFAULT_PLUGINS) <= found.keys()
    assert "attention/fused" in found["zoo.parts.attention"]["variants"]
    assert found["zoo.parts.attention"]["version"] == __version__
    assert [name for one in found.values() for name in one["tasks"]] == list(get_tasks())
    offered = [name for one in found.values() for name in one["presets"]]
    assert offered == list(get_presets())
    assert {*COMMANDS} <= {*found["grader"]["commands"]}
    assert {"zoo_exercises", "zoo_reports"} <= {*found["grader"]["other_hooks"]}
    assert not any(one["problem"] for one in found.values())


def test_the_text_names_all_of_it(zoo: Zoo) -> None:
    out = zoo("plugins").out
    assert (
        f"zoo.parts.attention {__version__}, built in\n  attention eager, einsum, loop, fused, torch" in out
    )
    assert f"commands {', '.join(COMMANDS)}" in " ".join(out.split())
    assert "engines, exercises, late_rules, reports\n" in out
    assert max(map(len, out.splitlines())) <= 80


def test_what_a_plugin_adds_is_listed_shown_built_and_offered_at_once(shell: Zoo, plugin: Install) -> None:
    plugin(GOOD)
    assert "\n  mine " in shell("list", "feedforward").out
    assert " my own network [plugin parts]\n" in shell("list", "feedforward").out
    assert shell("show", "feedforward", "mine").out.startswith("feedforward mine (from parts)\n")
    assert ", mine, file.py:Class." in " ".join(shell("build", "--help").out.split())
    assert "feedforward mine; presets tiny; tasks nap" in shell("plugins").out
    words = [
        ["build", "--preset=tiny", "--device=cpu", "--json"],
        ["build", "--preset=reverse", "--device=cpu"],
    ]
    tiny, of_the_zoo = shell(json.dumps(words), start=SEVERAL).json
    built = json.loads(tiny[1])
    assert built["blueprint"]["choices"]["feedforward"]["name"] == "mine"
    assert built["trial"]["good"]
    assert (of_the_zoo[0], of_the_zoo[2]) == (0, ""), "its class, which is the zoo's own, is not blamed"


def test_what_a_plugin_adds_is_completed_at_once(shell: Zoo, plugin: Install) -> None:
    plugin(GOOD)

    def complete(words: str) -> str:
        count = str(len(words.split()) - (not words.endswith(" ")))
        return shell(_ZOO_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count).out

    assert complete("zoo build --feedforward mi") == "file,mi\nplain,mine\n"
    assert complete("zoo compare --feedforward relu,m") == "file,relu,m\nplain,relu,mine\n"
    assert complete("zoo show feedforward m") == "file,m\nplain,mine\n"
    assert complete("zoo build --preset ti") == "plain,tiny\n"
    assert complete("zoo train --task n") == "plain,nap\n"


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_plugin_is_reported_and_skipped(kind: str, shell: Zoo, plugin: Install) -> None:
    code, reason = BROKEN[kind]
    plugin(code, "bad")
    done = shell("plugins")
    assert done.code == 0
    assert done.err.startswith("zoo: plugin 'bad' is broken and skipped. ")
    assert "Traceback" not in done.err
    assert reason in done.err
    assert "bad 1.2, bad (zoo_bad)\n  broken and skipped. " in done.out
    assert reason in " ".join(done.out.split())
    assert "zoo.parts.attention" in done.out


@pytest.mark.parametrize("kind", BROKEN)
def test_the_strict_switch_makes_it_an_error(kind: str, shell: Zoo, plugin: Install) -> None:
    code, reason = BROKEN[kind]
    plugin(code, "bad")
    done = shell("list", ZOO_STRICT_PLUGINS="1")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Error: Plugin 'bad' is broken.")
    assert reason in " ".join(done.err.split())


PRESETS = {
    "variant": ({"choices": {"norm": "preh"}}, "preset 'mine': There is no norm 'preh'. Did you mean pre"),
    "axis": (
        {"choices": {"norn": "pre"}},
        "preset 'mine': There is no axis or size 'norn'. Did you mean norm",
    ),
    "size": ({"sizes": {"d_model": 0}}, "preset 'mine': d_model=0: expected at least 1."),
    "recipe": ({"recipe": {"lrr": 3}}, "preset 'mine': There is no field of a recipe 'lrr'. Did you mean lr"),
    "recipe's value": ({"recipe": {"lr": -1}}, "preset 'mine': lr=-1: expected a number above 0."),
    "correction": ({"corrected": {"norm": "preh"}}, "preset 'mine': There is no norm 'preh'."),
}


@pytest.mark.parametrize("kind", PRESETS)
def test_a_preset_that_cannot_be_is_named_and_its_plugin_skipped(
    kind: str, shell: Zoo, plugin: Install
) -> None:
    changes, reason = PRESETS[kind]
    given = {"name": "mine", "summary": "", "choices": {}, "sizes": {}, **changes}
    plugin(HEAD + f"@hookimpl\ndef zoo_presets():\n    return [Preset(**{given!r})]\n")
    done = shell("list", "presets")
    assert done.code == 0
    assert "mine" not in done.out
    assert f"zoo: plugin 'parts' is broken and skipped. zoo_presets(): PluginError: {reason}" in done.err


def test_a_plugin_without_its_variants_is_blamed_for_those(shell: Zoo, plugin: Install) -> None:
    plugin(
        HEAD + "@hookimpl\ndef zoo_variants():\n    raise KeyError('lost')\n@hookimpl\ndef zoo_presets():\n"
        "    return [Preset('mine', '', {'norm': 'lost'}, {})]\n"
    )
    done = shell("list", "presets")
    assert (done.code, "mine" in done.out) == (0, False)
    assert done.err == "zoo: plugin 'parts' is broken and skipped. zoo_variants(): KeyError: 'lost'\n"
    strict = shell("list", "presets", ZOO_STRICT_PLUGINS="1")
    assert (strict.code, strict.err) == (
        2,
        "Error: Plugin 'parts' is broken. zoo_variants(): KeyError: 'lost'\n",
    )


PARTS = """
import torch
from zoo.parts.attention.base import MultiHeadAttention

class Two(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        return q

class Takes(Two):
    pass

class Lacks(MultiHeadAttention):
    pass

class Raises(MultiHeadAttention):
    def attend(self, q, k, v, mask):
        return helper(q)

def helper(q):
    return q.nothing
"""
SHIPPED = (
    HEAD
    + """
@hookimpl
def zoo_variants():
    yield Variant("attention", "two", "their_parts:Two", "gives one value for two")
    yield Variant("attention", "takes", "their_parts:Takes", "", options=(Option("odd", int, 1, ""),))
    yield Variant("attention", "lacks", "their_parts:Lacks", "")
    yield Variant("attention", "raises", "their_parts:Raises", "")
"""
)
MISTAKES = {
    "two": "plugin 'parts' is broken (base.py, line",
    "takes": "attention=takes, of plugin 'parts', cannot be constructed: ",
    "lacks": "attention=lacks, of plugin 'parts', cannot be constructed: class Lacks has no method 'attend', which "
    "its base zoo.parts.attention.base.MultiHeadAttention leaves to it.",
    "raises": "plugin 'parts' is broken (their_parts.py, line 20): AttributeError: 'Tensor' object has no",
}


def assert_said(name: str, code: int, err: str) -> None:
    assert code == 2
    assert "Traceback" not in err
    assert MISTAKES[name] in " ".join(err.split())
    assert max(map(len, err.splitlines())) <= 80


def test_a_mistake_in_a_plugins_part_is_a_sentence_that_names_it(
    shell: Zoo, plugin: Install, tmp_path: Path
) -> None:
    plugin(SHIPPED)
    (tmp_path / "their_parts.py").write_text(PARTS)
    names = ("two", "takes", "lacks")
    words = [["build", f"--attention={name}", "--device=cpu"] for name in names]
    for name, (code, _, err) in zip(names, shell(json.dumps(words), start=SEVERAL).json, strict=True):
        assert_said(name, code, err)


@pytest.mark.slow
def test_a_mistake_in_a_plugins_part_that_training_shows(shell: Zoo, plugin: Install, tmp_path: Path) -> None:
    plugin(SHIPPED)
    (tmp_path / "their_parts.py").write_text(PARTS)
    words = ("train", "--attention=raises", "--device=cpu", "--steps=1")
    done = shell(*words)
    assert_said("raises", done.code, done.err)
    assert "Traceback" in shell(*words, ZOO_STRICT_PLUGINS="1").err
