"""Hidden tests of `exercises/encoder.py`."""
