"""The collection of known mistakes: one small function each."""
