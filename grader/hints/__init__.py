"""Hints for each exercise: for each function and class that the learner writes, from gentle to plain."""
