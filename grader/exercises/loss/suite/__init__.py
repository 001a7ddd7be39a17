"""Hidden tests of `exercises/loss.py`."""
