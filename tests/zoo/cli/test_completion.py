"""Shell completion, as the shells ask for it."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from tests.zoo.cli.conftest import Zoo
from zoo.cli.root import make_cli
from zoo.core.plugins import get_plugins, get_registry
from zoo.core.registry import Axis


def complete(*words: str) -> dict[str, str | None]:
    """What is offered for the last word, with the help for it; files are left out."""
    made = ShellComplete(make_cli(get_plugins()), {}, "zoo", "_ZOO_COMPLETE")
    found = made.get_completions(list(words[:-1]), words[-1])
    return {item.value: item.help for item in found if item.type == "plain"}


@pytest.mark.parametrize("axis", get_registry().axes, ids=lambda axis: axis.name)
@pytest.mark.parametrize("command", ["build", "train", "compare"])
def test_every_variant_of_every_axis_is_offered_with_its_summary(command: str, axis: Axis) -> None:
    name = axis.name
    expected = {variant.name: variant.summary for variant in get_registry().variants(name)}
    assert complete(command, f"--{name}", "") == expected
    assert complete(command, f"--{name}=") == expected


def beginning(axis: str, text: str) -> list[str]:
    """The variants of an axis whose names begin so."""
    return [one.name for one in get_registry().variants(axis) if one.name.startswith(text)]


def lines(before: str, names: list[str], file: str) -> str:
    """What bash is told: the file that it may be, and these names after what came before."""
    return "\n".join([f"file,{file}", *(f"plain,{before}{name}" for name in names), ""])


def test_commands_axes_names_and_presets_are_offered() -> None:
    assert {"list", "show", "build", "compare", "plugins", "grade"} <= complete("").keys()
    assert complete("p").keys() == {"plugins", "predict", "progress"}
    assert list(complete("list", "")) == [*(axis.name for axis in get_registry().axes), "presets", "tasks"]
    assert list(complete("show", "en")) == ["encoding", "encoder-decoder", "encoder"]
    assert list(complete("show", "norm", "p")) == beginning("norm", "p")
    assert complete("show", "no-such-axis", "") == {}
    assert list(complete("diff", "en")) == ["encoding"]
    assert list(complete("diff", "norm", "pre", "po")) == beginning("norm", "po")
    assert list(complete("diff", "attention", "eager:bi")) == ["eager:bias="]
    assert list(complete("build", "--preset", "re")) == ["reverse"]
    assert list(complete("show", "pre")) == ["preset", *beginning("norm", "pre")]
    assert list(complete("show", "rotar")) == ["rotary"]
    assert list(complete("show", "preset", "re")) == ["reverse"]
    assert {"--d-model", "--attention", "--save"} <= complete("build", "--").keys()
    assert list(complete("build", "--device", "c")) == ["cpu", "cuda"]


def test_options_of_a_variant_are_offered_after_a_colon() -> None:
    options = [f"eager:{option.name}=" for option in get_registry().get("attention", "eager").options]
    assert list(complete("build", "--attention", "eager:")) == options
    assert list(complete("build", "--attention", "eager:bi")) == ["eager:bias="]
    assert list(complete("build", "--embedding", "unscaled:st")) == ["unscaled:std="]
    assert complete("build", "--attention", "eager:no") == {}
    assert complete("build", "--attention", "no-such:") == {}


def test_the_last_of_several_is_completed() -> None:
    assert list(complete("compare", "--norm", "pre,p")) == [f"pre,{name}" for name in beginning("norm", "p")]
    assert list(complete("compare", "--attention", "fused,eager:b")) == ["fused,eager:bias="]


@pytest.mark.parametrize(
    ("shell_name", "mark"), [("bash", "complete -o nosort"), ("zsh", "#compdef"), ("fish", "-f")]
)
def test_the_script_that_is_documented(shell_name: str, mark: str, shell: Zoo) -> None:
    done = shell(_ZOO_COMPLETE=f"{shell_name}_source")
    assert done.code == 0
    assert mark in done.out
    assert "_ZOO_COMPLETE=bash_source zoo" in shell("--help").out


def test_files_are_offered_too(shell: Zoo) -> None:
    done = shell(_ZOO_COMPLETE="bash_complete", COMP_WORDS="zoo build --norm p", COMP_CWORD="3")
    assert done.out == lines("", beginning("norm", "p"), "p")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("zoo build --attention = fu", lines("", beginning("attention", "fu"), "fu")),
        ("zoo build --norm = pre --attention =", "plain,eager\n"),
        ("zoo build --attention = eager :", "plain,bias=\nplain,dropout=\n"),
        ("zoo build --attention eager : b", "plain,bias=\n"),
        ("zoo compare --attention = loop,eager : bi", "plain,bias=\n"),
        ("zoo compare --norm = pre,p", lines("pre,", beginning("norm", "p"), "pre,p")),
        ("zoo li", "plain,list\n"),
    ],
)
def test_bash_splits_words_at_equal_signs_and_colons(words: str, offered: str, shell: Zoo) -> None:
    count = str(len(words.split()) - 1)
    done = shell(_ZOO_COMPLETE="bash_complete", COMP_WORDS=words, COMP_CWORD=count)
    assert offered in done.out
    assert done.out.count("\n") == offered.count("\n") or words.endswith("=")
