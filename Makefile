# `make demo` and `make test` work alone on a fresh machine: each makes the virtual environment if there is none.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin

.PHONY: demo test check docs browser clean

$(VENV)/installed: pyproject.toml constraints.txt
	@echo "Setting up $(VENV): a few minutes, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(VENV)/installed  ## make data, train, evaluate, write report.html
	$(BIN)/luce demo

test: $(VENV)/installed  ## every test, doctest and README example
	$(BIN)/python -m pytest

check: test  ## the tests, the linter and the type checker
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed  ## the documentation as a site, site/index.html
	$(BIN)/python docs/write_pages.py
	$(BIN)/python -m sphinx -W --keep-going -n -q -E -d build/doctrees docs site
	@echo "Open site/index.html"

browser: $(VENV)/installed  ## Chromium for the tests of the pages, where the system has none: they are skipped without
	$(BIN)/playwright install chromium

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache
