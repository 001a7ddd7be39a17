"""Hidden tests of `exercises/attention.py`."""
