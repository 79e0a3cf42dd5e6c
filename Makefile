# Two commands do everything on a fresh machine: `make demo` and `make test`. They fetch what they need themselves.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup chromium demo test lint types unit web-test integration browser bench bench-check bench-web mutants catalog-check wheels clean

# Byte code is written, whatever this shell says: every test process would compile torch again.
export PYTHONDONTWRITEBYTECODE :=

# uv from PATH, else one of our own in .tools/.
UV := $(shell command -v uv 2>/dev/null || echo .tools/bin/uv)
RUN := $(UV) run --no-sync
PYTEST := $(RUN) pytest -q

help: ## This list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(filter .tools/bin/uv,$(UV)):
	python3 -m venv .tools && .tools/bin/pip install --quiet --disable-pip-version-check uv

.PHONY: sync
sync: $(filter .tools/bin/uv,$(UV))
	$(UV) sync --all-packages --locked

setup: sync ## Install everything into .venv and build the web UI

chromium: ## Find or install the browser that the web tests drive
	@scripts/ensure-chromium

demo: setup ## Start a server and a worker, train the digits model on the worker, show it in the browser
	$(RUN) codefy demo

test: setup chromium lint types web-test unit integration browser ## Everything that CI checks

lint:
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) lint-imports

types:
	$(RUN) pyright

web-test:
	cd web && { [ node_modules/.package-lock.json -nt package-lock.json ] || npm ci --no-audit --no-fund; } && npm run lint && npm run typecheck && npm test

unit: ## The quick tests
	$(PYTEST) -m "not integration and not web"

integration: ## Real processes
	$(PYTEST) -m integration

browser: ## Real Chromium
	$(PYTEST) -m web

.PHONY: bench-libraries
bench-libraries: # Further libraries that figures are compared with; a figure whose library is missing is left out
	@$(UV) sync --all-packages --locked --inexact --group bench --quiet || echo "Measuring without them."

bench: bench-libraries ## Measure and print figure, floor, ratio and goal
	$(RUN) python -m bench

bench-check: bench-libraries ## Fail when a ratio misses its goal by more than its noise
	$(RUN) python -m bench --check

bench-web: ## The same for the page, in a real Chromium
	$(RUN) python -m bench --check web

mutants: ## Apply each planted bug and expect the suite to catch it
	$(RUN) python tests/mutants/run.py

catalog-check: ## The catalog's hash under two torch and two Python versions; makes their environments the first time
	$(RUN) python scripts/catalog-hash

wheels: ## Build the four wheels into dist/
	$(UV) build --all-packages --wheel --out-dir dist

clean:
	rm -rf .venv .tools dist web/node_modules web/dist packages/control-plane/src/codefy_control_plane/web_dist
