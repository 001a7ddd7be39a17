"""Mistakes written by hand: right files, and what people get wrong in them. `python -m tests.mutation.by_hand --help`.

Two testers, who had not seen the grader's code, wrote them as students and engineers would, before any was graded.
The grader has been improved with them since: its numbers tell what was lost or won, and less about files that it has
not seen.
"""
