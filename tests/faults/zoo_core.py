"""Faults in `zoo/core`."""

from __future__ import annotations

from tests.faults.fault import Fault

FAULTS = (
    Fault(
        "core-no-atomic-rename",
        "zoo/core/files.py",
        'partial = path.with_name(f"{path.name}.partial")',
        "partial = path",
        "a file is overwritten in place: an error on the way leaves neither the old nor the new content",
    ),
    Fault(
        "core-link-replaced",
        "zoo/core/files.py",
        "path = path.resolve()",
        "path = path.absolute()",
        "a symbolic link is replaced by a file",
    ),
    Fault(
        "core-head-width-always-two",
        "zoo/core/rules.py",
        "if (sizes.d_model % sizes.num_heads and not given) or width % needed == 0:",
        "if (sizes.d_model % sizes.num_heads and not given) or width % 2 == 0:",
        "a head width that is even but no multiple of what attention and encoding need passes",
    ),
    Fault(
        "core-kv-heads-need-not-divide",
        "zoo/core/rules.py",
        "if not isinstance(shared, int) or heads % shared == 0:",
        "if not isinstance(shared, int) or heads >= shared:",
        "a number of key and value heads that does not divide num_heads passes the rules",
    ),
    Fault(
        "core-unknown-rule-allowed",
        "zoo/core/rules.py",
        '            raise unknown_name("rule", name, known)',
        "            continue",
        "a misspelt rule in `allow` is ignored silently",
    ),
    Fault(
        "core-cacheable-with-blank-rows",
        "zoo/core/plan.py",
        'all(p.capabilities["cacheable"] for p in parts) and not leaks',
        'all(p.capabilities["cacheable"] for p in parts)',
        "decoding keeps keys where a blank row sees the future: other answers than without a cache",
    ),
    Fault(
        "core-position-rule-too-weak",
        "zoo/core/rules.py",
        'if place == "embedding" or place in plan["attention"].capabilities["positions"]:',
        'if place != "scores" or place in plan["attention"].capabilities["positions"]:',
        "rotary positions are accepted with an attention that ignores them",
    ),
    Fault(
        "core-option-maximum-excluded",
        "zoo/core/registry.py",
        "good = good and (self.maximum is None or value <= self.maximum)",
        "good = good and (self.maximum is None or value < self.maximum)",
        "the greatest allowed value of an option is refused",
    ),
    Fault(
        "core-option-bool-as-int",
        "zoo/core/registry.py",
        "good = type(value) is self.type or (",
        "good = isinstance(value, self.type) or (",
        "True passes for an option that is a whole number",
    ),
    Fault(
        "core-blueprint-options-unchecked",
        "zoo/core/blueprint.py",
        "checked = {key: variant.option(key).check(value) for key, value in options.items()}",
        "checked = dict(options)",
        "a blueprint read from JSON takes options that do not exist, and values of any type",
    ),
    Fault(
        "core-pad-beyond-vocabulary",
        "zoo/core/blueprint.py",
        "if self.pad >= min(self.src_vocab, self.tgt_vocab):",
        "if self.pad > min(self.src_vocab, self.tgt_vocab):",
        "a padding id one past the vocabulary passes, and the embedding fails with an IndexError",
    ),
    Fault(
        "core-preset-half-corrected",
        "zoo/core/presets/articles.py",
        'corrected={"masking": "full", "attention": "eager"},',
        'corrected={"attention": "eager"},',
        "--corrected leaves a trap of the preset in place",
    ),
    Fault(
        "core-source-without-decorator",
        "zoo/core/source.py",
        "first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])",
        "first = node.lineno",
        "`zoo show` leaves out the decorators of a class",
    ),
)
