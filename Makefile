# `make grade` and `make test` need nothing but Python 3.10 or later; `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# one process per core
PYTEST := $(BIN)/python -m pytest -n auto
JOBS := $(shell getconf _NPROCESSORS_ONLN)
SAMPLE ?= 300
export PIP_CONSTRAINT := $(CURDIR)/constraints.txt
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export OMP_NUM_THREADS := 1
export MKL_NUM_THREADS := 1
# tests start some hundred processes: each would compile all of the code again
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help install install-ci grade test test-slow test-all test-elsewhere check-exercises lint format docs gallery bench bench-gpu mutation clean

help:  ## show this list
	@sed -n 's/^\([a-z-]*\):.*  ## /\1\t/p' $(MAKEFILE_LIST) | expand -t 16

$(VENV)/.installed: pyproject.toml constraints.txt tests/plugin_example/pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	  { echo "transformer-zoo needs Python 3.10 or later, and $(PYTHON) is older: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]' -e tests/plugin_example
	@touch $@

install: $(VENV)/.installed  ## create .venv with the project and its dependencies

install-ci: install  ## add what the slow tests of pages, notebooks, engines and exports use
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[ci]'

grade: install  ## grade the shipped solution of the attention exercise, then the untouched template
	$(BIN)/zoo grade grader/exercises/attention/solution.py
	@echo
	$(BIN)/zoo grade exercises/attention.py || test $$? -eq 1

test: install  ## run the fast tests
	$(PYTEST) -m "not slow"

test-slow: install  ## run the slow tests (ZOO_TEST_DRAW=2/5: a fifth of them, counted from 0)
	$(PYTEST) -m slow

check-exercises: install  ## prove all exercises: every known mistake is killed and named (VARIANT=1: in one way of each), solutions pass
	$(BIN)/zoo dev check --jobs $(JOBS) $(if $(VARIANT),--variant $(VARIANT))

test-all: test test-slow  ## run all tests

test-elsewhere: install  ## run some tests as on other machines: other kernels, no oneDNN, a full temporary directory
	$(BIN)/python -m tests.elsewhere

lint: install  ## check formatting, lint and types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: install  ## format and apply automatic fixes
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: install  ## run the commands of README.md and docs/, and write their output and the tables into the pages
	$(BIN)/python -m tests.docs

gallery: install  ## draw the pictures of docs/gallery.md
	$(BIN)/python -m tests.gallery

bench: install  ## run the benchmarks; writes tests/bench/results.csv and parts.csv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python -m tests.bench
	$(BIN)/python -m tests.bench.parts

bench-gpu: install  ## run the GPU benchmarks; writes tests/bench/results-gpu.csv
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[bench]'
	$(BIN)/python -m tests.bench.gpu

mutation: install  ## grade 300 mutants of each exercise (SAMPLE=0: all); goes on with build/mutation.csv
	$(BIN)/python -m tests.mutation --names --sample $(SAMPLE) --jobs $(JOBS) --output build/mutation.csv

clean:  ## remove .venv, build files and caches
	rm -rf $(VENV) build dist *.egg-info tests/plugin_example/*.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis
