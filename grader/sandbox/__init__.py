"""The grader's side of the sandbox: starts workers, confines them and talks to them."""
