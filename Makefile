PYTHON ?= $(shell command -v python3.11 || command -v python3)
PIP := pip==26.2
WORKERS ?= auto
CORE := test_scores.py test_bins.py test_functionals.py test_kernels.py test_tables.py test_cli.py test_cli_help.py \
  test_sklearn.py test_evaluation.py calibration/test_errors.py report/test_report.py

VENV := .venv
BENCH := .venv-bench
DIST := .venv-dist
LOCK := .venv-lock
INSTALL = bin/python -m pip install --quiet --constraint constraints.txt --build-constraint constraints.txt
SPHINX = $(VENV)/bin/sphinx-build --jobs auto --fail-on-warning --keep-going

export MPLBACKEND ?= Agg
# Tests run in parallel; threads of their libraries would wait for each other.
quick test durations: export OMP_NUM_THREADS ?= 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1

BEGIN := $(shell date +%s)

.DEFAULT_GOAL := help
.PHONY: bench browser check clean coverage database demo dist docs durations extras format fuzz help lock minimum mutation quick test versions

help: ## list these targets
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: $(VENV)/.demo ## show it on bundled data and write report.html
	$(VENV)/bin/noneg demo --force
	@echo "make demo: $$(( $$(date +%s) - $(BEGIN) )) s"

quick: $(VENV)/.dev ## lint, and run the tests that take no time: a minute
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/pytest -q -n 2 --quick tests
	@echo "make quick: $$(( $$(date +%s) - $(BEGIN) )) s"

test: $(VENV)/.dev browser database ## run the tests and every example in the documentation
	$(VENV)/bin/pytest -n $(WORKERS) --maxprocesses 4 --dist worksteal
	@echo "make test: $$(( $$(date +%s) - $(BEGIN) )) s"

# Tests of the page need Chromium; without it, and without the right to install it, they are skipped.
browser:
	@command -v chromium >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  { apt-get install -y -q chromium || { apt-get update -q && apt-get install -y -q chromium; }; } >/dev/null 2>&1; } \
	  || echo 'Chromium is missing and cannot be installed: the browser tests will be skipped.'
	@test -e build/axe/node_modules/axe-core/axe.min.js || npm install --silent --prefix build/axe axe-core@4 >/dev/null 2>&1 \
	  || echo 'axe-core cannot be installed by npm: the accessibility tests will be skipped.'

# Tests of the SQL start a PostgreSQL server of their own.
database:
	@ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null || \
	  { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && \
	  { apt-get install -y -q postgresql || { apt-get update -q && apt-get install -y -q postgresql; }; } >/dev/null 2>&1; } \
	  || echo 'PostgreSQL is missing and cannot be installed: its tests will be skipped.'

check: $(VENV)/.dev ## lint, format, types, layers, dependencies, changelog
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/mypy
	$(VENV)/bin/lint-imports
	$(VENV)/bin/deptry src
	$(VENV)/bin/towncrier build --draft --version next
	$(VENV)/bin/python docs/check_words.py

# Pages of functions that are gone would be warned of.
docs: $(VENV)/.dev ## build the documentation into docs/_build/html
	rm -rf docs/generated
	$(SPHINX) -b html docs docs/_build/html

bench: $(BENCH)/.bench ## time noneg against its peers and store the run
	$(BENCH)/bin/python -m benchmarks --out benchmarks/results

coverage: $(VENV)/.dev browser ## measure which branches the tests take, and enforce it
	$(VENV)/bin/python tests/branches/measure.py

fuzz: $(VENV)/.dev ## search for inputs that break commands and readers, for as long as FUZZ says
	NONEG_FUZZ=$(or $(FUZZ),50) $(VENV)/bin/pytest -q tests/fuzz --hypothesis-show-statistics

mutation: $(VENV)/.dev ## change the code in small ways and count what the tests notice (hours)
	$(VENV)/bin/python -m pip install --quiet --upgrade --target build/mutation/tools 'mutmut==3.8.*' 'pytest<9.2'
	$(VENV)/bin/python tests/mutation/run.py

# Wheels carry the version of the tag; an empty environment shows that nothing is forgotten.
dist: ## build wheel and source archive, install the wheel and run it
	$(PYTHON) -m venv --clear $(DIST)
	$(DIST)/bin/python -m pip install --quiet $(PIP) build
	rm -rf dist
	PIP_CONSTRAINT=$(CURDIR)/constraints.txt $(DIST)/bin/python -m build --outdir dist . >/dev/null
	$(DIST)/bin/python tests/packaging/check.py dist

extras: ## resolve every extra alone, lowest and highest, and try the small ones
	$(PYTHON) -m venv --clear $(DIST)
	$(DIST)/bin/python -m pip install --quiet $(PIP) uv
	$(DIST)/bin/python tests/packaging/extras.py

# The lowest versions that pyproject.toml allows, without torch and Spark.
minimum: ## run the core of the tests with the lowest versions allowed
	$(PYTHON) -m venv --clear $(DIST)
	$(DIST)/bin/python -m pip install --quiet $(PIP) uv
	$(DIST)/bin/uv pip install --quiet --python $(DIST)/bin/python --resolution lowest-direct \
	  '.[fast,plot,cluster]' 'pytest>=9.0' 'hypothesis>=6.100' 'pytest-benchmark>=5.0' 'pandas>=2.2' 'polars>=1.31'
	$(DIST)/bin/python -m pytest -q -p no:cacheprovider $(addprefix tests/,$(CORE))

versions: ## run the quick tests with every Python from 3.11 on that is installed
	$(PYTHON) tests/packaging/versions.py

durations: $(VENV)/.dev ## measure which tests are too long for make quick
	$(VENV)/bin/pytest -q -n 2 --quick --measure tests || true

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
	rm -rf $(VENV) $(BENCH) $(DIST) $(LOCK) build dist docs/_build docs/gallery docs/generated
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
