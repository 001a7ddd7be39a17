"""Hidden tests of `exercises/training.py`."""
