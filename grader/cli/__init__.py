"""The grader's commands, one file per command."""
