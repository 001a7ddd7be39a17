"""Hidden tests of `exercises/decoding.py`."""
