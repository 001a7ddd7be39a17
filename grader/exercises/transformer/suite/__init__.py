"""Hidden tests of `exercises/transformer.py`."""
