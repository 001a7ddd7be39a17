"""transformer-zoo: interchangeable Transformer parts, plugged together into full models."""

__version__ = "0.1.0"
