"""Models as one file of plain PyTorch: the classes of the chosen parts, specialised; and as graphs."""
