"""Decoding: from a model to token ids."""
