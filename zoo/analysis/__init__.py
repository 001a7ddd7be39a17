"""Comparing, measuring and checking parts and models."""
