# `make` lists the targets. Everything runs in .venv, made by `make setup` from the locks.

PY := .venv/bin/python
STAMP := .venv/esewatch-setup
RULES := $(wildcard rules/*.yml alerts/*.yml)
RULE_TESTS := tests/rules/test_rules.py
FUZZ_SECONDS ?= 60
FIGURES := $(CURDIR)/out/figures.jsonl
VERDICTS := $(CURDIR)/out/verdicts.jsonl
PYTEST_ARGS ?=
# More workers than processors: a third of the time tests wait, for a server, a process, a timer. Each
# takes 5 s of a processor to collect the tests.
WORKERS ?= 4
# Properties once more, with more examples.
SLOW = ESEWATCH_FIGURES=$(FIGURES) ESEWATCH_EXAMPLES=100 $(PY) -m pytest

.DEFAULT_GOAL := help
# Tests start the program some hundred times: it is compiled once.
unexport PYTHONDONTWRITEBYTECODE
# What scripts/deploy-tools puts there.
export PATH := $(CURDIR)/.tools/bin:$(PATH)
.NOTPARALLEL:
.PHONY: help setup tools prometheus3 lint rules check-alert new-alert test test-slow test-campaign bench lab demo demo-stack demo-fleet images golden sentences docs fuzz audit lock wheel deb wheels msi release clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP) ## the tools of development in .venv: about a minute, 480 MB (PYTHON=python3.14 picks the interpreter)

$(STAMP): requirements/dev.lock pyproject.toml setup.py agent/esefiles/pages/_kernel.c scripts/setup
	@scripts/setup
	@touch $@

tools: ## install Prometheus, Alertmanager, libevtx, Chromium and Kafka for the tests (Debian, root or sudo)
	@scripts/tools
	@scripts/kafka

prometheus3: ## build Prometheus 3.16, whose promtool `make test-slow` runs too, in ~/.cache: 8 minutes, 260 MB, Go
	@scripts/tools prometheus3

lint: setup ## ruff, import directions, mypy; wording, documentation and layout of the repository
	$(PY) -m ruff check
	$(PY) -m ruff format --check
	.venv/bin/lint-imports
	@# Beside each other. The tests are compiled here, once: in a fresh clone each worker would do it.
	$(PY) -m mypy & $(PY) -m pytest -q -m "lint and not slow"; status=$$?; wait $$! && exit $$status

rules: ## check and test the Prometheus rules where promtool is installed
	@if command -v promtool >/dev/null; then \
	    promtool check rules $(RULES) && $(PY) -m pytest -q $(RULE_TESTS) -k promtool; \
	else echo "promtool is not installed (make tools): rules not checked"; fi

check-alert: setup ## what the alert NAME=EseFullMoon lacks, and where to write it
	@$(PY) -m tests.rules.check_alert $(NAME)

new-alert: setup ## write the files of an alert: NAME=EseFullMoon FILE=storage SEVERITY=warning
	@$(PY) -m tests.rules.new_alert $(NAME) $(FILE) $(or $(SEVERITY),warning)

test: setup tools lint ## all checks and tests but the slow ones
	$(PY) -m pytest -m "not slow and not lint" -n $(WORKERS) --dist worksteal $(PYTEST_ARGS)

test-slow: setup tools ## the long tests, of random campaigns a part; writes docs/reliability.md
test-campaign: setup tools ## the same with all seeds, mutants and bytes: hours; writes docs/reference/alerts.md too
test-campaign: export ESEWATCH_CAMPAIGN := 1
test-slow test-campaign:
	@scripts/tools deploy
	@scripts/long-term
	@rm -f $(FIGURES) $(VERDICTS)
	@failed=; \
	$(SLOW) -m "(slow or fault or hypothesis) and not (slow and timed)" -n 3 --dist worksteal $(PYTEST_ARGS) || failed=1; \
	ESEWATCH_ALONE=1 $(SLOW) -m timed $(PYTEST_ARGS) || failed=1; \
	scripts/pythons || failed=1; \
	test -z "$$failed"
	$(PY) -m tests.support.figures $(FIGURES) docs/reliability.md
	ESEWATCH_FIGURES=$(FIGURES) $(PY) -m scripts.pages reference/alerts

bench: setup ## measure what watching costs; writes docs/performance.md
	@scripts/tools bench
	$(PY) -m bench --write docs/performance.md

lab: setup ## run all experiments; writes docs/reference/lab.md
	$(PY) -m scripts.pages reference/lab

demo: setup ## servers with a month behind them and what esewatch says of them, on one screen
	@.venv/bin/esewatch demo

demo-stack: setup ## the same with Prometheus and Alertmanager (make tools) and our rules
	@$(PY) -m tests.support.demo_stack

demo-fleet: setup tools ## 400 servers in a Kafka topic and two workers, one of which is killed: 3 minutes
	@$(PY) -m tests.support.demo_fleet

images: setup tools ## take the pictures of docs/images anew
	$(PY) -m tests.support.screenshots

golden: setup ## write the golden files anew (TESTS=a test file: its own only); read the difference before you keep it
	ESEWATCH_REWRITE_GOLDEN=1 $(PY) -m pytest -q -k golden $(TESTS)

sentences: setup ## print all sentences that the program can say
	@$(PY) -m tests.support.sentences

docs: setup ## write the generated pages and dashboards anew, and the site of them in out/site
	$(PY) -m scripts.pages
	$(PY) -m dashboards.build
	$(PY) -m venv out/site-tools
	out/site-tools/bin/pip install --quiet --require-hashes --requirement requirements/site.lock
	NO_MKDOCS_2_WARNING=1 out/site-tools/bin/mkdocs build --quiet --strict

fuzz: setup ## feed each reader mutated input for FUZZ_SECONDS (60); findings in out/fuzz
	$(PY) -m pip install --quiet --require-hashes --requirement requirements/fuzz.lock
	@rm -f $(FIGURES)
	ESEWATCH_FIGURES=$(FIGURES) $(PY) -m tests.fuzz.campaign $(FUZZ_SECONDS)
	$(PY) -m tests.support.figures $(FIGURES) docs/reliability.md

audit: setup ## ask for known vulnerabilities of what is installed at run time
	@$(PY) scripts/audit

lock: setup ## write requirements/*.lock anew with the newest versions
	@scripts/lock

wheel: ## build dist/esewatch-VERSION-….whl, all that a user installs; needs no setup, 20 seconds
	rm -rf build dist/esewatch-*.whl
	$(or $(PYTHON),python3) -m pip wheel --quiet --disable-pip-version-check --no-deps --wheel-dir dist .

deb: setup ## build dist/esewatch_VERSION_ARCHITECTURE.deb for the Debian it runs on
	@scripts/deb

wheels: setup ## build the wheels for Linux and Windows, x64 and ARM, with the compiled kernel, and one without
	$(PY) -m pip install --quiet --require-hashes --requirement requirements/wheels.lock
	@$(PY) -m scripts.wheels

msi: setup ## build dist/esewatch-VERSION-x64.msi (PYTHON_ZIP=embeddable.zip PYTHON_SHA256=its hash)
	@scripts/tools msi
	$(PY) -m pip install --quiet --require-hashes --requirement requirements/wheels.lock
	@test -n "$(PYTHON_ZIP)" -a -n "$(PYTHON_SHA256)" || { echo "msi: name PYTHON_ZIP and PYTHON_SHA256: docs/windows.md" >&2; exit 2; }
	@$(PY) -m scripts.windows_msi "$(PYTHON_ZIP)" "$(PYTHON_SHA256)"

release: setup ## build all that is released twice from the commit, compare, write dist/release: docs/release.md
	@scripts/tools msi
	$(PY) -m pip install --quiet --require-hashes --requirement requirements/wheels.lock
	$(PY) -m venv out/site-tools
	out/site-tools/bin/pip install --quiet --require-hashes --requirement requirements/site.lock
	@$(PY) -m scripts.release

clean: ## remove what the other targets made, .venv too
	rm -rf .venv .tools build dist out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	rm -rf agent/esewatch.egg-info agent/esefiles/pages/_kernel*.so
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
