"""Types that all packages of the grader share: submissions, failures, results."""
