# Every target sets up its own .venv and can be run again at any time.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-quick lint format mutants release-check lab docs notebooks readme experiments bench clean

help:            ## show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1	/p' $(MAKEFILE_LIST) | expand -t 14

$(STAMP)-python:
	@$(PYTHON) -c "import sys; sys.exit(sys.version_info < (3, 11) and 'csc_nb needs Python 3.11 or newer; this is ' + sys.version.split()[0] + '. Try: make PYTHON=python3.12 ...')"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@touch $@

$(STAMP)-base: $(STAMP)-python setup.py settings.ini
	@echo "Installing csc_nb into .venv (about a minute the first time) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(STAMP)-dev: $(STAMP)-python setup.py settings.ini
	@echo "Installing csc_nb and its development tools into .venv (some minutes the first time) ..."
	@$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[dev,docs]"
	@touch $@ $(STAMP)-base

demo: $(STAMP)-base  ## k-means, hard constraints and ours as answers get worse: table, figure, report (one minute)
	@$(BIN)/csc-nb demo

test: $(STAMP)-dev  ## everything CI needs: export, notebooks, site, tests, lint, package
	@$(BIN)/python tools/test.py

test-quick: $(STAMP)-dev  ## the inner loop: export, lint, and the tests of the foundations and of one seed each
	@$(BIN)/python tools/test.py export lint
	@$(BIN)/python -m pytest -q -n 2 -m "not slow" tests/test_answer_layer.py tests/test_constraints.py tests/test_graph.py tests/test_public.py tests/test_ledger.py

lint: $(STAMP)-dev  ## formatting and rules (ruff)
	@$(BIN)/python tools/test.py lint

format: $(STAMP)-dev  ## repair the formatting
	@$(BIN)/ruff format .

mutants: $(STAMP)-dev  ## break the code in named places; every break must be noticed by the tests it names
	@$(BIN)/python tools/mutants.py

release-check: $(STAMP)-dev  ## source distribution and wheel in a fresh environment, with the real dependencies
	@$(BIN)/python tools/test.py package
	@rm -rf build/release && mkdir -p build/release && $(PYTHON) -m venv build/release/env
	@build/release/env/bin/python -m pip install -q --disable-pip-version-check .
	@cd build/release && env/bin/python ../../tools/smoke.py env

test-all: $(STAMP)-dev  ## the same with slow tests and slow cells
	@$(BIN)/python tools/test.py --slow

lab: $(STAMP)-dev  ## JupyterLab on the notebooks
	@$(BIN)/jupyter lab --notebook-dir=nbs

docs: $(STAMP)-dev  ## build the site into _docs
	@$(BIN)/python tools/site.py

notebooks: $(STAMP)-dev  ## export the package, execute every notebook, save outputs, refresh README (NB=nbs/10_x.ipynb for one)
	@$(BIN)/python tools/export.py
	@$(BIN)/python tools/execute.py $(NB)
	@$(BIN)/python tools/readme.py

readme: $(STAMP)-dev  ## README.md from nbs/index.ipynb
	@$(BIN)/python tools/readme.py

bench: $(STAMP)-dev  ## the benchmarks of the chapters (ratios to a peer in the same run)
	@for f in benchmarks/bench_*.py; do echo "== $$f"; $(BIN)/python $$f || exit 1; done

experiments: $(STAMP)-dev  ## complete the committed result files (hours; what is in them is not run again)
	@$(BIN)/csc-nb sweep nbs/experiments/configs/comparison.toml --jobs 2
	@cd benchmarks && ../$(BIN)/python run_ncobras.py ../nbs/experiments/results/ncobras_runs.csv --noise .1 .05 0
	@cd benchmarks && ../$(BIN)/python run_ncobras.py ../nbs/experiments/results/ncobras_runs.csv --summary ../nbs/experiments/results
	@$(BIN)/python tools/execute.py --slow --jobs 1 $(wildcard nbs/experiments/*.ipynb)

clean:           ## remove what can be made again (not .venv)
	@rm -rf _docs _proc _site build dist *.egg-info demo_out .pytest_cache
