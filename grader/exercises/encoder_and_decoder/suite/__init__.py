"""Shared parts of the hidden tests of `exercises/encoder.py` and `exercises/decoder.py`."""
