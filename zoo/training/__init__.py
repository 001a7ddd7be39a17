"""Training, tasks and translation."""
