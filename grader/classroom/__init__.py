"""A whole class: find its submissions, grade them, keep the grades, and say what the class misunderstands."""
