"""The grader's commands, one file a command."""
