"""Hidden tests of `exercises/masks.py`."""
