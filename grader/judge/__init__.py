"""The trusted side of a grade: reference, inputs, comparison, verdict, naming of mistakes."""
