"""Seeded faults: the tests must find every one of them."""
