"""The vocabulary: axes, variants, plugins, blueprints, rules. Imports no torch."""
