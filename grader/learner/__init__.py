"""The learner's folder: exercises, progress, hints, reset.

Nothing here imports torch or prints.
"""
