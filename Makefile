PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP := pip==26.2
WORKERS ?= auto

VENV := .venv
BENCH := .venv-bench
LOCK := .venv-lock
INSTALL = bin/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt
SPHINX = $(VENV)/bin/sphinx-build --jobs auto --fail-on-warning --keep-going

export MPLBACKEND ?= Agg
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help demo test browser check docs bench format lock clean

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.demo ## show it on bundled data and write report.html
	$(VENV)/bin/noneg demo

test: $(VENV)/.dev browser ## run the tests and every example in the documentation
	$(VENV)/bin/pytest -n $(WORKERS) --maxprocesses 4
	$(SPHINX) -q -b doctest -D plot_gallery=0 docs docs/_build/doctest

# Tests of the page need Chromium; without it, and without the right to install it, they are skipped.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  { apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }; } >/dev/null 2>&1; } \
	  || echo 'Chromium is missing and cannot be installed: the browser tests will be skipped.'

check: $(VENV)/.dev ## lint, format, types, layers, dependencies, changelog
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/deptry src
	$(VENV)/bin/towncrier build --draft --version next

docs: $(VENV)/.dev ## build the documentation into docs/_build/html
	$(SPHINX) -b html docs docs/_build/html

bench: $(BENCH)/.bench ## time noneg against its peers and store the run
	$(BENCH)/bin/python -m benchmarks --out benchmarks/results

format: $(VENV)/.dev ## format the code and apply the safe fixes
	$(VENV)/bin/ruff check --fix-only
	$(VENV)/bin/ruff format

lock: ## write constraints.txt anew from the newest releases
	$(PYTHON) -m venv --clear $(LOCK)
	$(LOCK)/bin/python -m pip install --quiet $(PIP)
	$(LOCK)/bin/python -m pip install --quiet hatchling hatch-vcs -e '.[all]' --group dev --group bench
	echo '# What every make target installs. Written by: make lock' > constraints.txt
	$(LOCK)/bin/python -m pip freeze --exclude-editable | sed 's/+cpu$$//' >> constraints.txt
	rm -rf $(LOCK)

clean: ## remove environments and everything built
	rm -rf $(VENV) $(BENCH) $(LOCK) build dist docs/_build docs/gallery docs/generated
	rm -rf .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache report.html

$(VENV)/.demo: EXTRAS := fast
$(VENV)/.dev: EXTRAS := all
$(VENV)/.dev: GROUPS := --group dev
$(BENCH)/.bench: EXTRAS := fast,plot
$(BENCH)/.bench: GROUPS := --group bench

$(VENV)/.demo $(VENV)/.dev $(BENCH)/.bench: pyproject.toml constraints.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet $(PIP)
	$(@D)/$(INSTALL) -e '.[$(EXTRAS)]' $(GROUPS)
	touch $@
