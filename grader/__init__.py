"""The grader: runs hidden tests against what a learner wrote, and names the mistake."""
