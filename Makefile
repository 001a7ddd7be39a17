# `make grade` and `make test` need nothing but Python 3.10 or later; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# a process for each core
PYTEST := $(BIN)/python -m pytest -n auto
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1

.DEFAULT_GOAL := help
.PHONY: help install grade test test-slow test-all test-elsewhere lint format readme gallery bench clean

help:  ## this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

$(VENV)/.installed: pyproject.toml constraints.txt tests/plugin_example/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "transformer-zoo needs Python 3.10 or later, and $(PYTHON) is older: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]' -e tests/plugin_example
	@touch $@

install: $(VENV)/.installed  ## .venv with the project and everything it needs

grade: install  ## grade the shipped solution of the attention exercise, then the untouched template
	$(BIN)/zoo grade grader/exercises/attention/solution.py
	@echo
	$(BIN)/zoo grade exercises/attention.py || test $$? -eq 1

test: install  ## the tests that take less than a few seconds each
	$(PYTEST) -m "not slow"

test-slow: install  ## the others
	$(PYTEST) -m slow

test-all: test test-slow  ## all tests

test-elsewhere: install  ## some of the tests as on another machine: other kernels, no oneDNN, a full temporary folder
	$(BIN)/python -m tests.elsewhere

lint: install  ## format, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install  ## let ruff format and mend what it can
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

readme: install  ## run the commands of the README and write their output into it
	$(BIN)/python -m tests.readme

gallery: install  ## draw the pictures of docs/gallery.md
	$(BIN)/python -m tests.gallery

bench: install  ## measure speed against the bars; writes tests/bench/results.csv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python -m tests.bench

clean:  ## remove what was built
	rm -rf $(VENV) build dist *.egg-info tests/plugin_example/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
