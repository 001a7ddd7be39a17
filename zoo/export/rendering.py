"""The text of a file: its parts in order, imports, sizes and layout."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import fields
from typing import Any

import libcst as cst

from zoo.core.blueprint import Blueprint, Sizes
from zoo.export.calls import without_mention
from zoo.export.docstrings import docstring_line
from zoo.export.flatten import Unit, bases_of, class_node
from zoo.export.positional import write_positional
from zoo.export.program import Program, attributes_of_self, methods
from zoo.export.templates import GENERATE, HEADER, LOAD, MAIN
from zoo.export.trees import attributes_in, code, docstring_of, parameters, without_docstring
from zoo.models.transformer import Model


def render(
    program: Program,
    names: list[str],
    model: Model,
    blueprint: Blueprint,
    title: str,
    weights: str,
    command: str,
) -> str:
    """The whole text; the last of `names` is the model, and those before it are what it uses."""
    write_positional(program)
    units = [program.units[name] for name in names]
    bodies = [_source(unit, _gone(program, unit)) for unit in units]
    name = names[-1]
    decoded = [p.name.value for f in methods(units[-1]) if f.name.value == "decode" for p in parameters(f)]
    reads, writes = "encoder" in model.stacks, "decoder" in model.stacks
    values = {
        "model": name,
        "pad": blueprint.sizes.pad,
        "kind": "src" if reads else "prompt",
        "weights": weights,
        "src": ", src" if "src" in decoded else "",
    }
    tail = []
    if writes:
        tail.append(GENERATE[reads, model.cacheable].format(**values))
    if weights:
        tail.append(LOAD.format(**values))
    values["length"] = str(max(1, min(8, blueprint.sizes.max_len // 2)))
    main = MAIN[reads, writes, model.reads == "images"].format(**values)
    tail.append(main.replace("# model", "model = load(config)" if weights else f"model = {name}(config)"))
    every = "\n".join([*bodies, *tail])
    config = _config(blueprint.sizes, every)
    constants = [
        b
        for u, b in zip(units, bodies, strict=True)
        if isinstance(u.node, cst.SimpleStatementLine) and not _depends(b, names)
    ]
    rest = [b for b in bodies if b not in constants]
    imports = _imports(program, every, bool(weights))
    head = HEADER.format(
        title=title or f"A Transformer: {name}.",
        start=""
        if weights
        else f" Weights start as its layers draw them, not by init={blueprint['init'].name}.",
        command=f"\n\nMade by `{command}`." if command else "",
    )
    blocks = [config, *rest, *tail]
    top = "\n".join(one.strip("\n") for one in constants)
    return (
        head
        + "\n"
        + imports
        + ("\n" + top + "\n" if top else "")
        + "".join(f"\n\n{one.strip(chr(10))}\n" for one in blocks)
    )


def _depends(text: str, names: list[str]) -> bool:
    own = re.match(r"\w+", text)
    return any(re.search(rf"\b{name}\b", text) for name in names if not own or name != own[0])


def _source(unit: Unit, gone: set[str]) -> str:
    node = unit.node
    if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
        node = node.with_changes(leading_lines=[])
    text = code(_documented(node, gone))
    text = re.sub(r"\band \(not ([\w.]+\(\))\)", r"and not \1", text)
    text = re.sub(r"  # type: ignore\[[^\]]*\]", "", text)
    return re.sub(r"  # noqa[^\n]*", "", text).strip("\n")


def _gone(program: Program, unit: Unit) -> set[str]:
    """Names of methods, parameters and attributes that a class of the zoo has, and its class in the file has not."""
    if not isinstance(unit.value, type):
        return set()
    had: set[str] = set()
    for one in bases_of(unit.value, program.roots):
        had |= _members(class_node(one)[1])
    kept = {name for owner, name in program.literals if owner == unit.name}
    return had - kept - _members(unit.node)


def _members(node: cst.ClassDef) -> set[str]:
    """The names of methods and their parameters, and of attributes, in a class."""
    found: set[str] = {*attributes_in(node)}
    for one in node.body.body:
        if isinstance(one, cst.FunctionDef):
            found |= {one.name.value, *(p.name.value for p in parameters(one))}
            found |= {*attributes_of_self(one)}
    return found


def _documented(node: Any, gone: set[str]) -> Any:
    """A unit with docstrings that speak neither of the zoo nor of names that are `gone`."""

    class Documents(cst.CSTTransformer):
        depth = 0

        def visit_ClassDef(self, node: cst.ClassDef) -> None:
            self.depth += 4

        def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
            self.depth += 4

        def _changed(self, node: Any) -> Any:
            document = docstring_of(node.body)
            changed = node
            if document is not None:
                text = re.sub(r" \(`zoo\.[^)]*\)|,? in the form in which masks travel", "", document).rstrip()
                line = docstring_line(without_mention(_never_none(text, node), gone), self.depth)
                body = [*line, *without_docstring(node.body)] or [cst.parse_statement("pass")]
                changed = node.with_changes(body=node.body.with_changes(body=body))
            elif not node.body.body:
                changed = node.with_changes(body=node.body.with_changes(body=[cst.parse_statement("pass")]))
            self.depth -= 4
            return changed

        def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> Any:
            return self._changed(updated_node)

        def leave_FunctionDef(self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef) -> Any:
            return self._changed(updated_node)

    return node.visit(Documents())


def _never_none(text: str, node: Any) -> str:
    """A docstring without what would be if a parameter were None, where none can be."""
    if not isinstance(node, cst.FunctionDef) or any(_takes_none(one) for one in parameters(node)):
        return text
    return re.sub(r"[,;] [^.,;]*\bif (it is )?None\b", "", text)


def _takes_none(one: cst.Param) -> bool:
    known = [one.default, one.annotation.annotation if one.annotation else None]
    return any("None" in code(value) for value in known if value is not None)


def _config(sizes: Sizes, text: str) -> str:
    """The sizes that the file uses, as a class."""
    lines = ["@dataclass(frozen=True)", "class Config:", '    """The sizes of the model."""', ""]
    for one in fields(Sizes):
        if re.search(rf"config\.{one.name}\b", text):
            value = getattr(sizes, one.name)
            lines.append(f"    {one.name}: {type(value).__name__} = {value!r}  # {one.metadata['help']}")
    return "\n".join(lines)


def _imports(program: Program, text: str, weights: bool) -> str:
    standard: dict[str, set[str]] = {"dataclasses": {"dataclass"}}
    plain: set[tuple[str, str]] = {("torch", "torch")}
    used = set(re.findall(r"\w+", re.sub(r'"""(?:.|\n)*?"""', "", text)))
    needed = {*program.imports.values()}
    needed.add(("torch", "Tensor", "Tensor"))
    needed.add(("torch", "nn", "nn"))
    if weights:
        needed |= {("pathlib", "Path", "Path"), ("safetensors.torch", "load_file", "load_file")}
    for module, name, bound in needed:
        if bound.partition(".")[0] not in used:
            continue
        if name:
            standard.setdefault(module, set()).add(name if name == bound else f"{name} as {bound}")
        else:
            plain.add((module, bound))
    if "torch." not in re.sub(r'"""(?:.|\n)*?"""', "", text):
        plain.discard(("torch", "torch"))
    lines = [f"import {m}" if m == b else f"import {m} as {b}" for m, b in plain if m not in ("torch.nn",)]
    lines += [
        f"from {module} import {', '.join(sorted(names, key=_import_order))}"
        for module, names in standard.items()
    ]

    def group(line: str) -> int:
        root = line.split()[1].partition(".")[0]
        return 0 if root in sys.stdlib_module_names else 1

    first = sorted((line for line in lines if group(line) == 0), key=_line_order)
    second = sorted((line for line in lines if group(line) == 1), key=_line_order)
    return "from __future__ import annotations\n\n" + "\n".join(first) + "\n\n" + "\n".join(second) + "\n"


def _line_order(line: str) -> tuple[bool, str]:
    return line.startswith("from"), line.split()[1].lower()


def _import_order(name: str) -> tuple[int, str]:
    bare = name.split()[0]
    return (0 if bare.isupper() else 1 if bare[:1].isupper() else 2), name


def tidied(text: str) -> str:
    """The file in the layout of ruff, where it is installed."""
    text = re.sub(r"\n{4,}", "\n\n\n", text)
    ruff = shutil.which("ruff") or next(
        (str(p) for p in [__import__("pathlib").Path(sys.executable).with_name("ruff")] if p.is_file()), None
    )
    if ruff is None:
        return text
    for arguments in (
        ["check", "--fix", "--quiet", "--select", "I,F401", "--exit-zero"],
        ["format", "--quiet", "--config", "format.skip-magic-trailing-comma=true"],
    ):
        done = subprocess.run(
            [ruff, *arguments, "--isolated", "--line-length", "110", "--target-version", "py310", "-"],
            input=text,
            capture_output=True,
            text=True,
            check=False,
        )
        text = done.stdout if done.returncode == 0 and done.stdout else text
    return text
