"""Finds the line of a mistake: the values of a run beside the right ones, and what is said of the first wrong one."""
