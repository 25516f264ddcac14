# The two commands of the README do all their set-up themselves.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# All that users may install.
EXTRAS := chem embeddings networkx plot pyg ray serve skops
# Datasets beside the repository are used where they are; otherwise they are downloaded on demand.
export KGNN_DATASETS ?= $(abspath $(wildcard ../shared/datasets))
# Small graphs drown in the overhead of threads.
export OMP_NUM_THREADS ?= 1

.PHONY: demo test test-wheel test-lowest check coverage format docs bench-speed clean

demo: $(VENV)/installed
	$(BIN)/kgnn demo

test: check
	$(BIN)/pytest -n 2

# What people install: wheel and sdist, without any extra, in an environment that is otherwise empty.
test-wheel: $(VENV)/installed-dev
	rm -rf build/dist build/clean
	$(BIN)/python -m build --outdir build/dist
	$(PYTHON) -m venv build/clean
	build/clean/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt build/dist/*.whl
	build/clean/bin/python -I tests/try_installed.py

# The lowest versions that pyproject.toml allows, with all extras and the oldest Python if there is one.
LOWEST_PYTHON ?= $(or $(shell python3.10 -c 'import sys; print(sys.executable)' 2>/dev/null),$(PYTHON))
test-lowest:
	$(LOWEST_PYTHON) -m venv build/lowest
	build/lowest/bin/python -m pip install --quiet --disable-pip-version-check uv
	build/lowest/bin/uv pip compile --quiet --resolution lowest-direct --python build/lowest/bin/python \
		$(addprefix --extra ,$(EXTRAS)) pyproject.toml -o build/lowest.txt
	build/lowest/bin/uv pip install --quiet --python build/lowest/bin/python -r build/lowest.txt \
		pytest hypothesis pytest-xdist httpx
	build/lowest/bin/uv pip install --quiet --python build/lowest/bin/python --no-deps -e .
	# Old versions of others warn of what is new.
	build/lowest/bin/python -m pytest -n 2 -o filterwarnings=default --disable-warnings

check: $(VENV)/installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/mypy

coverage: $(VENV)/installed-dev
	$(BIN)/pytest -n 2 --cov --cov-report=term

format: $(VENV)/installed-dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# Strict: a warning, such as a link that leads nowhere, stops it. Open build/site/index.html.
docs: $(VENV)/installed-docs
	$(BIN)/sphinx-build --fail-on-warning --keep-going -q -c docs . build/site

bench-speed: $(VENV)/installed-dev
	$(BIN)/python benchmarks/speed/kernels.py
	$(BIN)/python benchmarks/speed/message_passing.py
	$(BIN)/python benchmarks/speed/fit.py
	$(BIN)/python benchmarks/speed/carried.py
	$(BIN)/python benchmarks/speed/scaling.py
	$(BIN)/python benchmarks/speed/start_up.py

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/installed: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e .
	touch $@

$(VENV)/installed-dev: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[dev]"
	touch $@ $(VENV)/installed

$(VENV)/installed-docs: pyproject.toml constraints.txt | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[docs]"
	touch $@

clean:
	rm -rf build $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .coverage*
