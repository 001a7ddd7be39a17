"""Models put together from parts."""
