# make install   a virtual environment in .venv with the package and all extras that live together
# make test      that, then every check: lint, types, tests
# make check     the checks alone

PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
EXTRAS := bench,dev,eval,train

.PHONY: install test check lint types tests golden docs clean
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

# Write the golden playthroughs anew after a change of the rules; review the difference before committing it.
golden:
	$(BIN)/python -m tests.golden.playthroughs

# Write the generated tables of docs/ anew.
docs:
	$(BIN)/python -m tests.test_docs

clean:
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis
