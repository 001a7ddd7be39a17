"""The hidden tests, one folder an exercise, plain pytest files."""
