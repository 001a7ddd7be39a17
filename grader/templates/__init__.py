"""The exercise files as a learner finds them; `exercises/` is a copy of them."""
