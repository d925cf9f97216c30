# Plain `make` lists the targets. Every target makes its own virtual environment first.
VENV ?= .venv
PYTHON ?= python3
PY := $(VENV)/bin/python
# three on two processors: one of them mostly waits, for a server or for a disk
WORKERS ?= 3
# several processes of Python are started by almost every target: each finds what the first of them has compiled
unexport PYTHONDONTWRITEBYTECODE
BESIDE := --no-print-directory --jobs=2

.DEFAULT_GOAL := help
.PHONY: help setup demo browser servers programs test suite chaos histories check lint type format docs advise-proof bench \
	bench-engine compile test-compiled clean all

help:  ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  %-14s %s\n", $$1, $$2}'

setup: $(VENV)/.ready  ## make the virtual environment with everything in it

$(VENV)/.ready: pyproject.toml constraints.txt
	@command -v $(PYTHON) >/dev/null || { echo "Python 3.11 or newer is needed: no '$(PYTHON)' on PATH"; exit 2; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Python 3.11 or newer is needed: '$(PYTHON)' is older"; exit 2; }
	@echo "setting up $(VENV) (once)"
	@$(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-compile --constraint constraints.txt --editable '.[pipeline,planner,shared,dev]'
	@touch $@

$(VENV)/.peers: $(VENV)/.ready
	@$(PY) -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[bench]'
	@touch $@

demo: setup  ## the main job: a month of a small installation as an HTML report, then the circle, in about a minute
	@$(VENV)/bin/quaestor demo --out demo-out

check: lint type  ## lint and types, without the tests

browser:  ## Chromium for the tests that look at pages, where it can be installed
	@scripts/chromium

servers:  ## Redis and PostgreSQL for the tests that run against them, where they can be installed
	@scripts/servers

programs:
	@scripts/chromium
	@scripts/servers

test:  ## everything continuous integration runs; what needs one processor runs beside what needs the other
	@$(MAKE) $(BESIDE) setup programs
	@$(MAKE) --no-print-directory lint
	@$(MAKE) $(BESIDE) type suite

suite: setup
	@$(PY) -m pytest $(QUICK) -q || { $(UNGROUP); $(PY) -m pytest --last-failed -p no:randomly -q; exit 1; }

# what failed is noted with the name of its group, under which it is not found without workers
UNGROUP := sed -i -E 's/@[a-z]+": true/": true/' .pytest_cache/v/cache/lastfailed
# asserts are not rewritten, which halves the collection; what fails is run again with them, to say why
QUICK := -n $(WORKERS) --dist loadgroup --randomly-seed=1 --assert=plain

MINUTES ?= 5
chaos: setup servers  ## three members, kill -9 of everything, cut networks; CHAOS="--seed 7 --engine redis --fault store+member"
	@PYTHONPATH=tests $(PY) -m chaos.run --minutes $(MINUTES) $(CHAOS)

SECONDS ?= 60
histories: setup  ## random histories of an engine, with power cuts and restarts, against a plain model; SECONDS=600 SEED=7
	@PYTHONPATH=tests $(PY) -m crash.play --seconds $(SECONDS) $(if $(SEED),--seed $(SEED))

lint: setup  ## ruff (rules and format) and spelling
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/ruff format --check .
	@$(VENV)/bin/codespell src docs README.md CHANGELOG.md CONTRIBUTING.md

type: setup  ## mypy, strict
	@$(VENV)/bin/mypy

format: setup  ## let ruff rewrite the layout of the source
	@$(VENV)/bin/ruff check --fix .
	@$(VENV)/bin/ruff format .

docs: setup  ## regenerate docs/cli.md and docs/formats from the source
	@$(PY) -m quaestor.cli.reference docs

advise-proof: setup  ## precision and recall of the advisor on planted incidents and on a clean installation
	@$(PY) -m pytest tests/advisor/test_synthetic.py tests/advisor/test_coverage.py tests/advisor/test_rules.py -q -p no:randomly

bench: setup  ## measure what bench/README.md promises of the SMF codec and the pipeline
	@$(PY) bench/smf_bench.py
	@$(PY) bench/pipeline_bench.py

bench-engine: $(VENV)/.peers  ## measure what bench/README.md promises of the queue manager, beside its peers; GROUPS="correl deep"
	@$(PY) bench/engine_bench.py $(GROUPS)

compile: setup  ## compile the engine's hot path with mypyc into build/compiled (about a minute; needs a C compiler)
	@$(PY) scripts/compile.py
	@PYTHONPATH=build/compiled $(PY) -c 'import sys, quaestor.qmgr.log.manager as log; sys.exit(not log.__file__.endswith(".so"))'
	@echo "to use it: PYTHONPATH=$(CURDIR)/build/compiled"

test-compiled: compile  ## the engine's tests on the compiled build, but those that replace its methods
	@PYTHONPATH=build/compiled $(PY) -m pytest tests/qmgr tests/mqi tests/model tests/crash tests/storage -n $(WORKERS) --dist loadgroup \
	  --randomly-seed=1 -q -m "not plain" -o pythonpath="build/compiled tests"

clean:  ## remove what the other targets made
	rm -rf $(VENV) build/compiled demo-out .mypy_cache .ruff_cache .pytest_cache .hypothesis

all: test demo  ## tests, then the demo
