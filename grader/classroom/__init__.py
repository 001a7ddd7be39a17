"""Grading of a class: discovery of submissions, gradebook, common mistakes, exports."""
