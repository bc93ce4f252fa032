# `make demo` and `make test` work alone on a fresh machine: each makes the virtual environment if there is none.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
# Two workers of one thread each, which share the compiled kernels.
PYTEST := LUCE_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

.PHONY: demo lint test test-generic test-marked test-environments test-all check docs browser clean

$(VENV)/installed: pyproject.toml constraints.txt
	@echo "Setting up $(VENV): a few minutes, once."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@

demo: $(VENV)/installed  ## synthetic data, train, evaluate, write report.html
	$(BIN)/luce demo --overwrite

test: $(VENV)/installed  ## the quick tests
	$(PYTEST)

test-generic: $(VENV)/installed  ## the quick tier as on a processor without AVX-512
	NUMBA_CPU_NAME=generic NUMBA_CPU_FEATURES= OPENBLAS_CORETYPE=Haswell \
	NPY_DISABLE_CPU_FEATURES="$$($(BIN)/python -c 'from numpy._core._multiarray_umath import __cpu_dispatch__ as all, __cpu_features__ as here; print(*(name for name in all if here[name] and ("AVX512" in name or name == "X86_V4")))')" \
	$(PYTEST)

test-marked: $(VENV)/installed  ## the quick tier and the tests marked slow, multiprocess and browser
	$(PYTEST) --all

test-environments: $(VENV)/installed  ## Triton's interpreter, lowest versions, the wheel, Python 3.12 and 3.13
	$(BIN)/python tests/environments.py triton lowest wheel 3.12 3.13

test-all: test-marked test-generic test-environments  ## every test, in every environment

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

check: lint test  ## the linter, the type checker and the quick tier

docs: $(VENV)/installed  ## the documentation as a site, site/index.html
	$(BIN)/python -m sphinx -W --keep-going -n -q -E -d build/doctrees docs site
	@echo "Open site/index.html"

browser: $(VENV)/installed  ## Chromium for the tests of the pages, if the system has none; without it they are skipped
	$(BIN)/playwright install chromium

clean:
	rm -rf $(VENV) build dist site .pytest_cache .mypy_cache .ruff_cache .numba_cache
