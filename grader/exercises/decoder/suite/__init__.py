"""Hidden tests of `exercises/decoder.py`."""
