# make install   a virtual environment in .venv with the package and all extras that live together
# make test      that, then every check: lint, types, tests
# make check     the checks alone
# make train     install, train a small policy for some minutes, evaluate it (TRAIN_OUT: where to)

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := bench,dev,eval,train

TRAIN_OUT ?= runs/quick

.PHONY: install test check train lint types tests golden docs clean
.DEFAULT_GOAL := test

install: $(VENV)/.installed

$(VENV)/.installed: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[$(EXTRAS)]"
	touch $@

test: install check

check: lint types tests

lint:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types:
	$(BIN)/mypy

tests:
	$(BIN)/python -m pytest

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

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
