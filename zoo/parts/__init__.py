"""The parts, one folder an axis."""
