"""Hidden tests of `exercises/positions.py`."""
