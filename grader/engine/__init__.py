"""Runs scenarios on a submission, compares the results, and names mistakes."""
