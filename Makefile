# Every target sets up its own .venv and can be run again at any time.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.stamp

.DEFAULT_GOAL := help
.PHONY: course fuzz live help demo test test-all test-quick lint format mutants release-check lab docs slides notebooks readme experiments bench clean

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

test-quick: $(STAMP)-dev  ## the inner loop: export, lint, and what every module does at its simplest (tests/quick.txt)
	@$(BIN)/python tools/test.py export lint longlines
	@$(BIN)/python -m pytest -q -n 2 --dist loadfile -m "quick and not slow and not browser" tests

lint: $(STAMP)-dev  ## formatting and rules (ruff), lines wider than the page, attributes (pyright)
	@$(BIN)/python tools/test.py lint longlines types

format: $(STAMP)-dev  ## repair the formatting
	@$(BIN)/ruff format .

mutants: $(STAMP)-dev  ## break the code in named places; every break must be noticed by the tests it names (SAMPLE=50 for some)
	@$(BIN)/python tools/mutants.py $(if $(SAMPLE),--sample $(SAMPLE))

fuzz: $(STAMP)-dev  ## odd input for every public name and the command line: clear, fine, raw, silent (CALLS=6000 SEED=0)
	@$(BIN)/python tools/fuzz.py --calls $(or $(CALLS),6000) --seed $(or $(SEED),0)

release-check: $(STAMP)-dev  ## sdist, wheel, editable; every Python of 3.11 to 3.13 that is here; lowest versions; nbdev 3
	@$(BIN)/python tools/test.py package
	@$(BIN)/python tools/release.py

test-all: $(STAMP)-dev  ## the same with slow tests and slow cells
	@$(BIN)/python tools/test.py --slow

lab: $(STAMP)-dev  ## JupyterLab; your own notebooks go to work/, which no check looks at
	@mkdir -p work && $(BIN)/jupyter lab

docs: $(STAMP)-dev  ## build the site into _docs
	@$(BIN)/python tools/site.py

slides: $(STAMP)-dev  ## offline slides of the lessons into _slides (NB=nbs/12_experts.ipynb for one)
	@$(BIN)/python tools/slides.py _slides $(NB)

course: $(STAMP)-dev  ## notebooks for a class into _course: a student's copy without solutions, a teacher's with them
	@$(BIN)/python tools/course.py _course $(NB)

notebooks: $(STAMP)-dev  ## export the package, execute every notebook, save outputs, refresh README (NB=nbs/10_x.ipynb for one)
	@$(BIN)/python tools/export.py
	@$(BIN)/python tools/execute.py $(NB)
	@$(BIN)/python tools/readme.py

live: $(STAMP)-dev  ## compile the kernels for the browser that changed (csc_nb/static/live)
	@$(BIN)/python tools/wasm.py

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
