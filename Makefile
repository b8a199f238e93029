# make compare   train the five architectures on the built-in corpus, and print their table
# make studies   train and report every study; SCALE=toy for another scale, `make study-NAME` for one study
# make bench     measure speed on this CPU, beside JoeyNMT and CTranslate2; three quarters of an hour
# make bench-quick  the same for two models, in few turns: some minutes
# make bench-memory  peak memory of a training step, with our loss and with all logits; some minutes
# make bench-quality  seconds of training until BLEU passes 30, 40 and 45, beside JoeyNMT; hours
# make docs      the documentation site, in site/: open site/index.html
# make notebooks run the notebooks and store them with their outputs
# make lint      ruff and mypy
# make quick     the unit tests
# make test      lint, then the tests that take seconds
# make test-all  lint, then all tests that need no GPU
# make test-faults  every key and every file with every fault, signals and kills, random configurations; an hour
# make test-gpu    the tests that need a GPU
# make gpu-wheels  what the measurements on a GPU need beside PyTorch, in wheels/, for a machine without network
# make test-slurm   sweeps and trainings on a real Slurm, as root, after apt-get install slurm-wlm munge
# Each installs what it needs into .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: compare quick test test-all test-faults test-gpu test-slurm gpu-wheels lint bench bench-quick bench-memory bench-quality studies docs notebooks

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/pip install -q -c constraints.txt torch
	$(BIN)/pip install -q -c constraints.txt -e .
	touch $@

.venv/installed-test: .venv/installed
	$(BIN)/pip install -q -c constraints.txt -e '.[test,docs]'
	touch $@

.venv/installed-docs: .venv/installed
	$(BIN)/pip install -q -c constraints.txt -e '.[docs]'
	touch $@

compare: .venv/installed
	$(BIN)/triptych train -m experiment=architectures scale=toy output=runs/compare
	$(BIN)/triptych report runs/compare

SCALE ?= multi30k
STUDIES := $(patsubst conf/experiment/%.yaml,%,$(wildcard conf/experiment/*.yaml))

studies: $(STUDIES:%=study-%)

study-%: .venv/installed
	$(BIN)/triptych train -m experiment=$* scale=$(SCALE) output=runs/$(SCALE)/$*
	$(BIN)/triptych report runs/$(SCALE)/$*

# DATA=FOLDER: Multi30k's files, which are downloaded without it
BENCH := $(if $(DATA),--data $(DATA))

bench: .venv/installed-test
	$(BIN)/python -m benchmarks.cpu $(BENCH)

bench-quick: .venv/installed-test
	$(BIN)/python -m benchmarks.cpu --quick $(BENCH)

bench-memory: .venv/installed-test
	$(BIN)/python -m benchmarks.memory

bench-quality: .venv/installed-test
	$(BIN)/python -m benchmarks.quality $(BENCH)

docs: .venv/installed-docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build

notebooks: .venv/installed-test
	$(BIN)/python notebooks/store.py

lint: .venv/installed-test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal
# a test that hangs fails, with a traceback of all threads
HANGS := -o faulthandler_timeout=240 -o faulthandler_exit_on_timeout=true

quick: .venv/installed-test
	$(PYTEST) $(HANGS) -m "not slow and not gpu" tests/unit tests/architecture

test: lint
	$(PYTEST) $(HANGS) -m "not slow and not gpu"

test-all: lint
	$(PYTEST) -m "not gpu and not faults and not slurm"

test-faults: .venv/installed-test
	$(PYTEST) -m faults

test-gpu: .venv/installed-test
	$(BIN)/pytest -m gpu tests/gpu

# antlr4 is published as source alone
WHEELS_PYTHON ?= 3.12
PLATFORMS := manylinux_2_28_x86_64 manylinux_2_27_x86_64 manylinux_2_17_x86_64 manylinux2014_x86_64
gpu-wheels: .venv/installed
	rm -rf wheels
	$(BIN)/pip wheel -q --no-deps -c constraints.txt -w wheels antlr4-python3-runtime
	$(BIN)/pip download -q --no-deps --only-binary=:all: --find-links wheels -c constraints.txt -d wheels \
		--python-version $(WHEELS_PYTHON) $(PLATFORMS:%=--platform %) -r benchmarks/gpu-wheels.txt

test-slurm: .venv/installed-test
	$(BIN)/pip install -q -c constraints.txt -e '.[cluster]'
	OMP_NUM_THREADS=1 $(BIN)/pytest -m slurm
