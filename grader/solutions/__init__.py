"""The shipped solutions, one file an exercise: each gets all points from the hidden tests."""
