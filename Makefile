# One virtual environment for all commands. `make demo` and `make test` set up by themselves on a fresh machine.

# The first interpreter that runs and is new enough: a name may be a link of a version manager to a version that is not selected.
PYTHON ?= $(shell for name in python3.11 python3.12 python3.13 python3.14 python3 python; do \
	"$$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { command -v "$$name"; break; }; done)
VENV := .venv
BIN := $(VENV)/bin
REPO ?= .
TESTS ?=
JOBS ?= auto
AGAINST ?= 39f3f910
TREES ?=
ROWS ?=
BENCH = $(if $(TREES),--trees $(TREES)) $(if $(ROWS),--rows $(ROWS))

.PHONY: demo test slow-test suite browser validators buckets hosts cluster-test release wheel lint bench bench-compare soak format clean

$(VENV)/.ready: pyproject.toml constraints.txt
	@'$(PYTHON)' -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo 'Python 3.11 or later is needed. Install it, or name one with: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@'$(PYTHON)' -c 'import ensurepip' 2>/dev/null || \
		{ '$(PYTHON)' -c 'import sys; print("%s cannot make virtual environments without ensurepip. On Debian and Ubuntu: apt install python%d.%d-venv" % (sys.executable, *sys.version_info[:2]))' >&2; exit 1; }
	'$(PYTHON)' -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m compileall -q codecompass $(VENV)/lib || true
	@touch $@

demo: $(VENV)/.ready  ## index a repository (REPO=/path, by default this one), search it, say what to do next
	@$(BIN)/python bench/demo.py '$(REPO)'

test: $(VENV)/.ready  ## style, types, all tests but the slow ones, on all cores (TESTS='-k name' narrows, JOBS=0 runs one at a time)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup -m 'not slow' $(TESTS)

slow-test: $(VENV)/.ready  ## the slow tests, which CI runs too: whole servers, kill -9, random steps, official clients, a browser, a cluster
	$(BIN)/python -m pytest --numprocesses $(JOBS) --dist loadgroup -m slow $(TESTS)

suite: $(VENV)/.suite $(VENV)/.clients  ## Node, the official conformance suite and clients, which `make slow-test` runs where they are

$(VENV)/.suite: $(VENV)/.ready tests/conformance/package-lock.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,conformance]'
	mkdir -p $(VENV)/node
	cp tests/conformance/package.json tests/conformance/package-lock.json $(VENV)/node
	$(BIN)/python -m tests.conformance.install $(VENV)/node
	@touch $@

$(VENV)/.clients: $(VENV)/.suite tests/clients/package-lock.json
	mkdir -p $(VENV)/node-clients
	cp tests/clients/package.json tests/clients/package-lock.json $(VENV)/node-clients
	$(BIN)/python -m tests.conformance.install $(VENV)/node-clients
	@touch $@

browser: $(VENV)/.browser  ## what drives the Chromium of the system against the page, which `make slow-test` does where both are

$(VENV)/.browser: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,browser]'
	@touch $@

validators: $(VENV)/.validators  ## what checks deploy/, which `make test` does where it is

$(VENV)/.validators: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,validators]'
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory $(BIN)/promtool; else echo 'without Go, the alert rules of deploy/ are not evaluated'; fi
	@touch $@

# Prometheus excludes versions of other modules, so that `go install` refuses it: it is built from a module of our own.
$(BIN)/promtool:
	rm -rf $(VENV)/promtool && mkdir -p $(VENV)/promtool
	cd $(VENV)/promtool && go mod init promtool && go get github.com/prometheus/prometheus/cmd/promtool@v0.309.0
	cd $(VENV)/promtool && go build -o '$(abspath $(BIN))/promtool' github.com/prometheus/prometheus/cmd/promtool

buckets: $(BIN)/versitygw  ## a service that speaks S3 (needs Go), in which `make test` then also keeps segments

$(BIN)/versitygw: | $(VENV)/.ready
	GOBIN='$(abspath $(BIN))' go install github.com/versity/versitygw/cmd/versitygw@v1.8.0

hosts: $(VENV)/.hosts  ## four real hosts (1 GB), which `make slow-test` runs on a scripted model where they are

$(VENV)/.hosts: $(VENV)/.ready tests/hosts/package-lock.json
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,conformance]'
	mkdir -p $(VENV)/hosts
	cp tests/hosts/package.json tests/hosts/package-lock.json $(VENV)/hosts
	$(BIN)/python -m tests.conformance.install $(VENV)/hosts
	@touch $@

cluster-test: $(VENV)/.cluster  ## an organisation's code on three real nodes of OpenSearch (Java 17 to 21 and mvn), also a part of `make slow-test`
	CODECOMPASS_LONG_TESTS=1 $(BIN)/python -m pytest -m cluster -rs $(TESTS)

$(VENV)/.cluster: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,cluster]'
	@touch $@

release: $(VENV)/.release  ## wheel, sdist, bill of materials, checksums and notes of this commit in dist/, checked on each Python that is here
	$(BIN)/python -m release

$(VENV)/.release: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,release]'
	@touch $@

wheel: $(VENV)/.compiling  ## a wheel with compiled modules for this Python and system in dist/compiled; without a C compiler the one for all
	HATCH_BUILD_HOOK_ENABLE_CUSTOM=1 $(BIN)/python -m hatchling build --target wheel --directory dist/compiled

$(VENV)/.compiling: $(VENV)/.ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev,compiling]'
	@touch $@

lint: $(VENV)/.ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.ready
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.ready  ## costs as a table, beside other programs that are installed (TREES='/path ..' to measure trees of yours, ROWS=index,ask)
	$(BIN)/python -m bench $(BENCH)

bench-compare: $(VENV)/.ready  ## the same beside a commit (AGAINST=..); fails if a row costs 3 % more
	$(BIN)/python -m bench --against $(AGAINST) $(BENCH)

soak: $(VENV)/.ready  ## the long seeds: crashes, random edits
	$(BIN)/python -m pytest -m slow --soak-scale 20 --timeout 0

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis bench/out
