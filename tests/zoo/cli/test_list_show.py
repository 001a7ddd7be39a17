"""`zoo list` and `zoo show`: everything is listed and shown, as text and as JSON."""

from __future__ import annotations

import inspect
from itertools import pairwise
from pathlib import Path

import pytest

from tests.zoo.cli.conftest import Zoo
from zoo.cli.show import highlighted
from zoo.core.blueprint import Preset, get_presets
from zoo.core.describe import remarkable
from zoo.core.plugins import get_registry
from zoo.core.registry import Axis, Capability, Variant
from zoo.core.source import find_source
from zoo.core.tasks import get_tasks

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
        blocks = zoo("list").out.rstrip("\n").split("\n\n")
        for axis, block in zip(get_registry().axes, blocks, strict=True):
            title, *lines = block.splitlines()
            assert title == f"{axis.name}: {axis.summary}"
            assert [line.split()[0] for line in lines if line[2] != " "] == [
                variant.name for variant in get_registry().variants(axis.name)
            ]
            assert [line.split()[0] for line in lines if line.split()[1:2] == ["*"]] == [axis.default]
            words = " ".join(block.split())
            assert all(variant.summary in words for variant in get_registry().variants(axis.name))
            assert max(map(len, block.splitlines())) <= 80

    def test_it_stays_scannable(self, zoo: Zoo) -> None:
        """About a line a variant: few summaries need a second line, none a third."""
        lines = [line for line in zoo("list").out.splitlines() if line.startswith("  ")]
        assert len(lines) < 1.4 * len(VARIANTS)
        following = [line.startswith("   ") for line in lines]
        assert (True, True) not in list(pairwise(following))

    def test_long_adds_what_a_variant_can_do_its_options_and_its_paper(self, zoo: Zoo) -> None:
        out = zoo("list", "attention", "--long").out
        words = " ".join(out.split())
        for variant in get_registry().variants("attention"):
            for text in (remarkable(variant, get_registry().axis("attention")), variant.paper):
                assert text in words
            for option in variant.options:
                assert option.name in words
        assert max(map(len, out.splitlines())) <= 80
        assert "cacheable" not in zoo("list", "attention").out

    def test_one_axis_and_patterns(self, zoo: Zoo) -> None:
        def names(*args: str) -> list[str]:
            return [one["name"] for one in zoo("list", *args, "--json").json]

        assert "norm:" not in zoo("list", "attention").out
        posts = names("--like", "*post")
        assert {"post", "res-post"} <= set(posts)
        assert names("--like", "*post", "--unlike", "res*") == [name for name in posts if name != "res-post"]
        assert names("norm", "--like", "pre", "--like", "norm/post") == ["post", "pre"]
        assert names("norm", "--unlike", "*") == []
        assert {one["axis"] for one in zoo("list", "--like", "mask/*", "--json").json} == {"mask"}

    def test_json_holds_all_metadata(self, zoo: Zoo) -> None:
        found = {(one["axis"], one["name"]): one for one in zoo("list", "--json").json}
        assert list(found) == [(variant.axis, variant.name) for variant in VARIANTS]
        fused = found["attention", "fused"]
        assert fused["capabilities"]["mask_forms"] == ["bool", "additive"]
        assert fused["options"][0] | {"help": ""} == {
            "name": "bias", "type": "bool", "default": True, "help": "",
            "minimum": None, "maximum": None, "choices": [],
        }  # fmt: skip
        assert (fused["default"], fused["origin"]) == (False, "zoo.parts.attention")
        assert found["attention", "eager"]["default"]

    @pytest.mark.parametrize(("what", "names"), [("presets", get_presets()), ("tasks", get_tasks())])
    def test_presets_and_tasks(self, what: str, names: dict[str, object], zoo: Zoo) -> None:
        assert [one["name"] for one in zoo("list", what, "--json").json] == list(names)
        assert zoo("list", what).out.split()[0] == next(iter(names))
        assert zoo("list", what, "--like", "no-such*").out == ""
        assert zoo("list", what, "--unlike", "*", "--json").json == []
        assert max(map(len, zoo("list", what, "--long").out.splitlines())) <= 80

    def test_an_unknown_axis(self, zoo: Zoo) -> None:
        done = zoo("list", "atention")
        assert done.code == 2
        assert done.err.startswith("Error: There is no axis 'atention'. Did you mean attention? ")

    def test_nothing_that_matches(self, zoo: Zoo) -> None:
        done = zoo("list", "--like", "zzz")
        assert (done.code, done.out) == (2, "")
        assert done.err == "Error: No name matches --like 'zzz'. `zoo list` lists all names.\n"
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
        assert shown == "fast; not causal; forms: a, b"


class TestShow:
    @pytest.mark.parametrize("variant", VARIANTS, ids=name_of)
    def test_shows_everything_a_variant_says_about_itself(self, variant: Variant, zoo: Zoo) -> None:
        out = zoo("show", variant.axis, variant.name).out
        words = " ".join(out.split())
        origin = "built in" if variant.origin.startswith("zoo.") else f"from {variant.origin}"
        assert out.startswith(f"{variant.axis} {variant.name} ({origin})\n")
        for text in (
            variant.summary,
            variant.formula,
            variant.paper,
            get_registry().axis(variant.axis).interface,
        ):
            assert " ".join(text.split()) in words
        for option in variant.options:
            assert f"{option.name} {option.help} ({option.expected}" in words
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

    def test_options_that_are_given_stand_beside_their_defaults(self, zoo: Zoo) -> None:
        out = " ".join(zoo("show", "attention", "gqa:num_kv_heads=2", "--no-source").out.split())
        assert "(a whole number of at least 1; here 2)" in out
        assert out.count("here") == zoo("show", "gqa", "--no-source").out.count("here") + 1

    def test_a_variant_per_layer_shows_each_of_them_once(self, zoo: Zoo) -> None:
        each = [zoo("show", "attention", name).out for name in ("sliding:window=8", "eager")]
        done = zoo("show", "sliding:window=8*3+eager+sliding:window=8")
        title, first, second, *pages = done.out.split("\n", 4)
        assert title.startswith("attention sliding:window=8*3+eager+sliding:window=8 (repeated")
        assert (first, second) == ("layers 1-3, 5: sliding:window=8", "layer 4: eager")
        assert "\n".join(pages).strip() == "\n".join(each).strip()
        found = zoo("show", "attention", "sliding*2+eager", "--json").json
        assert [(one["name"], one["layers"]) for one in found["variants"]] == [
            ("sliding", [1, 2]),
            ("eager", [3]),
        ]

    @pytest.mark.parametrize(
        ("args", "said"),
        [
            (("norm", "pree"), "There is no norm 'pree'. Did you mean pre"),
            (("nor", "pre"), "There is no axis 'nor'. Did you mean norm"),
            (("norm", "gone.py:Norm"), "there is no file 'gone.py'"),
            (("attention", "eager:bias=perhaps"), "bias=perhaps: expected true or false"),
            (("norm", "pre*2+post"), "all layers have the same norm."),
        ],
    )
    def test_unknown_names(self, args: tuple[str, str], said: str, zoo: Zoo) -> None:
        done = zoo("show", *args)
        assert (done.code, done.out) == (2, "")
        assert said in " ".join(done.err.split())

    @pytest.mark.parametrize("preset", get_presets().values(), ids=lambda preset: preset.name)
    def test_a_preset_in_full(self, preset: Preset, zoo: Zoo) -> None:
        out = zoo("show", "preset", preset.name).out
        words = "".join(out.split())  # a long choice is broken where no space is
        facts = {**preset.choices, **preset.sizes, **preset.corrected}
        for text in (preset.summary, preset.source, *preset.notes, *(f"{k} {v}" for k, v in facts.items())):
            assert "".join(text.split()) in words
        for name in preset.recipe:
            assert f"  {name} " in out
        assert max(map(len, out.splitlines())) <= 80
        found = zoo("show", "preset", preset.name, "--json").json
        assert (found["choices"], found["notes"]) == (dict(preset.choices), list(preset.notes))
        assert found["corrected"] == dict(preset.corrected)

    def test_an_unknown_preset(self, zoo: Zoo) -> None:
        done = zoo("show", "preset", "revers")
        assert done.code == 2
        assert "There is no preset 'revers'. Did you mean reverse?" in " ".join(done.err.split())
        assert "Did you mean preset?" in zoo("show", "presett", "reverse").err

    def test_a_file_without_the_class_and_one_that_is_no_python(
        self, mine: str, tmp_path: Path, zoo: Zoo
    ) -> None:
        other = zoo("show", "norm", mine.replace("Mine", "Mina"))
        assert "Did you mean Mine?" in " ".join(other.err.split())
        (tmp_path / "mine.py").write_text("class Mine(:")
        done = zoo("show", "norm", mine)
        assert done.code == 2
        assert "is not valid Python" in " ".join(done.err.split())

    def test_a_variant_whose_module_is_missing(self) -> None:
        from zoo.core.errors import ZooError

        with pytest.raises(ZooError, match=r"norm 'x' is not found: there is no module no_such_module\."):
            find_source(Variant("norm", "x", "no_such_module:X", ""))
        with pytest.raises(ZooError, match="norm 'x' is not found: ModuleNotFoundError"):
            find_source(Variant("norm", "x", "no_such_package.module:X", ""))

    def test_colour_only_on_a_terminal_that_wants_it(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", "xterm")
        assert highlighted("class A: pass") == "class A: pass"
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        assert "\x1b[" in highlighted("class A: pass")
        monkeypatch.setenv("NO_COLOR", "1")
        assert highlighted("class A: pass") == "class A: pass"


class TestShowByNameAlone:
    def test_what_one_axis_has_is_shown(self, zoo: Zoo) -> None:
        assert zoo("show", "rotary").out == zoo("show", "encoding", "rotary").out
        assert zoo("show", "modern", "--json").json == zoo("show", "preset", "modern", "--json").json

    def test_a_saved_model_is_told_from_a_part(
        self, zoo: Zoo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for name, typed in (("dec", "dec"), ("my dec", "'my dec'")):
            Path(name).mkdir()
            Path(name, "zoo.json").write_text("{}")
            said = " ".join(zoo("show", name).err.split())
            assert f"'{name}' is a saved model. `zoo export {typed} -o model.py`" in said

    @pytest.mark.parametrize(
        ("name", "said"),
        [
            ("sliding*2+rotary", "'sliding*2+rotary': no axis has all of rotary, sliding."),
            ("sliding*2+egar", "There is no variant or preset 'egar'. Did you mean"),
            ("rotarry", "There is no variant or preset 'rotarry'. Did you mean rotary"),
            ("attention", "Missing NAME: `zoo show attention NAME`. `zoo list attention` lists them all."),
            ("preset", "Missing NAME: `zoo show preset NAME`. `zoo list presets` lists them all."),
            ("mine.py:Mine", "'mine.py:Mine': for a class in a file name its axis"),
            ("a b.py:Mine", "in a file name its axis, as in `zoo show attention 'a b.py:Mine'`."),
            ("none*2", "parts called 'none*2': `zoo show encoding 'none*2'`, `zoo show norm-type 'none*2'`"),
            ("none", "parts called 'none': `zoo show encoding none`, `zoo show norm-type none`"),
        ],
    )
    def test_what_is_not_clear_is_said(self, name: str, said: str, zoo: Zoo) -> None:
        done = zoo("show", name)
        assert (done.code, done.out) == (2, "")
        assert said in " ".join(done.err.split())
