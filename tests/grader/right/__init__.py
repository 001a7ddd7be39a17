"""Right answers in unusual styles, exercise by exercise: none of these may fail a hidden test."""
