"""Mutants of right files: one change each, at a line that is known. `python -m tests.mutation --help`."""
