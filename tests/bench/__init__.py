"""Speed against the bars, in ratios. `python -m tests.bench` measures; `results.csv` holds what was found."""
