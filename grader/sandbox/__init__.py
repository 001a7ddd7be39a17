"""The judge's side of the pipe to a worker."""
