"""Wrong submissions as learners write them: each must be failed, and named within what is allowed."""
