"""The training test."""
