"""Hidden tests of `exercises/feedforward.py`."""
