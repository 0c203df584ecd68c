# Everything runs in .venv, which `make setup` (and every other target, when needed) creates.
# Needs make, bash and Python 3.11 or newer; an interpreter of your own: make PYTHON=/path/to/python3.12 test

SHELL := /bin/sh
VENV := .venv
PY := $(VENV)/bin/python
STAMP := $(VENV)/.installed
SOURCES := codegen dialects hlograph runtime tools
TEST_WORKERS := 2
# Without bytecode on disk every process compiles what it imports: 3 s for JAX, 6 for PyMC. The tests start many.
unexport PYTHONDONTWRITEBYTECODE

# Today's releases of JAX, PyTensor and PyMC need Python 3.12; 3.11 gets older ones. See .ci/find_python for the search.
TODAY := 3.13 3.12 3.14
PYTHON ?=

.PHONY: help setup test lint types lit pytest docs docs-check nightly gpu outside conformance conformance-jax demo without-jax aarch64 bench versions smoke canary dist aot ops clean

help:
	@echo 'make setup    create $(VENV) and install hlograph in it, editable, with all extras'
	@echo 'make test     lint, types, lit and pytest, in this order; stops at the first that fails'
	@echo 'make lint     ruff, spelling, and phrases that docs and messages avoid'
	@echo 'make types    mypy'
	@echo 'make lit      FileCheck tests (lit_tests/)'
	@echo 'make pytest   tests/'
	@echo 'make smoke    a few tests with each of the older combinations: $(COMBINATIONS)'
	@echo 'make versions all tests that apply with each of them (COMBINATIONS=aesara for one)'
	@echo 'make nightly  10,000 random programs through the padding pass (HLOGRAPH_PROGRAMS, HLOGRAPH_SEED), 1,000 under CPU plans, ...'
	@echo 'make outside  the primitive harnesses that JAX has inside its wheel, 5,490 of them, with named sizes, padded and exact, and under vmap and grad'
	@echo 'make conformance  PyTensor'"'"'s own tests of its JAX mode and of Scan in the mode STABLEHLO, counted (CONFORMANCE="--suite math")'
	@echo 'make conformance-jax  tests of JAX, optax, equinox, dynamax, distrax and flax with jax.jit replaced, counted: hours'
	@echo 'make canary   the newest pre-releases of JAX and PyTensor: private names, plans for CPU, tests (CANARY_SECONDS=900)'
	@echo 'make dist     wheel and source distribution in dist/, installed in a clean environment and tried from elsewhere'
	@echo 'make demo     a logistic regression on real data, from a PyTensor graph to a StableHLO artifact and back'
	@echo 'make without-jax  a model in C, and in a Python without JAX, through a PJRT plugin'
	@echo 'make docs     the site, into build/docs/html, in an environment of its own (two minutes once notebooks are cached)'
	@echo 'make docs-check  the same, and pages of it opened in a headless Chromium: pictures in build/docs-shots'
	@echo 'make aarch64  direct calls on an ARM Linux that QEMU emulates: self-test, tests, 200 random programs: hours; it goes on where it was ended'
	@echo 'make bench    side by side with other ways to run the same graphs; writes the tables in docs/ (QUICK=1: into a copy)'
	@echo 'make aot      every program compiled for a TPU and an NVIDIA GPU that are not here (AOT="--platform tpu --devices 1")'
	@echo 'make gpu      on a machine with a GPU: tests, golden and random programs, loops, chains, for docs/reference/gpu.md (GPU=cpu tries it)'
	@echo 'make ops      tables of docs/reference: ops of PyTensor here and in its own backends, bad input, passes (minutes)'
	@echo 'make clean    remove build outputs and caches (keeps $(VENV))'

setup: $(STAMP)

# Leaves the interpreter for the main line in $$python, and says which it is and what that means.
define choose_python
	python='$(PYTHON)'; test -n "$$python" || python=$$(.ci/find_python '$(TODAY)' 3.11) || exit 1; \
	version=$$("$$python" -c 'import platform; print(platform.python_version())') || \
		{ echo "make: $$python does not run" >&2; exit 1; }; \
	case "$$version" in \
	3.11.*) means='jax 0.10 and PyTensor 3.0, without PyMC (5.28: make versions); releases of today need Python 3.12' ;; \
	3.[0-9].* | 3.10.* | 2.*) echo "make: hlograph needs Python 3.11 or newer; $$python is $$version" >&2; exit 1 ;; \
	*) means='the newest releases of JAX, PyTensor, PyMC, nutpie, NumPyro and BlackJAX' ;; \
	esac; \
	echo "==> Python $$version ($$python): $$means"
endef

# An interrupted setup leaves no stamp, and the next one starts from what is usable.
$(STAMP): pyproject.toml
	@$(choose_python); .ci/environment $(VENV) "$$python" --editable '.[test,bench]'
	@touch $@

# Sub-makes keep the order and the closing lines also under `make -j`.
test: setup
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory types
	@$(MAKE) --no-print-directory lit
	@$(MAKE) --no-print-directory pytest

lint: setup
	@echo '==> ruff'
	@$(VENV)/bin/ruff check --quiet .
	@echo '==> codespell'
	@git ls-files -z | grep -zv '^tests/samples/' | xargs -0 $(VENV)/bin/codespell
	@$(PY) tests/phrases.py

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
		$(NIGHTLY_PYTEST) tests/property/test_cpu_plan.py && \
	echo '==> and functions that decide by sizes' && \
	HLOGRAPH_SEED=$$seed HLOGRAPH_PROGRAMS=$$(( count / 10 + 1 )) \
		$(NIGHTLY_PYTEST) tests/property/test_size_programs.py && \
	echo '==> and Scans, beside the library'"'"'s own loop' && \
	HLOGRAPH_SEED=$$seed HLOGRAPH_PROGRAMS=$$(( count / 10 + 1 )) \
		$(NIGHTLY_PYTEST) tests/property/test_scans.py && \
	echo '==> and as many through the direct call, in processes of their own' && \
	$(PY) tests/direct_programs.py --first $$seed --count $$count --jobs $(TEST_WORKERS)
	@seed=$${HLOGRAPH_SEED:-$$($(PY) -c 'import random; print(random.randrange(10**8))')}; \
	echo "==> rows of different lengths, HLOGRAPH_SEED=$$seed" && \
	HLOGRAPH_SEED=$$seed HLOGRAPH_PROGRAMS=$$(( $${HLOGRAPH_PROGRAMS:-10000} / 20 + 1 )) \
		$(NIGHTLY_PYTEST) tests/property/test_rows.py
	@seed=$${HLOGRAPH_SEED:-$$($(PY) -c 'import random; print(random.randrange(10**8))')}; \
	echo "==> mutated artifacts from $$seed" && \
	for kind in '' --forged; do $(PY) -W ignore tests/fuzz_artifacts.py $$kind --first $$seed \
		--count $$(( $${HLOGRAPH_PROGRAMS:-10000} / 4 )) --jobs $(TEST_WORKERS) || exit 1; done
	@echo '==> all cases of all tests; lowering tests also padded, with zeros and with NaN in the padding'
	@HLOGRAPH_NIGHTLY=1 $(NIGHTLY_PYTEST) --dist worksteal
	@$(MAKE) --no-print-directory versions-packages
	@if [ -x $(AARCH64) ] || [ "$$(id -u)" = 0 ]; then $(MAKE) --no-print-directory aarch64; \
	else echo '==> ******** ARM Linux: NOT TESTED. Making the emulated machine needs root: sudo make aarch64 ********' >&2; fi

# One in sixty of them is in `make test`, all are in `make nightly`.
outside: setup
	@for policy in padded exact; do echo "==> $$policy"; $(PY) tests/outside.py --policy $$policy || exit 1; done
	@for under in vmap grad rows; do echo "==> $$under"; $(PY) tests/outside.py --every 4 --under $$under || exit 1; done

# Their text is fetched from PyTensor's repository, or from the clone of it that PYTENSOR_GIT names.
CONFORMANCE ?=
conformance: setup
	@$(PY) tests/conformance/run.py --jobs $(TEST_WORKERS) $(CONFORMANCE)

# Those of JAX and of libraries on it, with jax.jit replaced: JAX_SUITES='--suite jax-numpy --naming sizes'.
JAX_SUITES ?=
conformance-jax: setup
	@$(PY) tests/conformance/jax_suites.py $(JAX_SUITES)

demo: setup
	@$(PY) examples/breast_cancer.py

# A model in processes without JAX: written here, run by C and by a Python that cannot import JAX. A plugin and the header
# of its functions come from the extra `plugin`, or from PLUGIN and PJRT_HEADER (the folder of pjrt_c_api.h).
PLUGIN_WHEEL = $(shell $(PY) -c 'import xla_plugins.xla_cpu_pjrt as found; print(found.__path__[0])')
PLUGIN ?= $(PLUGIN_WHEEL)/xla_cpu_pjrt.so
PJRT_HEADER ?= $(PLUGIN_WHEEL)/include
C_FLAGS := -std=c99 -O2 -Wall -Wextra -Wpedantic -Werror

# The header is not ours, and has what -Wpedantic warns of.
build/c/%: examples/c/%.c examples/c/plugin.h
	@mkdir -p $(@D)
	@$(CC) $(C_FLAGS) -isystem $(PJRT_HEADER) $< -o $@ -ldl

without-jax: $(STAMP) build/c/run_model
	@$(PY) examples/without_jax.py write build/c
	@echo '==> C'
	@build/c/run_model $(PLUGIN) build/c/logistic.mlirbc
	@echo '==> Python'
	@$(PY) examples/without_jax.py run build/c $(PLUGIN)

# Warnings are errors. The notebooks run, and what they printed is kept until their text changes.
DOCS_PY := build/docs-venv/bin/python
build/docs-venv/.installed: pyproject.toml
	@$(choose_python); .ci/environment build/docs-venv "$$python" --editable '.[docs]'
	@touch $@

docs: build/docs-venv/.installed
	@mkdir -p build/docs
	@$(DOCS_PY) -m sphinx --write-all --fail-on-warning --keep-going --quiet -b html docs build/docs/html
	@echo '==> build/docs/html/index.html'

docs-check: docs
	@$(DOCS_PY) tests/site.py

# The machine is made at the first time, as root on Debian or Ubuntu: 1.3 GB. There a test takes some thirty times as
# long as here. Tests run in another folder: in this one `import hlograph` of a process that they start finds the folder
# of that name. A step that fails does not keep the next ones from running. AARCH64_COUNT: random programs.
AARCH64 := build/aarch64/python
AARCH64_COUNT ?= 200
AARCH64_TESTS := test_direct_call.py test_native_code.py test_platforms.py test_c_function.py test_hard_cases.py \
	test_direct_way.py
define timed
	echo '==> $(1)'; start=$$(date +%s); $(2) || failed=1; echo "==> $(1): $$(( $$(date +%s) - start )) s"
endef
aarch64: setup
	@.ci/aarch64 build/aarch64
	@$(call timed,self-test,$(AARCH64) -P -m hlograph.runtime.direct); \
	$(call timed,tests,(cd build/aarch64 && PYTHONPATH=$(CURDIR)/tests ./python -m pytest -q -n0 -p resumed --done done \
		-o timeout=7200 -c $(CURDIR)/pyproject.toml --rootdir $(CURDIR) $(addprefix $(CURDIR)/tests/runtime/direct/,$(AARCH64_TESTS)))); \
	$(call timed,$(AARCH64_COUNT) random programs,$(AARCH64) tests/direct_programs.py --count $(AARCH64_COUNT) \
		--jobs $(TEST_WORKERS) --seconds 3600 --done build/aarch64/done); \
	exit $${failed:-0}

# On a quiet machine, for hours: all tables in docs/, each with its command, the day, the releases and the machine below it.
# BENCH="steady lengths" takes these alone; QUICK=1 has few repetitions, and writes into a copy, build/bench/docs.
BENCH ?=
BENCH_PAGES := $(if $(QUICK),build/bench/docs,docs)
bench: setup
	@$(if $(QUICK),rm -rf $(BENCH_PAGES) && mkdir -p build/bench && cp -r docs $(BENCH_PAGES))
	@$(if $(filter-out samplers,$(or $(BENCH),all)),$(PY) benchmarks/run.py $(if $(QUICK),--quick) --write $(BENCH_PAGES) \
		$(if $(BENCH),--only $(filter-out samplers,$(BENCH)),--all))
	@$(if $(filter samplers,$(or $(BENCH),samplers)),$(PY) benchmarks/samplers.py --write $(BENCH_PAGES) \
		$(if $(QUICK),--parts calls --rounds 2 --models "eight schools" --without-numba))

# Older releases that hlograph supports, each in an environment of its own under build/: what is installed, which Python
# has it, which tests are the smoke test (a minute and a half at most), and which are all that apply.
COMBINATIONS := python311 pytensor238 aesara jax011
OLD_TESTS := tests/dialects tests/codegen tests/runtime

python311_NAME := Python 3.11: jax 0.10, PyTensor 3.0
python311_PYTHON := 3.11
python311_EXTRAS := [test]
python311_SMOKE := tests/test_smoke.py
python311_ALL := tests

pytensor238_NAME := PyTensor 2.38, PyMC 5.28
pytensor238_PYTHON := 3.11 3.12 3.13
# Two workers at once would both write ArviZ's note of the day, and one of them would fail.
pytensor238_BEFORE := import arviz
pytensor238_SMOKE := tests/test_smoke.py tests/runtime/samplers/test_pymc.py \
	-k 'smoke or eight_schools or mixture or in_jax'
pytensor238_ALL := $(OLD_TESTS)

# numpy.distutils, which Aesara imports, ends with Python 3.11.
aesara_NAME := Aesara 2.9, jaxlib 0.7.1
aesara_PYTHON := 3.11
aesara_ALL := tests/test_smoke.py tests/aesara_mode.py tests/aesara_ops.py \
	tests/requests/aesara_jax_interface.py
aesara_SMOKE := $(aesara_ALL)

jax011_NAME := jax 0.11, PyTensor 3.3
jax011_PYTHON := $(TODAY)
jax011_EXTRAS := [test]
jax011_SMOKE := tests/test_smoke.py
jax011_ALL := tests

# What people use around PyMC; of today, so it stands apart from the older releases.
packages_NAME := Bambi, pymc-marketing, BlackJAX 1.5, PyMC 6.3
packages_PYTHON := $(TODAY)
packages_ALL := tests/runtime/samplers/test_pymc_packages.py
versions-packages: export HLOGRAPH_NIGHTLY = 1

build/%/.installed: pyproject.toml tests/requirements-%.txt
	@.ci/environment build/$* "$$(.ci/find_python '$($*_PYTHON)')" -r tests/requirements-$*.txt --editable '.$($*_EXTRAS)'
	@touch $@

# A combination for which this machine has no Python is left out, in words that nobody misses; where
# HLOGRAPH_ALL_VERSIONS is set, as in continuous integration, that is a failure.
define with_combination
	@if .ci/find_python '$($*_PYTHON)' >/dev/null; then \
		$(MAKE) --no-print-directory build/$*/.installed && echo '==> $($*_NAME): $(1)' && \
		build/$*/bin/python -c '$($*_BEFORE)' 2>/dev/null && \
		build/$*/bin/python -m pytest -q -n $(TEST_WORKERS) --dist worksteal $(2); \
	elif [ -n "$$HLOGRAPH_ALL_VERSIONS" ]; then \
		echo '==> $($*_NAME): NOT TESTED, and HLOGRAPH_ALL_VERSIONS is set' >&2; exit 1; \
	else \
		echo '==> ******** $($*_NAME): NOT TESTED. It needs Python $($*_PYTHON). ********' >&2; \
	fi
endef

smoke-%: FORCE
	$(call with_combination,smoke test,$($*_SMOKE))

versions-%: FORCE
	$(call with_combination,all tests that apply,$($*_ALL))

FORCE:

smoke:
	@for name in $(COMBINATIONS); do $(MAKE) --no-print-directory smoke-$$name || exit 1; done

versions:
	@for name in $(COMBINATIONS); do $(MAKE) --no-print-directory versions-$$name || exit 1; done

# Pre-releases where there are any, brought up to date at each run. JAX's nightly builds stand in an index of their own,
# which JAX's documentation names: CANARY_INDEX='--extra-index-url https://...'.
CANARY_SECONDS ?= 900
CANARY_INDEX ?=
canary: $(STAMP)
	@.ci/environment build/canary "$$(.ci/find_python '$(TODAY)')" --upgrade --pre $(CANARY_INDEX) jax jaxlib pytensor numpy \
		'hypothesis>=6.100' 'pytest>=8.1' 'pytest-timeout>=2.3' 'pytest-xdist>=3.5' packaging 'scipy>=1.13' mpmath scikit-learn \
		'llvmlite>=0.44' --editable .
	@build/canary/bin/python tests/canary.py --seconds $(CANARY_SECONDS)

dist: $(STAMP)
	@$(PY) tests/distributions.py dist

# Compilers of devices that are not here: plugins of the same release as jaxlib. AOT holds options of tests/aot/run.py.
AOT_PY := build/aot/bin/python
AOT ?=
build/aot/.installed: pyproject.toml
	@echo '==> build/aot: installing hlograph[cli,bench] and the compilers (2 GB, a few minutes)'
	@$(choose_python); .ci/environment build/aot "$$python" --editable '.[cli,bench]'
	@version=$$($(AOT_PY) -c 'import jaxlib; print(jaxlib.__version__)') && \
		$(AOT_PY) -m pip install --quiet --disable-pip-version-check \
			"jax[tpu]==$$version" "jax-cuda13-pjrt==$$version" "jax-cuda13-plugin==$$version"
	@touch $@

aot: build/aot/.installed
	@$(AOT_PY) tests/aot/run.py --markdown docs/reference/aot.md $(AOT)

# On a machine with a GPU nothing is installed: GPU_PYTHON is what has JAX there. `make gpu-programs`, where PyTensor and
# PyMC are, writes what such a machine cannot (build/aot/programs, build/gpu), to be copied to it.
GPU ?= gpu
GPU_PYTHON ?= $(if $(filter cpu,$(GPU)),$(PY),python3)
GPU_PAGE = $(if $(filter gpu,$(GPU)),--markdown docs/reference/gpu.md)
gpu: $(if $(filter cpu,$(GPU)),build/aot/programs/index.json)
	@$(GPU_PYTHON) benchmarks/gpu.py --device $(GPU) $(GPU_PAGE)

build/aot/programs/index.json:
	@$(MAKE) --no-print-directory gpu-programs

gpu-programs: setup
	@$(PY) benchmarks/gpu.py prepare

ops: $(STAMP)
	@$(PY) tests/op_coverage.py --markdown docs/reference/ops.md
	@$(PY) tests/bad_inputs.py --markdown docs/reference/bad_input.md
	@$(PY) tests/pass_table.py

clean:
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(SOURCES) tests lit_tests examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
