"""Mutants of a right file: one mistake each, at a known line."""
