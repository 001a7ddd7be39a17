"""Models assembled from parts."""
