# One word each. `make nightly` runs the demo's night, `make test` passes the tests; both set up what they need.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
WORKERS ?= 3
CONFIG ?= config/demo/tracehooks.yaml

.PHONY: nightly test setup instrumentations lint types floors docs wheel check bench clean

nightly: setup  ## run the demo agent if the store is empty, then the night; ends in one verdict
	@$(BIN)/tracehooks demo --if-empty --config $(CONFIG)
	@$(BIN)/tracehooks run nightly --config $(CONFIG); code=$$?; \
	  $(BIN)/tracehooks report nightly --html .tracehooks/night.html --config $(CONFIG) && \
	  echo "look at it: $(BIN)/tracehooks view --config $(CONFIG)"; exit $$code

test: setup  ## all tests
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist loadfile

setup: $(READY)

$(READY): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "tracehooks needs Python 3.11 or later: make PYTHON=python3.12 ..."; exit 2; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing tracehooks and its tools into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	@PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[local]" --group dev
	@touch $@

instrumentations: setup  ## an environment for each framework whose real spans the tests read (1.6 GB, in the user's cache)
	$(BIN)/python tests/instrumentations/environments.py

lint: setup  ## style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup  ## mypy, strict
	$(BIN)/mypy

floors: setup  ## imports run downhill
	$(BIN)/lint-imports

docs: setup  ## the documentation as a site in build/site; a warning fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

wheel: setup  ## what packaging can break, against the built wheel, in a folder with a user's own jobs/, exporters/ and config/
	bash .ci/wheel $(BIN)/python

check: test lint types floors docs wheel  ## all that a change must pass

bench: setup  ## what it costs: ratios against bare OpenTelemetry, other decorators, the plain openai client
	@$(BIN)/python -m benchmarks

clean:
	rm -rf $(VENV) build dist *.egg-info .tracehooks
