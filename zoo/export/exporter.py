"""A blueprint as one file of plain PyTorch."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import types
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import libcst as cst
import torch
from torch import Tensor, nn

from zoo.core.blueprint import Blueprint, Sizes
from zoo.core.errors import ZooError
from zoo.core.plan import make_plan
from zoo.export.construct import Constructor, configured
from zoo.export.flatten import Flattener, Unit, docstring_line
from zoo.export.observe import Construction, Observer
from zoo.export.program import Program, with_arguments
from zoo.export.stand_ins import OwnEmbeddings, OwnMask, OwnMasking, OwnPart, readable
from zoo.export.templates import GENERATE, HEADER, LOAD, MAIN
from zoo.export.trees import code, docstring_of, parameters, without_docstring
from zoo.models import external
from zoo.models.builder import Parts, build
from zoo.models.transformer import Model
from zoo.parts import values

STAND_INS: Mapping[type, type] = {
    external.ExternalPart: OwnPart,
    external.ExternalHead: OwnPart,
    external.ExternalEmbeddings: OwnEmbeddings,
    external.ExternalMask: OwnMask,
    external.ExternalMasking: OwnMasking,
}
HEAD_WIDTH, VOCABULARY = 8, 40
LONG, LONGEST, STEPS = 80, 1100, 40
"""Lengths that are tried: beyond blocks and windows, as far as those of the options go; and steps of decoding."""
DROPOUT = 0.125
"""Of the small model that is watched: not 0, so that a dropout of 0 is one that was chosen."""


@dataclass(frozen=True)
class Exported:
    """A file, and what was found out on the way.

    Attributes:
        text: the file.
        model: the name of the model's class in it.
    """

    text: str
    model: str


def small(blueprint: Blueprint, width: int = HEAD_WIDTH) -> Blueprint:
    """The same parts in small, to be watched: heads, layers and options as they are; `width` is that of a head."""
    sizes = blueprint.sizes
    vocabulary = max(VOCABULARY, sizes.pad + 8)
    shared = sizes.src_vocab == sizes.tgt_vocab
    numbers = [v for choice in blueprint.choices.values() for v in choice.options.values() if type(v) is int]
    length = max([LONG, *(n + 8 for n in numbers if n + 8 <= LONGEST)])
    return blueprint.with_sizes(
        d_model=sizes.num_heads * width,
        d_ff=sizes.num_heads * width + 4,
        src_vocab=vocabulary,
        tgt_vocab=vocabulary if shared else vocabulary + 3,
        max_len=min(sizes.max_len, length),
        dropout=DROPOUT,
    )


def export(blueprint: Blueprint, *, title: str = "", weights: str = "", command: str = "") -> Exported:
    """The file of a blueprint.

    Args:
        blueprint: choices and sizes.
        title: the file's first line; what it was exported from, such as a preset.
        weights: the name of a safetensors file that stands beside the file, and that `main` loads.
        command: the command that makes the file.

    Raises:
        CombinationError: a rule of combination is broken.
        ZooError: a part cannot be exported: which, and why.
    """
    watched = small(blueprint)
    plan = make_plan(blueprint)
    roots = frozenset(
        part.variant.path.partition(":")[0].partition(".")[0]
        for part in plan.parts.values()
        if not part.variant.is_file
    )
    observer = Observer(roots)
    with observer.watching():
        model: Model = build(watched, seed=0)
    parts = next(
        v for c in observer.facts.made.values() for v in c.arguments.values() if isinstance(v, Parts)
    )
    observer.facts.objects.append(parts)
    with observer.watching():
        exercise(model, watched.sizes)
    program, names = _program(model, observer, watched.sizes, roots)
    text = _render(program, names, model, blueprint, title, weights, command)
    text = tidied(text)
    _prove(text, names[-1], small(blueprint, 2 * HEAD_WIDTH))
    return Exported(text, names[-1])


def samples(model: Model, sizes: Sizes) -> list[tuple[Tensor, ...]]:
    """Small batches of what the model's `forward` takes: padded and not, of several lengths."""
    generator = torch.Generator().manual_seed(0)

    def side(vocab: int, rows: int, length: int, padded: bool) -> Tensor:
        ids = torch.randint(vocab - 1, (rows, length), generator=generator)
        ids += ids >= sizes.pad
        if padded:
            kept = torch.tensor([length, max(1, length - 1), 0][:rows])  # a row of nothing but padding
            ids = ids.masked_fill(torch.arange(length) >= kept[:, None], sizes.pad)
        return ids

    found = []
    longest = sizes.max_len
    for rows, src, tgt in ((3, 6, 5), (1, 1, 1), (2, longest, longest)):
        for padded in (True, False):
            sides = {
                "encoder": side(sizes.src_vocab, rows, min(src, longest), padded),
                "decoder": side(sizes.tgt_vocab, rows, min(tgt, longest), padded),
            }
            found.append(tuple(value for stack, value in sides.items() if stack in model.stacks))
    return found


def exercise(model: Model, sizes: Sizes) -> None:
    """All that the file does with a model: training, evaluation, and answers token by token."""
    was = model.training
    given = samples(model, sizes)
    for training in (True, False):
        model.train(training)
        for tokens in given:
            model(*tokens)
    if "decoder" in model.stacks:
        with torch.no_grad():
            for tokens in given[:4]:
                answer(model, tokens, min(STEPS, sizes.max_len), sizes.pad)
    model.train(was)


def answer(model: Any, tokens: tuple[Tensor, ...], steps: int, pad: int) -> Tensor:
    """Greedy decoding as the file does it, with caches where the model can; the scores of the last step.

    `pad` is never chosen.
    """
    caches = model.new_caches() if model.cacheable else None
    more = () if caches is None else (caches,)
    reads = "encoder" in model.stacks
    sides = (model.encode(tokens[0]), tokens[0]) if reads else ()
    so_far = tokens[-1][:, :1]
    scores = so_far.new_zeros(())
    for _ in range(steps):
        scores = model.decode(so_far, *sides, *more)[:, -1]
        scores[:, pad] = -torch.inf
        so_far = torch.cat((so_far, scores.argmax(-1, keepdim=True)), dim=1)
    return scores


def _program(
    model: Model, observer: Observer, sizes: Sizes, roots: frozenset[str]
) -> tuple[Program, list[str]]:
    facts = observer.facts
    for number, made in list(facts.made.items()):
        if made.cls in STAND_INS:
            facts.made[number] = Construction(STAND_INS[made.cls], {"inner": made.arguments["inner"]})
    for old, new in STAND_INS.items():
        if old in facts.instances:
            facts.instances[new] += facts.instances.pop(old)
    flattener = Flattener(facts, roots)
    program = _Exporting(flattener, facts, roots)
    unit = program.add_class(type(model))
    made = facts.made[id(model)]
    parameter = next((name for name, value in made.arguments.items() if isinstance(value, Parts)), None)
    if parameter is None:
        raise ZooError(
            f"{type(model).__name__} is made without `parts`: such an assembly cannot be exported."
        )
    init = next(f for f in _functions(unit) if f.name.value == "__init__")
    constructor = Constructor(observer, sizes)
    with_config = configured(init, model, parameter, constructor)
    with_config = _with_ties(with_config, model)
    body = [with_config if one is init else one for one in unit.node.body.body]
    unit.node = unit.node.with_changes(body=unit.node.body.with_changes(body=body))
    for kind in sorted(constructor.classes, key=lambda kind: kind.__name__):
        program.renamed[type(model).__module__, kind.__name__] = program.add_class(kind).name
    program.asked = {"forward"}
    if "decoder" in model.stacks:
        program.asked |= {"decode", *(["encode"] if "encoder" in model.stacks else [])}
        program.asked |= {"new_caches"} if model.cacheable else set()
    program.prune(unit.name)
    while program.inline():
        program.prune(unit.name)
    _positional(program)
    program.plain_bases()
    program.prune(unit.name)
    program.needed()
    return program, program.collect(unit.name)


class _Exporting(Program):
    """A program that looks up classes of expressions in the model's constructor first."""

    def resolve(self, module: str, name: str, only_annotation: bool = False) -> str | None:
        """As in `Program`."""
        if (module, name) in self.renamed:
            return self.renamed[module, name]
        if (module, name) == (values.__name__, "readable"):
            self.renamed[module, name] = self._enter(self.flattener.function(readable)).name
            return self.renamed[module, name]
        if name == "nn":
            self.imports["nn"] = ("torch", "nn", "nn")
            return name
        return super().resolve(module, name, only_annotation)

    def kinds(self, unit: Unit, attribute: str) -> set[type]:
        """As in `Program`, with what stands for a wrapper."""
        return {STAND_INS.get(kind, kind) for kind in super().kinds(unit, attribute)}


def _functions(unit: Unit) -> list[cst.FunctionDef]:
    return [one for one in unit.node.body.body if isinstance(one, cst.FunctionDef)]


def _with_ties(init: cst.FunctionDef, model: nn.Module) -> cst.FunctionDef:
    """The constructor with lines for weights that two of the model's parts share."""
    first: dict[int, str] = {}
    lines = []
    for name, value in model.named_parameters(remove_duplicate=False):
        other = first.setdefault(id(value), name)
        if other != name and other.partition(".")[0] != name.partition(".")[0]:
            lines.append(f"{_path(name)} = {_path(other)}  # one matrix")
    body = [*init.body.body, *(cst.parse_statement(line) for line in lines)]
    return init.with_changes(body=init.body.with_changes(body=body))


def _path(name: str) -> str:
    return "self." + re.sub(r"\.(\d+)", r"[\1]", name)


# The file


def _render(
    program: Program,
    names: list[str],
    model: Model,
    blueprint: Blueprint,
    title: str,
    weights: str,
    command: str,
) -> str:
    _positional(program)
    units = [program.units[name] for name in names]
    bodies = [_source(unit) for unit in units]
    name = names[-1]
    reads, writes = "encoder" in model.stacks, "decoder" in model.stacks
    values = {
        "model": name,
        "pad": blueprint.sizes.pad,
        "kind": "src" if reads else "prompt",
        "weights": weights,
    }
    tail = []
    if writes:
        tail.append(GENERATE[reads, model.cacheable].format(**values))
    if weights:
        tail.append(LOAD.format(**values))
    main = MAIN[reads, writes].format(**values)
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
        title=title or f"A Transformer: {name}.", command=f"\n\nMade by `{command}`." if command else ""
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


def _source(unit: Unit) -> str:
    node = unit.node
    if isinstance(node, (cst.ClassDef, cst.FunctionDef)):
        node = node.with_changes(leading_lines=[])
    text = code(_documented(node))
    text = re.sub(r"  # type: ignore\[[^\]]*\]", "", text)
    return re.sub(r"  # noqa[^\n]*", "", text).strip("\n")


def _documented(node: Any) -> Any:
    """A unit with docstrings that do not speak of the zoo."""

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
                line = docstring_line(re.sub(r" \(`zoo\.[^)]*\)", "", document).rstrip(), self.depth)
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


def _positional(program: Program) -> None:
    """Defaults and positional arguments where classes are made by keyword, as one writes them."""
    units = list(program.units.values())

    def each(change: Any) -> None:
        for unit in units:
            unit.node = _mapped_calls(unit.node, change)

    inits = {
        u.name: next((f for f in _functions(u) if f.name.value == "__init__"), None)
        for u in units
        if isinstance(u.node, cst.ClassDef)
    }
    given: dict[tuple[str, str], set[str]] = {}

    def look(call: cst.Call) -> cst.Call:
        init = inits.get(code(call.func))
        if init is not None:
            names = [p.name.value for p in parameters(init)]
            for number, one in enumerate(call.args):
                name = one.keyword.value if one.keyword else names[number] if number < len(names) else ""
                given.setdefault((code(call.func), name), set()).add(code(one.value))
            for p in parameters(init):
                said = [
                    a.keyword.value if a.keyword else names[i]
                    for i, a in enumerate(call.args)
                    if i < len(names)
                ]
                if p.name.value not in said:
                    given.setdefault((code(call.func), p.name.value), set()).add("")
        return call

    each(look)
    for unit in units:
        init = inits.get(unit.name)
        if init is None:
            continue

        def defaults(one: cst.Param, unit: Unit = unit) -> cst.Param:
            values = given.get((unit.name, one.name.value), set())
            value = next(iter(values)) if len(values) == 1 else ""
            if one.default is None or not re.fullmatch(r"-?[\d.]+(e-?\d+)?|'.*'", value):
                return one
            changed = one.with_changes(default=cst.parse_expression(value))
            if one.annotation and code(one.annotation.annotation).endswith(" | None"):
                changed = changed.with_changes(
                    annotation=cst.Annotation(cst.parse_expression(code(one.annotation.annotation)[:-7]))
                )
            return changed

        params = init.params.with_changes(
            params=[defaults(p) for p in init.params.params],
            kwonly_params=[defaults(p) for p in init.params.kwonly_params],
        )
        program.replace(unit, init, init.with_changes(params=params))
        inits[unit.name] = init.with_changes(params=params)

    def write(call: cst.Call) -> cst.Call:
        init = inits.get(code(call.func))
        if init is None or not call.args or any(one.keyword is None for one in call.args):
            return call
        values = {one.keyword.value: one for one in call.args if one.keyword}
        arguments: list[cst.Arg] = []
        skipped = False
        for p in init.params.params:
            name = p.name.value
            if name == "self" or name not in values:
                skipped = skipped or name != "self"
                continue
            one = values.pop(name)
            if p.default is not None and code(p.default) == code(one.value):
                skipped = True
            elif skipped:
                arguments.append(one)
            else:
                arguments.append(cst.Arg(one.value))
        defaults_ = {p.name.value: code(p.default) for p in parameters(init) if p.default is not None}
        arguments += [one for name, one in values.items() if defaults_.get(name) != code(one.value)]
        return with_arguments(call, arguments)

    each(write)


def _mapped_calls(node: Any, change: Any) -> Any:
    class Calls(cst.CSTTransformer):
        def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> Any:
            return change(updated_node)

    return node.visit(Calls())


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


def load_text(text: str, name: str) -> types.ModuleType:
    """A file's text as a module."""
    module = types.ModuleType(name)
    sys.modules[name] = module  # dataclasses and torch's compiler look their module up there
    exec(compile(text, f"<{name}>", "exec"), module.__dict__)
    return module


def _prove(text: str, name: str, blueprint: Blueprint) -> None:
    """Run the file and a model of other sizes than the watched one, with the same weights.

    Raises ZooError unless results are equal to the last bit.
    """
    where = "The file was not written, as it does not compute what the model does: "
    try:
        model: Model = build(blueprint, seed=1)
        module = load_text(text, "zoo_exported")
        sizes = {one.name: getattr(blueprint.sizes, one.name) for one in fields(module.Config)}
        other = getattr(module, name)(module.Config(**sizes))
        other.load_state_dict(model.state_dict())
        model.eval()
        other.eval()
        for tokens in samples(model, blueprint.sizes):
            if not _same(model(*tokens), other(*tokens)):
                raise ZooError(f"{where}the scores differ.")
            if "decoder" in model.stacks:
                with torch.no_grad():
                    other.cacheable, other.stacks = model.cacheable, model.stacks
                    more = min(STEPS, blueprint.sizes.max_len), blueprint.sizes.pad
                    if not _same(answer(model, tokens, *more), answer(other, tokens, *more)):
                        raise ZooError(f"{where}what it generates differs.")
    except ZooError:
        raise
    except Exception as error:
        raise ZooError(f"{where}{type(error).__name__}: {error}") from error
    finally:
        sys.modules.pop("zoo_exported", None)


def _same(one: Tensor, other: Tensor) -> bool:
    return one.shape == other.shape and torch.equal(one.nan_to_num(7.0), other.nan_to_num(7.0))
