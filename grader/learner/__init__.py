"""What a learner has of their own: the folder of the exercises, the record of what is solved, hints, a fresh start.

Nothing here imports torch or prints.
"""
