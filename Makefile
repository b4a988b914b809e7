# From a fresh clone, with Python 3.11 or newer and make alone:
#
#   make serve    sets everything up and serves on http://127.0.0.1:8000
#   make test     sets everything up and runs the whole gate

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help serve test format lock clean

help:
	@sed -n 's/^#  *make/make/p' Makefile

serve: $(VENV)/serve.stamp
	$(BIN)/svc serve

test: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Pins every dependency of pyproject.toml anew. The locks hold hashes and no addresses.
lock: $(VENV)/dev.stamp
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
	    --group build pyproject.toml -o requirements.lock
	$(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
	    --group dev pyproject.toml -o requirements-dev.lock

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "svc needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The build tools are in the lock too, so that nothing unpinned is fetched to install svc itself.
$(VENV)/serve.stamp: requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --require-hashes -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/serve.stamp
	$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@touch $@
