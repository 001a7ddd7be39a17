"""`zoo list` and `zoo show`: everything is listed and shown, as text and as JSON."""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest

from tests.zoo.cli.conftest import Zoo
from zoo.blueprint import get_presets
from zoo.cli.describe import remarkable
from zoo.cli.show import _highlighted
from zoo.plugins import get_registry
from zoo.registry import Axis, Capability, Variant
from zoo.source import find_source
from zoo.tasks import get_tasks

VARIANTS = get_registry().variants()
MINE = '''
class Mine:
    """Mine it is.

    In many words.
    """

1 / 0  # showing a file must not run it
'''


@pytest.fixture
def mine(tmp_path: Path) -> str:
    (tmp_path / "mine.py").write_text(MINE)
    return f"{tmp_path / 'mine.py'}:Mine"


def name_of(variant: Variant) -> str:
    return f"{variant.axis}/{variant.name}"


class TestList:
    def test_lists_every_axis_and_variant_and_marks_the_defaults(self, zoo: Zoo) -> None:
        lines = zoo("list").out.splitlines()
        for axis in get_registry().axes:
            assert f"{axis.name}: {axis.summary}" in lines
            assert sum(line.startswith(f"  {axis.default} *  ") for line in lines) == 1
        first = [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "]
        assert first == [variant.name for variant in VARIANTS]
        assert max(map(len, lines)) <= 80

    def test_one_axis_and_a_pattern(self, zoo: Zoo) -> None:
        assert "norm:" not in zoo("list", "attention").out
        assert [one["name"] for one in zoo("list", "--like", "*post", "--json").json] == ["post", "res-post"]
        assert [one["axis"] for one in zoo("list", "--like", "mask/*", "--json").json] == ["mask"] * 3

    def test_json_holds_all_metadata(self, zoo: Zoo) -> None:
        found = {(one["axis"], one["name"]): one for one in zoo("list", "--json").json}
        assert list(found) == [(variant.axis, variant.name) for variant in VARIANTS]
        fused = found["attention", "fused"]
        assert fused["capabilities"]["mask_forms"] == ["bool", "additive"]
        assert fused["options"][0] | {"help": ""} == {
            "name": "bias", "type": "bool", "default": True, "help": "", "minimum": None, "choices": [],
        }  # fmt: skip
        assert (fused["default"], fused["origin"]) == (False, "zoo.attention")
        assert found["attention", "eager"]["default"]

    @pytest.mark.parametrize(("what", "names"), [("presets", get_presets()), ("tasks", get_tasks())])
    def test_presets_and_tasks(self, what: str, names: dict[str, object], zoo: Zoo) -> None:
        assert [one["name"] for one in zoo("list", what, "--json").json] == list(names)
        assert zoo("list", what).out.split()[0] == next(iter(names))
        assert zoo("list", what, "--like", "no-such*").out == ""

    def test_an_unknown_axis(self, zoo: Zoo) -> None:
        done = zoo("list", "atention")
        assert done.code == 2
        assert done.err.startswith("Error: There is no axis 'atention'. Did you mean attention or ")

    def test_nothing_that_matches(self, zoo: Zoo) -> None:
        done = zoo("list", "--like", "zzz")
        assert (done.code, done.out, done.err) == (0, "", "No name is like 'zzz'.\n")
        assert zoo("list", "--like", "zzz", "--json").json == []

    def test_capabilities_are_told_where_they_differ_from_what_is_taken_for_granted(self) -> None:
        declared = (
            Capability("fast", False, ""),
            Capability("causal", True, ""),
            Capability("forms", ("a",), ""),
        )
        axis = Axis("part", "", "one", "", declared)
        same = {"fast": False, "causal": True, "forms": ("a",)}
        assert remarkable(Variant("part", "one", "a:B", "", capabilities=same), axis) == ""
        other = {"fast": True, "causal": False, "forms": ("a", "b")}
        shown = remarkable(Variant("part", "one", "a:B", "", capabilities=other), axis)
        assert shown == "fast, not causal, forms: a, b"


class TestShow:
    @pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
    def test_shows_everything_a_variant_says_about_itself(self, variant: Variant, zoo: Zoo) -> None:
        out = zoo("show", variant.axis, variant.name).out
        words = " ".join(out.split())
        assert out.startswith(f"{variant.axis} {variant.name} (built in)\n")
        for text in (
            variant.summary,
            variant.formula,
            variant.paper,
            get_registry().axis(variant.axis).interface,
        ):
            assert " ".join(text.split()) in words
        for option in variant.options:
            assert f"{option.name} {option.expected}" in words
        for name in variant.capabilities:
            assert name.replace("_", " ") in words
        assert inspect.getsource(variant.load()).rstrip() in out

    @pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
    def test_fits_into_80_columns_but_for_the_source(self, variant: Variant, zoo: Zoo) -> None:
        out = zoo("show", variant.axis, variant.name, "--no-source").out
        assert "\nSource" not in out
        assert max(map(len, out.splitlines())) <= 80

    @pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
    def test_the_source_found_is_that_of_the_class(self, variant: Variant) -> None:
        source = find_source(variant)
        lines, line = inspect.getsourcelines(variant.load())
        assert (source.text, source.line) == ("".join(lines).rstrip("\n"), line)
        assert source.docstring == inspect.getdoc(variant.load())
        assert Path(source.file).samefile(inspect.getsourcefile(variant.load()) or "")

    def test_json(self, zoo: Zoo) -> None:
        found = zoo("show", "norm", "pre", "--json").json
        assert found["source"].startswith("class PreNorm(")
        assert found["interface"] == get_registry().axis("norm").interface
        assert "source" not in zoo("show", "norm", "pre", "--json", "--no-source").json

    def test_a_class_in_a_file_is_read_not_run(self, mine: str, zoo: Zoo) -> None:
        out = zoo("show", "attention", mine).out
        assert "Mine it is." in out
        assert "class Mine:" in out

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("norm", "pree"), "There is no norm 'pree'. Did you mean pre"),
            (("nor", "pre"), "There is no axis 'nor'. Did you mean norm?"),
            (("norm", "gone.py:Norm"), "there is no file 'gone.py'"),
            (("attention", "eager:bias=false"), "expected a name without options, such as eager."),
        ],
    )
    def test_unknown_names(self, args: tuple[str, str], said: str, zoo: Zoo) -> None:
        done = zoo("show", *args)
        assert (done.code, done.out) == (2, "")
        assert said in " ".join(done.err.split())

    def test_a_file_without_the_class_and_one_that_is_no_python(
        self, mine: str, tmp_path: Path, zoo: Zoo
    ) -> None:
        assert "Did you mean Mine?" in zoo("show", "norm", mine.replace("Mine", "Mina")).err
        (tmp_path / "mine.py").write_text("class Mine(:")
        done = zoo("show", "norm", mine)
        assert done.code == 2
        assert "is no Python" in done.err

    def test_a_variant_whose_module_is_missing(self) -> None:
        from zoo.errors import ZooError

        with pytest.raises(ZooError, match=r"norm 'x' is not found: there is no module no_such_module\."):
            find_source(Variant("norm", "x", "no_such_module:X", ""))
        with pytest.raises(ZooError, match="norm 'x' is not found: ModuleNotFoundError"):
            find_source(Variant("norm", "x", "no_such_package.module:X", ""))

    def test_colour_only_on_a_terminal_that_wants_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        assert _highlighted("class A: pass") == "class A: pass"
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        assert "\x1b[" in _highlighted("class A: pass")
        monkeypatch.setenv("NO_COLOR", "1")
        assert _highlighted("class A: pass") == "class A: pass"
