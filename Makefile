# Everything runs in the project's own .venv, made on first use. Needs only Python 3.11+, pip and make.

VENV := .venv
BIN := $(VENV)/bin
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))
PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11 python; do \
	$$p -c '$(SUPPORTED)' 2>/dev/null && echo $$p && break; done)
PIP_INSTALL = $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: demo test test-slow lint format bench reproduce docs clean

demo: $(VENV)/.demo
	$(BIN)/bough demo

test: lint
	$(BIN)/pytest -n 2 -m "not slow"
	BOUGH_INTERPRET=1 $(BIN)/pytest -m "interpreted and not slow"

test-slow: $(VENV)/.test
	$(BIN)/pytest -n 2 -m slow
	BOUGH_INTERPRET=1 $(BIN)/pytest -n 2

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.test
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.bench
	$(BIN)/python -m benchmarks

reproduce: $(VENV)/.bench
	$(BIN)/python -m papers --docs docs

docs: $(VENV)/.docs
	$(BIN)/sphinx-build -W -q -b html docs docs/_build
	@echo "docs/_build/index.html"

clean:
	rm -rf $(VENV) build dist docs/_build docs/api .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis

# The second form serves systems that ship venv without ensurepip.
$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Bough needs Python 3.11 to 3.14; none was found (set PYTHON=...)."; exit 1; }
	$(PYTHON) -m venv $(VENV) 2>/dev/null || \
		{ $(PYTHON) -m venv --clear --without-pip $(VENV) && $(PYTHON) -m pip --python $(BIN)/python install --quiet pip; }

# One stamp for each set of extras, so that set-up is done once.
$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e ".[control]"
	touch $@

$(VENV)/.test: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e ".[test,dev]"
	touch $@

$(VENV)/.bench: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e ".[bench]"
	touch $@

$(VENV)/.docs: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) -e ".[docs]"
	touch $@
