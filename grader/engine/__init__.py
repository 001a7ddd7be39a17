"""Asks a submission, compares, and names mistakes."""
