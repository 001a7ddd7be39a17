"""Tools for exercise authors: verification of an exercise, and the skeleton of a new one."""
