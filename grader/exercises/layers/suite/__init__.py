"""What the hidden tests of `exercises/encoder.py` and `exercises/decoder.py` have in common."""
