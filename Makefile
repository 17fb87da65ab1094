# Every command of the project. `make help` lists them.
SHELL := /bin/bash
# Where it is set, every process would compile the code anew.
unexport PYTHONDONTWRITEBYTECODE
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
SPARK := $(VENV)/.spark

.DEFAULT_GOAL := help
.PHONY: help setup demo test check bench bench-forecast clean

help: ## List the commands
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-14s %s\n", $$1, $$2}'

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed: make PYTHON=python3.12 …" if sys.version_info < (3, 11) else 0)'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[demo,forecast,dev]'
	@touch $(STAMP)

# Half a gigabyte that only the tests and whoever runs on Spark need; the demo does without.
$(SPARK): $(STAMP)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[spark,lakehouse]'
	@touch $(SPARK)

setup: $(STAMP) ## Make the virtual environment and install the tested set

demo: $(STAMP) ## Run the main job on real grocery data and leave the UI running
	$(BIN)/forecast-backfill demo

test: $(SPARK) ## Run the tests
	$(BIN)/python -m pytest -n 3

check: $(STAMP) ## Lint, types of core and app, direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

bench: $(STAMP) ## Measure, and write benchmarks/RESULTS.md
	$(BIN)/python -m benchmarks
	$(BIN)/python -m benchmarks.localise --rows 10000000

bench-forecast: $(STAMP) ## Measure the forecasts' accuracy on the real data, and what missing partitions do to it
	$(BIN)/python -m benchmarks.forecast

clean: ## Stop what runs and remove the demo's data and the virtual environment
	-@test -x $(BIN)/forecast-backfill && $(BIN)/forecast-backfill down
	rm -rf .forecast_backfill $(VENV) .pytest_cache .ruff_cache .hypothesis build *.egg-info
