"""The parts, one folder per axis."""
