"""The registry: names, options, capabilities, and classes from files."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from zoo.core.axes import AXES
from zoo.core.errors import PluginError, UnknownNameError, ZooError, unknown_name
from zoo.core.plugins import get_registry
from zoo.core.registry import Axis, Capability, Option, Registry, Variant

AXIS = Axis("drink", "what is drunk", "tea", "Class()", (Capability("hot", True, "steams"),))
SUGAR = Option("sugar", int, 1, "spoons", minimum=0)
OPTIONS = (
    SUGAR,
    Option("milk", bool, False, "with milk"),
    Option("strength", float, 0.5, "of the leaves"),
    Option("cup", str, "big", "its size", choices=("big", "small")),
    Option("note", str, None, "on the label"),
)


def drink(name: str, **changes: object) -> Variant:
    return Variant(**{"axis": "drink", "name": name, "path": "builtins:dict", "summary": name, **changes})  # type: ignore[arg-type]


@pytest.fixture
def registry() -> Registry:
    registry = Registry([AXIS])
    registry.add(drink("tea", options=OPTIONS), "kettle")
    registry.add(drink("ice-tea", capabilities={"hot": False}), "fridge")
    return registry


def test_a_variant_is_found_with_its_origin_and_all_capabilities(registry: Registry) -> None:
    assert registry.get("drink", "tea").origin == "kettle"
    assert registry.get("drink", "tea").capabilities == {"hot": True}
    assert registry.get("drink", "ice-tea").capabilities == {"hot": False}
    assert registry.get("drink", "tea").load() is dict


def test_a_duplicate_names_both_plugins(registry: Registry) -> None:
    with pytest.raises(PluginError, match=r"drink 'tea' is registered twice: by kettle .* and by other"):
        registry.add(drink("tea"), "other")


@pytest.mark.parametrize(
    ("variant", "message"),
    [
        (drink("Tea"), "'Tea' is not a valid variant name"),
        (drink("green tea"), "lower-case letters, digits and hyphens"),
        (drink("coffee", path="nowhere"), "path 'nowhere' is not 'module:Class'"),
        (drink("coffee", axis="drinks"), "There is no axis 'drinks'. Did you mean drink?"),
        (drink("coffee", capabilities={"hott": True}), "no capability of axis drink 'hott'. Did you mean hot?"),
    ],
)  # fmt: skip
def test_a_malformed_variant_is_refused(registry: Registry, variant: Variant, message: str) -> None:
    with pytest.raises(ZooError) as caught:
        registry.add(variant)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "bad", [drink("tea"), drink("Bad"), drink("x", capabilities={"y": 1}), drink(5), None]
)  # type: ignore[arg-type]
def test_all_or_none_are_added(registry: Registry, bad: Variant) -> None:
    with pytest.raises((ZooError, TypeError, AttributeError)):
        registry.add_all([drink("cocoa"), bad], "other")
    assert [variant.name for variant in registry.variants()] == ["tea", "ice-tea"]
    registry.add_all([drink("cocoa")], "other")
    assert registry.get("drink", "cocoa").origin == "other"


@pytest.mark.parametrize(
    ("axis", "name", "message"),
    [
        (
            "drink",
            "te",
            "There is no drink 'te'. Did you mean tea? `zoo list drink` lists them all.",
        ),
        ("drink", "xyz", "There is no drink 'xyz'. Known: ice-tea, tea. `zoo list drink` lists them all."),
        ("drnk", "tea", "There is no axis 'drnk'. Did you mean drink? `zoo list` lists them all."),
    ],
)
def test_an_unknown_name_raises_with_the_nearest(
    registry: Registry, axis: str, name: str, message: str
) -> None:
    with pytest.raises(UnknownNameError) as caught:
        registry.get(axis, name)
    assert str(caught.value) == message


def test_an_unknown_name_where_nothing_is_known() -> None:
    assert str(unknown_name("task", "x", [])) == "There is no task 'x'. None is registered."


@pytest.mark.parametrize(
    ("like", "names"),
    [("*tea", ["tea", "ice-tea"]), ("drink/i*", ["ice-tea"]), ("TEA", []), ("tea", ["tea"])],
)
def test_listing_takes_wildcards(registry: Registry, like: str, names: list[str]) -> None:
    assert [variant.name for variant in registry.variants("drink", like)] == names
    assert [variant.name for variant in registry.variants(like=like)] == names


def test_listing_an_unknown_axis_raises(registry: Registry) -> None:
    with pytest.raises(UnknownNameError):
        registry.variants("food")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tea", {}),
        ("tea:sugar=0", {"sugar": 0}),
        ("tea:milk=true:strength=2:cup=small", {"milk": True, "strength": 2.0, "cup": "small"}),
        ("tea:milk=No:strength=1e-3:note=a b", {"milk": False, "strength": 0.001, "note": "a b"}),
    ],
)
def test_options_are_parsed_by_their_types(
    registry: Registry, text: str, expected: dict[str, object]
) -> None:
    variant, options = registry.resolve("drink", text)
    assert variant.name == "tea"
    assert options == expected
    assert [type(value) for value in options.values()] == [type(value) for value in expected.values()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tea:sugar=-1", "Option sugar=-1: expected a whole number of at least 0."),
        ("tea:sugar=1.5", "Option sugar=1.5: expected a whole number of at least 0."),
        ("tea:sugar=", "Option sugar=: expected a whole number of at least 0."),
        ("tea:sugar=" + "9" * 5000, "expected a whole number of at least 0."),
        ("tea:milk=perhaps", "Option milk=perhaps: expected true or false."),
        ("tea:strength=strong", "Option strength=strong: expected a number."),
        ("tea:strength=nan", "Option strength=nan: expected a number."),
        ("tea:strength=inf", "Option strength=inf: expected a number."),
        ("tea:cup=huge", "Option cup=huge: expected one of big, small."),
        ("tea:suger=1", "There is no option for drink=tea called 'suger'. Did you mean sugar?"),
        ("tea:sugar=1:sugar=2", "--drink=tea:sugar=1:sugar=2: option 'sugar' is given twice."),
        ("tea:sugar", "--drink=tea:sugar: 'sugar' is not of the form option=value."),
        ("tee:sugar=1", "There is no drink 'tee'. Did you mean tea"),
        ("ice-tea:sugar=1", "None is registered."),
        ("my/file.py", "--drink=my/file.py: name the class too, as in --drink=my/file.py:ClassName."),
        ("file.py:", "name the class too"),
        ("no/such/file.py:Tea", "there is no file 'no/such/file.py'"),
        ("n" * 5000 + ".py:Tea", "there is no file"),
        ("a\0b.py:Tea", "there is no file"),
        ("", "There is no drink ''."),
    ],
)
def test_what_cannot_be_resolved_is_a_sentence(registry: Registry, text: str, message: str) -> None:
    with pytest.raises(ZooError) as caught:
        registry.resolve("drink", text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"type": list, "default": []}, "expected a type of bool, int, float, str, got <class 'list'>"),
        ({"type": float, "default": "x"}, "expected a default that is a number, got 'x'"),
        ({"type": float, "default": 1.5, "minimum": 2}, "a default that is a number of at least 2, got 1.5"),
        ({"type": int, "default": True}, "a default that is a whole number, got True"),
        ({"type": str, "default": "c", "choices": ("a", "b")}, "a default that is one of a, b, got 'c'"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(declared: dict[str, Any], message: str) -> None:
    with pytest.raises(PluginError, match=r"option 'odd': .*") as caught:
        Option("odd", help="", **declared)
    assert message in str(caught.value)


KINDS = Axis(
    "kinds",
    "",
    "",
    "",
    (
        Capability("flag", False, ""),
        Capability("word", "a", "", ("a", "b")),
        Capability("text", "", ""),
        Capability("some", (), "", ("a", "b")),
        Capability("names", (), ""),
        Capability("most", None, ""),
        Capability("count", 1, ""),
    ),
)


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("flag", "yes", "capability 'flag': expected true or false, got 'yes'"),
        ("flag", 1, "expected true or false, got 1"),
        ("word", "c", "expected one of a, b, got 'c'"),
        ("text", None, "expected a text, got None"),
        ("some", ("a", "c"), "expected a tuple of a, b, got ('a', 'c')"),
        ("some", "a", "expected a tuple of a, b, got 'a'"),
        ("names", (1,), "expected a tuple of texts, got (1,)"),
        ("most", 1.5, "expected a whole number or None, got 1.5"),
        ("count", True, "expected a whole number, got True"),
    ],
)
def test_a_capability_of_the_wrong_kind_is_refused(name: str, value: object, message: str) -> None:
    with pytest.raises(PluginError) as caught:
        Registry([KINDS]).add(drink("odd", axis="kinds", capabilities={name: value}))
    assert message in str(caught.value)


def test_capabilities_of_the_right_kind_are_kept() -> None:
    declared = {"flag": True, "word": "b", "some": ["a"], "names": ("x",), "most": 3, "count": 2}
    registry = Registry([KINDS])
    registry.add(drink("good", axis="kinds", capabilities=declared))
    assert registry.get("kinds", "good").capabilities == {**declared, "text": ""}


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1]])
def test_a_whole_number_is_nothing_else(value: object) -> None:
    with pytest.raises(ZooError, match="expected a whole number"):
        SUGAR.check(value)


def test_what_an_option_allows_is_kept() -> None:
    assert SUGAR.check(3) == 3
    assert OPTIONS[4].check(None) is None
    number = OPTIONS[2].check(2)
    assert (number, type(number)) == (2.0, float)
    share = Option("share", float, 0.5, "", minimum=0, maximum=1)
    assert [share.check(end) for end in (0.0, 1.0)] == [0.0, 1.0]
    for beyond in (-0.01, 1.01):
        with pytest.raises(ZooError, match="expected a number from 0 to 1"):
            share.check(beyond)


@pytest.mark.parametrize("path", ["no.such.module:X", "zoo.core.axes:Nothing"])
def test_a_class_that_cannot_be_loaded_is_the_plugins_error(path: str) -> None:
    with pytest.raises(
        PluginError, match=r"drink 'tea' cannot be loaded from .*(No module named|has no attribute)"
    ):
        drink("tea", path=path).load()


class TestFiles:
    """A class in somebody's own file."""

    @pytest.fixture(autouse=True)
    def _clean(self) -> Iterator[None]:
        yield
        for name in [name for name in sys.modules if name.startswith("zoo_file_mine")]:
            del sys.modules[name]

    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        return tmp_path / "mine.py"

    def load(self, registry: Registry, file: Path) -> object:
        return registry.resolve("drink", f"{file}:Mine")[0].load()

    def test_it_is_a_variant_too(self, registry: Registry, file: Path) -> None:
        file.write_text("class Mine: pass")
        variant, options = registry.resolve("drink", f"{file}:Mine")
        assert variant.is_file
        assert variant.capabilities == {"hot": True}
        assert options == {}
        assert variant.load().__name__ == "Mine"  # type: ignore[attr-defined]

    def test_it_may_hold_dataclasses(self, registry: Registry, file: Path) -> None:
        file.write_text(
            "from __future__ import annotations\nfrom dataclasses import KW_ONLY, dataclass\n"
            "@dataclass\nclass Mine:\n    _: KW_ONLY\n    x: int = 0\n"
        )
        assert self.load(registry, file)

    @pytest.mark.parametrize(
        ("code", "message"),
        [
            ("class Other: pass", "There is no class 'Mine' in {file}. Known: Other."),
            ("class Mines: pass", "Did you mean Mines?"),
            ("class Mine(:\n", "{file}, line 1: invalid syntax\n  class Mine(:\n             ^"),
            ("import no_such_module", "{file} cannot be imported: ModuleNotFoundError: No module named"),
            ("1 / 0", "{file} cannot be imported: ZeroDivisionError"),
            ("raise SystemExit(3)", "{file} cannot be imported: SystemExit: 3"),
        ],
    )
    def test_what_is_wrong_with_it_is_a_sentence(
        self, registry: Registry, file: Path, code: str, message: str
    ) -> None:
        file.write_text(code)
        with pytest.raises(ZooError) as caught:
            self.load(registry, file)
        assert message.format(file=file).lower() in str(caught.value).lower()

    def test_what_is_no_text_is_a_sentence(self, registry: Registry, file: Path) -> None:
        file.write_bytes(b"\xff\xfe\x00")
        with pytest.raises(ZooError, match=r"mine\.py"):
            self.load(registry, file)

    def test_what_has_no_line_names_none(self, registry: Registry, file: Path) -> None:
        file.write_bytes(b"class Mine: pass\n\0")
        with pytest.raises(ZooError, match="null bytes") as caught:
            self.load(registry, file)
        assert "line" not in str(caught.value).removeprefix(f"{file}")

    def test_it_takes_no_options(self, registry: Registry, file: Path) -> None:
        file.write_text("class Mine: pass")
        with pytest.raises(UnknownNameError, match="'sugar=1' was given"):
            registry.resolve("drink", f"{file}:Mine:sugar=1")


def test_every_axis_has_its_default() -> None:
    for axis in AXES:
        assert get_registry().get(axis.name, axis.default)


@pytest.mark.parametrize("variant", get_registry().variants(), ids=lambda v: f"{v.axis}-{v.name}")
def test_every_variant_is_described_and_loads(variant: Variant) -> None:
    assert variant.summary
    assert len(variant.summary.splitlines()) == 1
    assert variant.formula
    assert callable(variant.load())
    for option in variant.options:
        assert option.help
        assert option.check(option.default) == option.default
        assert option.default is None or option.parse(str(option.default)) == option.default
