# make install   a virtual environment in .venv with the package and all extras that live together
# make test      that and a Chromium, if there is none, then every check: lint, types, tests
# make check     the checks alone
# make test-integrations   other people's libraries, in environments of their own: .venv-integrations, .venv-latest
# make train     install, train a small policy for some minutes, evaluate it (TRAIN_OUT: where to)

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := bench,dev,eval,play,render,train

# What lives together with ray, which pins gymnasium; and what a user gets who does not have ray: the newest gymnasium.
INTEGRATIONS := minari,openspiel,rllib,textarena,tianshou,torchrl
NEWEST_GYMNASIUM := 1.4.0

TRAIN_OUT ?= runs/quick

.PHONY: install test browser check test-integrations train lint lint-js types tests golden docs figures clean
.DEFAULT_GOAL := test

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

test: install browser check

# What tests/web drives.
browser: install
	VENV=$(VENV) .ci/chromium

check: lint types tests

lint: lint-js
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

# The scripts and styles of the web pages; `biome check --write` in place of `biome check` fixes what it can.
lint-js:
	$(BIN)/python -m tools.run_node_tool biome check --error-on-warnings

types:
	$(BIN)/mypy

tests:
	$(BIN)/python -m pytest

test-integrations: $(VENV)-integrations/.installed $(VENV)-latest/.installed
	$(VENV)-integrations/bin/python -m pytest tests/integrations
	$(VENV)-latest/bin/python -m pytest tests/faces

$(VENV)-integrations/.installed: pyproject.toml constraints.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --constraint constraints.txt --editable ".[dev,$(INTEGRATIONS)]"
	touch $@

$(VENV)-latest/.installed: pyproject.toml constraints.txt
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	sed 's/^gymnasium==.*/gymnasium==$(NEWEST_GYMNASIUM)/' constraints.txt > $(@D)/constraints.txt
	$(@D)/bin/python -m pip install --quiet --constraint $(@D)/constraints.txt --editable ".[dev,train]"
	touch $@

# A second `make train` goes on where the first was stopped; after its end it only plays the tournament.
train: install
	if test -e $(TRAIN_OUT)/checkpoint.pt; then \
	  $(BIN)/python -m training.train --resume $(TRAIN_OUT); else \
	  $(BIN)/python -m training.train --config configs/quick.yaml --out $(TRAIN_OUT); fi
	$(BIN)/python -m evaluation.tournament --agents $(TRAIN_OUT)/last.safetensors,random,greedy,investor,planner \
	  --tables first-against-rest --num-players 4 --games 1600 --out $(TRAIN_OUT)/tournament

# Write the golden playthroughs anew after a change of the rules; review the difference before committing it.
golden:
	$(BIN)/python -m tests.golden.playthroughs

# Write the generated tables of docs/ anew.
docs:
	$(BIN)/python -m tests.test_docs

# Draw the pictures of the table and the pages in docs/ anew.
figures:
	$(BIN)/python -m tests.render.figures
	$(BIN)/python -m tests.web.figures

clean:
	rm -rf $(VENV) $(VENV)-integrations $(VENV)-latest .mypy_cache .pytest_cache .ruff_cache .hypothesis
