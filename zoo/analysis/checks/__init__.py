"""The properties that parts should have, one file a kind of part; `zoo.analysis.checks.run` looks at all of them."""
