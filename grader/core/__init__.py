"""What all rooms of the grader share: submissions, failures, results."""
