"""The group: help, errors, exit codes, imports, and commands that plugins add."""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import click
import pytest

from tests.zoo.cli.conftest import Zoo
from zoo import __version__
from zoo.cli.commands import COMMANDS
from zoo.cli.root import LazyCommand, ZooGroup, make_cli
from zoo.core.errors import PluginError, ZooError
from zoo.core.plugins import get_plugins

LEAVE = "import sys\nfrom zoo.cli import main\ntry:\n    main()\nfinally:\n    print({}, file=sys.stderr)"
LOADED = (
    "sorted({'torch', 'numpy', 'pytest', 'pygments', 'jinja2', 'matplotlib', 'tokenizers', 'sacrebleu'}"
    " & set(sys.modules))"
)
HEAVY = LEAVE.format(LOADED)
ONE_BY_ONE = f"""
import json, sys
from zoo.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv[1:] = words
    try:
        main()
    except SystemExit as end:
        if end.code or {LOADED}:
            print(words, end.code, {LOADED}, file=sys.stderr)
"""
COMPLETE = {"_ZOO_COMPLETE": "bash_complete", "COMP_WORDS": "zoo build --attention f", "COMP_CWORD": "3"}


def test_the_package_runs_as_the_command() -> None:
    """Where the folder of commands is not on the path."""
    done = subprocess.run(
        [sys.executable, "-m", "zoo", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"zoo {__version__}\n"


def group() -> ZooGroup:
    return make_cli(get_plugins())


def test_the_commands_come_through_the_hook() -> None:
    assert list(COMMANDS) == [
        name for name in group().commands if group().origins[name] == "zoo.cli.commands"
    ]
    assert group().origins["grade"] == "grader"


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_a_help_with_an_example(name: str, zoo: Zoo) -> None:
    for flag in ("--help", "-h"):
        done = zoo(name, flag)
        assert done.code == 0
        assert f"\n    zoo {name}" in done.out.split("\nOptions:")[0]
        assert max(map(len, done.out.splitlines())) <= 80


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_listed_before_it_is_imported(name: str) -> None:
    lazy = group().commands[name]
    assert isinstance(lazy, LazyCommand)
    assert lazy.load().name == name
    assert lazy.get_short_help_str(99) == COMMANDS[name]


def test_a_command_that_cannot_be_imported_is_a_sentence() -> None:
    with pytest.raises(PluginError, match=r"'gone' cannot be loaded from zoo\.no_such:gone"):
        LazyCommand("gone", "zoo.no_such:gone", "").load()


def test_version(zoo: Zoo) -> None:
    assert zoo("--version").out == f"zoo {__version__}\n"


def test_an_unknown_command_and_an_unknown_option_get_the_nearest_names(zoo: Zoo) -> None:
    done = zoo("lst")
    assert (done.code, done.out) == (2, "")
    assert done.err == (
        "Error: There is no command 'lst'. Did you mean list? `zoo --help` lists them\nall.\n"
    )
    done = zoo("build", "--atention=eager")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("Error: There is no option '--atention'. Did you mean --attention")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--nope"], "Error: There is no option '--nope'. `zoo --help` lists them all.\n"),
        (["grade", "--devise"], "Error: There is no option '--devise'. Did you mean --device"),
        (["start"], "Error: Missing argument 'DIR'. See `zoo start --help`.\n"),
        (["hint", "a", "b"], "Error: Got unexpected extra argument (b). See `zoo hint --help`.\n"),
        (["grade", "--seed", "x"], "Error: Invalid value for '--seed': 'x' is not a whole number."),
        (
            ["grade", "--format"],
            "Error: Option '--format' requires an argument. See `zoo grade --help`.\n",
        ),
        (["grade", "--sandbox=strikt"], "Error: Invalid value for '--sandbox': 'strikt' is not one of"),
        (["dev", "chek"], "Error: No such command 'chek'."),
        (
            ["dev", "new-exercise"],
            "Error: Missing argument 'NAME'. See `zoo dev new-exercise --help`.\n",
        ),
    ],
    ids=lambda x: " ".join(x) if isinstance(x, list) else "",
)
def test_wrong_usage_is_a_sentence_within_two_lines(arguments: list[str], said: str, zoo: Zoo) -> None:
    done = zoo(*arguments)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(said)
    assert len(done.err.splitlines()) <= 2
    assert max(map(len, done.err.splitlines())) <= 80


def test_a_group_without_a_command_shows_its_help(zoo: Zoo) -> None:
    done = zoo("dev")
    assert "Commands:\n  check" in done.out + done.err
    assert "Error" not in done.out + done.err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ZooError("No such thing."), 2, "Error: No such thing.\n"),
        (KeyboardInterrupt(), 130, "Interrupted.\n"),
    ],
)
def test_errors_of_commands_become_sentences_and_exit_codes(
    error: BaseException, code: int, said: str, zoo: Zoo, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_args: object) -> None:
        raise error

    monkeypatch.setattr("zoo.cli.list.get_registry", fail)
    done = zoo("list")
    assert (done.code, done.out) == (code, "")
    assert done.err.endswith(said)
    assert "Traceback" not in done.err


def test_what_only_tells_imports_nothing_heavy(shell: Zoo) -> None:
    """One command after the other in one process: what imports too much is named first."""
    commands = [
        ("--help",),
        ("list",),
        ("list", "presets", "--json"),
        ("show", "attention", "torch"),
        ("plugins",),
        *((name, "--help") for name in group().commands),
    ]
    done = shell(json.dumps(commands), start=ONE_BY_ONE)
    assert (done.code, done.err) == (0, "")
    assert done.out.count("Usage: zoo") == 1 + len(group().commands)


def test_completion_imports_nothing_heavy(shell: Zoo) -> None:
    done = shell(start=HEAVY, **COMPLETE)
    assert "plain,fused" in done.out
    assert done.err == "[]\n"


def test_a_pipe_that_is_closed_is_silent(shell: Zoo) -> None:
    start = (
        "import os, sys\nread, write = os.pipe()\nos.close(read)\nos.dup2(write, 1)\n"
        "from zoo.cli import main; main()"
    )
    assert shell("list", start=start).err == ""


class TestCommandsOfPlugins:
    CODE = "import click\nfrom zoo.core.hookspecs import hookimpl\n@hookimpl\ndef zoo_commands(cli):\n"
    NEW = "    @cli.command()\n    def hello():\n        print('hello there')\n"
    TAKEN = "    @cli.command()\n    def show():\n        print('mine')\n"

    def test_a_new_command_is_there_at_once(self, shell: Zoo, plugin: Zoo) -> None:
        plugin(self.CODE + self.NEW)
        assert shell("hello").out == "hello there\n"
        assert "hello" in shell("--help").out
        assert "commands hello" in shell("plugins").out

    def test_a_name_that_is_taken_is_the_plugins_error(self, shell: Zoo, plugin: Zoo) -> None:
        plugin(self.CODE + self.NEW + self.TAKEN)
        done = shell("show", "norm", "pre")
        assert done.code == 0
        assert "mine" not in done.out
        assert (
            "zoo: plugin 'parts' is broken and skipped. zoo_commands(): PluginError: there is a " in done.err
        )
        assert "by zoo.cli.commands" in done.err
        assert "hello" not in shell("--help").out

    @pytest.mark.parametrize(
        ("end", "code", "said"),
        [
            ("ctx.exit(0)", 0, ""),
            ("ctx.exit(3)", 3, ""),
            ("raise SystemExit(4)", 4, ""),
            ("raise click.ClickException('no such thing')", 1, "Error: no such thing\n"),
            ("raise click.Abort", 1, "Aborted!\n"),
        ],
    )
    def test_a_command_ends_as_it_wants_to(
        self, end: str, code: int, said: str, shell: Zoo, plugin: Zoo
    ) -> None:
        offered = (
            "@hookimpl\ndef zoo_variants():\n    return [Variant('norm', 'mine', 'zoo_parts:Mine', '')]\n"
        )
        plugin(
            "from zoo.core.registry import Variant\n"
            + self.CODE
            + "    @cli.command()\n    @click.pass_context\n"
            f"    def leave(ctx):\n        {end}\n{offered}"
        )
        done = shell("leave")
        assert (done.code, done.err) == (code, said)

    def test_the_strict_switch_makes_it_an_error(self, shell: Zoo, plugin: Zoo) -> None:
        plugin(self.CODE + self.TAKEN)
        done = shell("list", ZOO_STRICT_PLUGINS="1")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith("Error: Plugin 'parts' is broken.")


def test_a_command_may_be_added_under_a_name_of_its_own() -> None:
    made = ZooGroup("zoo")
    made.add_command(click.Command("one"), "two")
    with pytest.raises(PluginError, match="'two' already"):
        made.add_command(click.Command("two"))


PRINTS = """
from zoo.parts.attention.eager import EagerAttention
print("imported")
class Mine(EagerAttention):
    def __init__(self, *args):
        super().__init__(*args)
        print("made")
    def attend(self, *args):
        print("asked")
        return super().attend(*args)
"""


@pytest.mark.parametrize(
    "command",
    ["build", *(pytest.param(one, marks=pytest.mark.slow) for one in ("check", "compare --jobs=2"))],
)
def test_what_a_part_prints_is_not_in_the_json(command: str, shell: Zoo, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PRINTS)
    part = f"{tmp_path / 'mine.py'}:Mine"
    if command == "check":
        done = shell("check", part, "--axis=attention", "--json")
    else:
        name, *more = command.split()
        small = (
            "--d-model=8",
            "--num-heads=2",
            "--d-ff=8",
            "--num-encoder-layers=1",
            "--num-decoder-layers=1",
        )
        done = shell(name, f"--attention={part}", "--json", "--device=cpu", *small, *more)
    assert done.json
    assert "asked\n" in done.err


@pytest.mark.parametrize(
    "arguments", [("--json", "--help"), ("--json", "--seed=abc"), ("--json", "surplus")], ids=" ".join
)
def test_standard_output_is_kept_for_json_only_while_the_command_runs(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before = sys.stdout
    with suppress(SystemExit, ZooError):
        group().main(["build", *arguments], prog_name="zoo")
    assert sys.stdout is before
    assert ("Usage: zoo build" in capsys.readouterr().out) == ("--help" in arguments)


@pytest.mark.slow
def test_nor_in_the_csv(shell: Zoo, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(PRINTS)
    small = ("--d-model=8", "--num-heads=2", "--d-ff=8", "--num-encoder-layers=1", "--num-decoder-layers=1")
    done = shell("compare", f"--attention={tmp_path / 'mine.py'}:Mine", "--csv=-", "--device=cpu", *small)
    assert done.code == 0
    assert len(done.out.splitlines()) == 2
    assert "asked\n" in done.err
