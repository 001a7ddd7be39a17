"""Hidden tests of `exercises/norm.py`."""
