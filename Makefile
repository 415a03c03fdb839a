# Everything a person needs: `make lab` to work, `make test` to check. Both set up .venv first.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	command -v $$p >/dev/null 2>&1 && $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
BIN = .venv/bin
WORKERS ?= auto

.PHONY: lab test e2e faults check format docs bench shots clean

lab: .venv/user.stamp
	$(BIN)/lcm-lab lab $(ARGS)

test: .venv/dev.stamp
	$(BIN)/pytest -n $(WORKERS) $(ARGS)

e2e: .venv/dev.stamp
	$(BIN)/pytest -q tests/e2e $(ARGS)

faults: .venv/dev.stamp
	$(BIN)/pytest -q tests/faults $(ARGS)

check: .venv/dev.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/pytest -q tests/test_house.py

format: .venv/dev.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/dev.stamp
	$(BIN)/python -m lcm_lab.cli.reference > docs/cli.md

bench: .venv/dev.stamp
	$(BIN)/python -m tests.benchmarks $(ARGS)

shots: .venv/dev.stamp
	$(BIN)/python -m tests.browser.shots build/shots $(ARGS)

clean:
	rm -rf .venv build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/pip:
	@if [ -z "$(PYTHON)" ]; then echo "lcm-lab needs Python 3.11 or newer; install it (Debian: apt install python3 python3-venv)."; exit 1; fi
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { echo "Python's venv module is missing; install it: sudo apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv .venv

.venv/user.stamp: .venv/bin/pip pyproject.toml constraints.txt
	@echo "Installing into .venv; the first time takes a minute or two."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable . --constraint constraints.txt
	@touch $@

.venv/dev.stamp: .venv/bin/pip pyproject.toml constraints.txt
	@echo "Installing into .venv, test tools included; the first time takes a minute or two."
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]' --constraint constraints.txt
	@touch $@
