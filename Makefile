# Everything runs in .venv, which `make setup` (and every other target, when needed) creates.
# Needs Python 3.11 or newer and make; another interpreter: make PYTHON=/path/to/python3.12 test

SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
SOURCES := codegen dialects hlograph runtime tools
TEST_WORKERS := 2

# The first of these that runs and is new enough. A name on PATH may be a stub that does not run, so each is tried.
PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3 python; do \
	if $$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then echo $$p; break; fi; done)

.PHONY: help setup test lint types lit pytest pytest238 nightly demo bench versions aot clean

help:
	@echo 'make setup    create $(VENV) and install hlograph in it, editable, with all extras'
	@echo 'make test     lint, types, lit, pytest and pytest238, in this order; stops at the first that fails'
	@echo 'make lint     ruff'
	@echo 'make types    mypy'
	@echo 'make lit      FileCheck tests (lit_tests/)'
	@echo 'make pytest   tests/'
	@echo 'make pytest238  a part of tests/ with PyTensor 2.38 and PyMC, in an environment of their own'
	@echo 'make nightly  10,000 random programs through the padding pass (HLOGRAPH_PROGRAMS, HLOGRAPH_SEED), 1,000 under CPU plans, ...'
	@echo 'make demo     a logistic regression on real data, from a PyTensor graph to a StableHLO artifact and back'
	@echo 'make bench    side by side with other ways to run the same graphs'
	@echo 'make versions the lowering tests under PyTensor 2.38 and under Aesara 2.9, each in an environment of its own'
	@echo 'make aot      every program compiled for a TPU and an NVIDIA GPU that are not here (AOT="--platform tpu --devices 1")'
	@echo 'make clean    remove build outputs and caches (keeps $(VENV))'

setup: $(STAMP)

# Makes the environment $(1) with the interpreter $(2), where there is none that is usable.
define environment
	@if ! $(1)/bin/python -m pip --version >/dev/null 2>&1; then \
		python='$(2)'; \
		if ! $${python:-false} -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
			echo "make: hlograph needs Python 3.11 or newer; found $${python:-none on PATH}" >&2; exit 1; \
		fi; \
		echo "==> $(1): creating with $$python"; \
		rm -rf $(1); \
		if ! $$python -m venv $(1) >/dev/null 2>&1; then \
			echo "==> $(1): this Python has no ensurepip; using virtualenv"; \
			rm -rf $(1); \
			{ $$python -m pip install --quiet --disable-pip-version-check --target build/virtualenv virtualenv \
				&& PYTHONPATH=build/virtualenv $$python -m virtualenv --quiet $(1); } \
			|| { echo 'make: cannot create $(1); install the venv module (Debian, Ubuntu: apt install python3-venv)' >&2; exit 1; }; \
		fi; \
	fi
endef

# An interrupted setup leaves no stamp, and the next one starts from what is usable.
$(STAMP): pyproject.toml
	$(call environment,$(VENV),$(PYTHON))
	@echo '==> $(VENV): installing hlograph[test,bench] (a few minutes the first time)'
	@$(PY) -m pip install --quiet --disable-pip-version-check --editable '.[test,bench]'
	@touch $@

# Sub-makes keep the order and the closing lines also under `make -j`.
test: setup
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory lit
	@$(MAKE) --no-print-directory pytest
	@$(MAKE) --no-print-directory pytest238

lint: setup
	@echo '==> ruff'
	@$(VENV)/bin/ruff check --quiet .

# mypy knows a package by its folder, so it gets one with the real name: build/types/hlograph, made of links.
types: setup
	@echo '==> mypy'
	@rm -rf build/types && mkdir -p build/types/hlograph
	@cd build/types/hlograph && ln -s ../../../hlograph/*.py ../../../hlograph/py.typed \
		../../../codegen ../../../dialects ../../../runtime ../../../tools .
	@cd build/types && ../../$(VENV)/bin/mypy --config-file ../../pyproject.toml --cache-dir ../mypy -p hlograph

lit: setup
	@echo '==> lit'
	@$(VENV)/bin/lit -j$(TEST_WORKERS) -sv lit_tests

pytest: setup
	@echo '==> pytest'
	@$(VENV)/bin/pytest -q -n $(TEST_WORKERS) --dist worksteal

# Other programs in each run; a failure names its seed and how to repeat it. One test may run hundreds of them.
NIGHTLY_PYTEST := $(VENV)/bin/pytest -q -n $(TEST_WORKERS) -o timeout=7200
nightly: setup
	@seed=$${HLOGRAPH_SEED:-$$($(PY) -c 'import random; print(random.randrange(10**8))')}; \
	count=$${HLOGRAPH_PROGRAMS:-10000}; \
	echo "==> HLOGRAPH_SEED=$$seed HLOGRAPH_PROGRAMS=$$count"; \
	HLOGRAPH_SEED=$$seed HLOGRAPH_PROGRAMS=$$count \
		$(NIGHTLY_PYTEST) tests/property/test_padding_programs.py -k agree && \
	echo '==> a tenth as many under every plan for CPU' && \
	HLOGRAPH_SEED=$$seed HLOGRAPH_PROGRAMS=$$(( count / 10 + 1 )) \
		$(NIGHTLY_PYTEST) tests/property/test_cpu_plan.py
	@echo '==> all cases of all tests; lowering tests also padded, with zeros and with NaN in the padding'
	@HLOGRAPH_NIGHTLY=1 $(NIGHTLY_PYTEST) --dist worksteal

demo: setup
	@$(PY) examples/breast_cancer.py

bench: setup
	@$(PY) benchmarks/run.py

# PyTensor 2.38, which PyMC 5 needs: `make test` runs a part of the tests there, `make versions` all that apply.
ENV238 := build/pytensor238
OLD_TESTS := tests/dialects tests/codegen tests/runtime tests/test_models.py
TESTS238 := tests/runtime/test_pytensor_linker.py tests/runtime/test_pymc.py tests/dialects/test_rewrites.py \
	tests/dialects/test_keys.py
$(ENV238)/.installed: pyproject.toml tests/requirements-pytensor238.txt | $(STAMP)
	$(call environment,$(ENV238),$(PY))
	@echo '==> $(ENV238): installing PyTensor 2.38, PyMC and hlograph (a minute or two the first time)'
	@$(ENV238)/bin/python -m pip install --quiet --disable-pip-version-check \
		-r tests/requirements-pytensor238.txt --editable .
	@touch $@

pytest238: $(ENV238)/.installed
	@echo '==> pytest with PyTensor 2.38 and PyMC'
	@$(ENV238)/bin/pytest -q -n $(TEST_WORKERS) $(TESTS238)

# Aesara needs older releases of NumPy, JAX and jaxlib. Python 3.11 has wheels for all of them.
OLD_PYTHON ?= python3.11
versions: $(ENV238)/.installed
	@test -x build/aesara/bin/pytest || { \
		echo '==> build/aesara: installing' && $(OLD_PYTHON) -m venv build/aesara && \
		build/aesara/bin/python -m pip install --quiet --disable-pip-version-check \
			-r tests/requirements-aesara.txt --editable . ; }
	@echo '==> PyTensor 2.38'
	@$(ENV238)/bin/pytest -q -n $(TEST_WORKERS) $(OLD_TESTS)
	@echo '==> Aesara 2.9'
	@build/aesara/bin/pytest -q tests/aesara_graphs.py

# Compilers of devices that are not here: plugins of the same release as jaxlib. AOT holds options of tests/aot/run.py.
AOT_PY := build/aot/bin/python
AOT ?=
build/aot/.installed: pyproject.toml
	@echo '==> build/aot: installing hlograph[cli,bench] and the compilers (2 GB, a few minutes)'
	@$(PYTHON) -m venv build/aot
	@$(AOT_PY) -m pip install --quiet --disable-pip-version-check --editable '.[cli,bench]'
	@version=$$($(AOT_PY) -c 'import jaxlib; print(jaxlib.__version__)') && \
		$(AOT_PY) -m pip install --quiet --disable-pip-version-check \
			"jax[tpu]==$$version" "jax-cuda13-pjrt==$$version" "jax-cuda13-plugin==$$version"
	@touch $@

aot: build/aot/.installed
	@$(AOT_PY) tests/aot/run.py --markdown docs/aot.md $(AOT)

clean:
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(SOURCES) tests lit_tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
