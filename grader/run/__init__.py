"""One grade, from text to verdicts."""
